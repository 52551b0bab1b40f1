/** A peer id of either line. */
export interface PeerIdLike {
  toString(): string
}

/** A libp2p node as its caller holds it, by shape, so that nodes of either line and of any service map fit. */
export interface Libp2pNode {
  readonly peerId: PeerIdLike
  readonly status: string
  readonly services: object
}

export interface StreamLike {
  readonly protocol?: string | undefined
  readonly direction: string
  readonly status: string
  readonly readStatus: string
  readonly writeStatus: string
  abort(reason: Error): void
}

/** A stream of line 2. */
export interface PipeStream extends StreamLike {
  readonly source: AsyncIterable<{ subarray(): Uint8Array }>
  sink(source: AsyncIterable<Uint8Array>): Promise<void>
}

/** A stream of line 3. */
export interface EventStream extends StreamLike {
  maxReadBufferLength: number
  readonly writeBufferLength: number
  readonly readBufferLength: number
  send(bytes: Uint8Array): boolean
  pause(): void
  resume(): void
  close(): Promise<void>
  addEventListener(
    type: string,
    listener: (event: { data: { subarray(): Uint8Array }; error?: Error }) => void,
  ): void
}

export interface ConnectionLike {
  readonly id: string
  readonly remotePeer: PeerIdLike
  readonly remoteAddr: { toString(): string }
  readonly direction: string
  readonly status: string
  readonly timeline: { readonly open: number }
  readonly streams: readonly StreamLike[]
  newStream(protocol: string, options: object): Promise<StreamLike>
  close(): Promise<void>
  abort(reason: Error): void
}

/** What this transport uses of a node of either line. */
export interface NodeLike extends Libp2pNode {
  start(): void | Promise<void>
  stop(): void | Promise<void>
  getMultiaddrs(): readonly { toString(): string }[]
  getConnections(): readonly ConnectionLike[]
  dial(address: unknown, options: { readonly signal: AbortSignal }): Promise<ConnectionLike>
  handle(protocol: string, handler: unknown, options: object): Promise<void>
  unhandle(protocol: string): Promise<void>
  addEventListener(type: string, listener: (event: { readonly detail: unknown }) => void): void
  removeEventListener(type: string, listener: (event: { readonly detail: unknown }) => void): void
  readonly peerStore?: { delete(peer: unknown): Promise<void> }
  /** On the classes of both lines, in the types of neither. */
  readonly components?: {
    readonly addressManager?: { readonly _updatePeerStoreAddresses?: { readonly stop?: () => void } }
  }
}

/** What identify tells of a peer, in both lines. */
export interface Identified {
  readonly peerId: PeerIdLike
  readonly protocols: readonly string[]
  readonly listenAddrs: readonly { toString(): string }[]
  readonly connection: ConnectionLike
}

export interface GossipMessage {
  readonly type: string
  readonly from?: PeerIdLike
  readonly topic: string
  readonly data: Uint8Array
}

/**
 * Our gossip stream to a peer. What waits to be sent lies in `pushable` and, in part, in a send that waits for the
 * peer's window (14), or in the stream's write buffer (17).
 */
interface OutboundLike {
  readonly rawStream: StreamLike & { readonly writeBufferLength?: number; readonly sendingData?: unknown }
  readonly pushable?: { readonly readableLength: number }
}

/** What this transport uses of gossipsub 14 and 17. */
export interface PubsubLike {
  readonly globalSignaturePolicy: string
  readonly topicValidators: Map<string, (peer: PeerIdLike, message: GossipMessage) => string>
  getSubscribers(topic: string): readonly PeerIdLike[]
  subscribe(topic: string): void
  unsubscribe(topic: string): void
  publish(topic: string, data: Uint8Array, options: object): Promise<unknown>
  addEventListener(type: string, listener: (event: { readonly detail: unknown }) => void): void
  removeEventListener(type: string, listener: (event: { readonly detail: unknown }) => void): void
  /** On the classes of both lines, in the types of neither. */
  readonly status?: { readonly heartbeatTimeout?: NodeJS.Timeout }
  readonly opts?: { readonly floodPublish?: boolean }
  readonly peers?: ReadonlyMap<string, unknown>
  readonly streamsInbound?: ReadonlyMap<string, { readonly rawStream: StreamLike }>
  readonly streamsOutbound?: ReadonlyMap<string, OutboundLike>
}

export interface IdentifyLike {
  identify(connection: ConnectionLike, options: { readonly signal: AbortSignal }): Promise<unknown>
}
