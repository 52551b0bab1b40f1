import type { NodeId } from '../core/frame.ts'
import type { RollcallError } from '../errors.ts'

/** A pending call that can be called off. */
export interface Timer {
  cancel(): void
}

/** The time a node lives by. Tests bring a virtual one. */
export interface Clock {
  /** Monotonic ms. Silence and stalls are measured on it. */
  now(): number
  /** Wall clock, ms since the epoch. Names a new incarnation and stamps `since`; nothing is judged by it. */
  wallNow(): number
  /** Calls back once after `ms`. */
  setTimer(callback: () => void, ms: number): Timer
}

/** The chance a node uses: first beat, jitter, choice of neighbour. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
}

/**
 * A two-way stream of whole messages with one peer, authenticated as that peer.
 * Both directions are back-pressured: a reader that stands still stops its sender.
 */
export interface Channel {
  /** Resolves when there is room for another message. Rejects when the channel is closed or broken. */
  send(message: Uint8Array): Promise<void>
  /** One consumer. Ends when the peer closed cleanly; throws when the channel broke. Leaving the loop stops reading. */
  readonly messages: AsyncIterable<Uint8Array>
  /** Closes after what was sent has been handed over. Idempotent, never rejects. */
  close(): Promise<void>
  /** Ends both directions at once. Idempotent. */
  abort(reason: Error): void
}

/** What a channel is for: `sync` brings replicas together, `probe` asks and answers whether processes live. */
export type ChannelPurpose = 'sync' | 'probe'

/** Someone that a transport wants to be connected with, and does not reach. */
export interface DialState {
  /** Node id or address. */
  readonly where: string
  /** In a row. */
  readonly failures: number
  /** Infinity or NaN: no dial is planned, because one is under way or something else must happen first. */
  readonly nextInMs: number
  /** In words. */
  readonly lastFailure: string | undefined
}

/** What a transport tells its node. Callbacks never throw. */
export interface TransportEvents {
  /**
   * A message was published by `author` (authenticated) and delivered by neighbour `via`.
   * Never called for our own messages. Returns false for a message that must not be passed on.
   */
  gossip(author: NodeId, via: NodeId, message: Uint8Array): boolean
  /** A peer opened a channel. */
  opened(peer: NodeId, purpose: ChannelPurpose, channel: Channel): void
  /** A peer became a neighbour: gossip and `open` reach it. Once until `disconnected`. */
  connected(peer: NodeId): void
  /** The last connection to a neighbour closed. */
  disconnected(peer: NodeId): void
  /** Proof of death: the connection closed (or was never there) and a dial to every known address was refused. */
  refused(peer: NodeId): void
  /** No proof: the connection closed, and a dial was neither refused nor accepted. May be said again. */
  unreachable(peer: NodeId): void
  /**
   * A peer that is connected and speaks the sync protocol does not gossip with this node: it may be connected to another
   * process under this node's id. `open` reaches it until the promise resolves; then it may be hung up.
   */
  mute(peer: NodeId): Promise<void>
  /** Something is wrong with a peer, a seed or a file; `where` is a node id, an address or a path. For reports, not for decisions. */
  problem(where: string, error: RollcallError): void
}

/** What a node needs of a network. Implemented by `transports/memory` and `transports/libp2p`; nothing else touches one. */
export interface Transport {
  /** Known before `start`. */
  readonly id: NodeId
  /** Listens, joins and keeps the mesh from now on. Rejects with `ROLLCALL_START_FAILED`. Called once. */
  start(events: TransportEvents): Promise<void>
  /** Gossips to the cluster. Resolves once handed to the neighbours of this moment; never rejects; alone it is a no-op. */
  publish(message: Uint8Array): Promise<void>
  /** Opens a channel to a neighbour. Rejects with `ROLLCALL_PEER_UNREACHABLE`. */
  open(peer: NodeId, purpose: ChannelPurpose, signal: AbortSignal): Promise<Channel>
  /** Peers that gossip and `open` reach now. */
  neighbours(): readonly NodeId[]
  /** Where other nodes can dial this one. */
  addresses(): readonly string[]
  /** A node exists, at these addresses: keep a connection to it, as far as the size of the cluster asks for it. Replaces earlier addresses. */
  learn(peer: NodeId, addresses: readonly string[]): void
  /** A node left or was purged: stop dialling it. */
  forget(peer: NodeId): void
  /**
   * Looks whether a node is alive now, on a connection or by a dial. For a neighbour just disconnected the
   * transport does this by itself and calls `refused`.
   */
  examine(peer: NodeId): Promise<'alive' | 'refused' | 'unknown'>
  /** A neighbour answers nothing any more: drops every connection with it. What keeps the mesh dials it again. */
  hangUp(peer: NodeId, why: string): void
  /** Whom it dials without success. For diagnosis; a transport need not tell. Costs the peers that it knows. */
  dials?(): readonly DialState[]
  /** Closes everything. No callback comes after it has resolved. Idempotent, never rejects. */
  stop(): Promise<void>
}
