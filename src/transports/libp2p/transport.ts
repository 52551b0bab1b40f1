import type { NodeId } from '../../core/frame.ts'
import { RollcallError } from '../../errors.ts'
import type { Channel, ChannelPurpose, DialState, Transport, TransportEvents } from '../../tracker/ports.ts'
import { Adapter } from './adapter.ts'
import { advertisable, type Endpoint } from './addresses.ts'
import type { ByteStream } from './byte-stream.ts'
import type { DialFailure } from './dial-outcome.ts'
import type { Verdict } from './evidence.ts'
import { Channels } from './channels.ts'
import { Gossip } from './gossip.ts'
import type { ConnectionLike, Identified, NodeLike, PeerIdLike } from './libp2p-like.ts'
import { Links } from './links.ts'
import { Mesh } from './mesh.ts'
import { Neighbours, type Standing } from './neighbours.ts'
import type { ResolvedMesh } from './options.ts'
import { PeerBook } from './peer-book.ts'
import { Recall } from './recall.ts'
import { Reports, type Door } from './reports.ts'
import type { CheckedStack } from './stack-check.ts'
import { stopNode, within } from './stop-node.ts'
import { Watchdog } from './watchdog.ts'

/** Version of the stream protocols. Peers that share none refuse each other in words. */
const VERSION = 1
const PURPOSES: readonly ChannelPurpose[] = ['sync', 'probe']
/** Channels of one purpose at once with one peer, each way. The tracker opens a handful; this leaves room for slow ends. */
const CHANNELS_PER_PEER = 64
/** How long `stop` waits for what was published last to leave; on a live connection it takes a few ms. */
const FLUSH_MS = 100
/** How long leaving a node that lives on may take. */
const LEAVE_MS = 1_000

/** Peers that libp2p is told to forget in one turn of the event loop, each at some 0.1 ms. */
const FORGOTTEN_AT_ONCE = 32

/** What the transport knows of the node's making. */
export interface Making {
  /** True for the node that this package built: strangers are hung up, spare connections closed, the gone forgotten. */
  readonly own: boolean
  /** Says who was turned away before there was a connection. Set by the transport. */
  readonly door?: Door
}

/** A function, because what a start changed is not seen by the compiler. */
function isStarted(node: NodeLike): boolean {
  return node.status === 'started'
}

/** libp2p lists what went wrong at each address, stack traces and all, in one message: the causes are what helps. */
function causeOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const causes = [...message.matchAll(/^.*\bError: (.*)$/gm)].map(([, cause]) => cause)
  return causes.length > 0 ? causes.join('; ') : message
}

/** The `Transport` port on a libp2p node of either line. */
export class Libp2pTransport implements Transport {
  readonly id: NodeId

  readonly #stack: CheckedStack
  readonly #options: ResolvedMesh
  readonly #making: Making
  readonly #adapter: Adapter
  readonly #protocols: Readonly<Record<ChannelPurpose, string>>
  readonly #book = new PeerBook()
  readonly #links: Links
  readonly #gossip: Gossip
  readonly #neighbours: Neighbours
  readonly #mesh: Mesh
  readonly #recall: Recall | undefined
  readonly #watchdog: Watchdog
  readonly #reports: Reports
  /** Said to be dead, once per loss. */
  readonly #dead = new Set<NodeId>()
  /** Whom libp2p has yet to forget, if they are not back by then. */
  readonly #gone = new Set<NodeId>()
  readonly #channels: Channels
  #events: TransportEvents | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #startedNode = false

  constructor(stack: CheckedStack, options: ResolvedMesh, making: Making) {
    this.id = stack.node.peerId.toString()
    this.#stack = stack
    this.#options = options
    this.#making = making
    this.#adapter = new Adapter(stack.line)
    this.#links = new Links(stack, this.#book)
    this.#channels = new Channels({
      maxMessageBytes: options.maxMessageBytes,
      stallMs: options.channelStallMs,
    })
    const protocol = (purpose: ChannelPurpose): string =>
      `/rollcall/${options.cluster}/${purpose}/${String(VERSION)}`
    this.#protocols = { sync: protocol('sync'), probe: protocol('probe') }
    this.#reports = new Reports((where, error) => this.#events?.problem(where, error))
    if (making.door !== undefined)
      making.door.turnedAway = (where, why) => this.#reports.turnedAway(where, why)
    this.#gossip = new Gossip(stack.pubsub, `rollcall/${options.cluster}`, this.id, options.maxGossipBytes, {
      message: (author, via, data) => {
        this.#watchdog.heard(author, via)
        return this.#events?.gossip(author, via, data) ?? false
      },
      oversized: (via, bytes) => this.#reports.oversized(via, bytes, options.maxGossipBytes),
      subscription: (peer) => this.#neighbours.look(peer),
    })
    this.#neighbours = new Neighbours(
      {
        syncProtocol: this.#protocols.sync,
        graceMs: options.memberGraceMs,
        isSubscribed: (peer) => this.#gossip.isSubscribed(peer),
        reaches: (peer) => this.#gossip.reaches(peer),
      },
      {
        connected: (peer) => this.#joined(peer),
        disconnected: (peer) => this.#events?.disconnected(peer),
        stranger: (peer, standing) => void this.#stranger(peer, standing),
        outdated: (peer) => void this.#links.identify(peer),
      },
    )
    this.#mesh = new Mesh(
      {
        id: this.id,
        dial: (addresses, timeoutMs) => this.#links.dial(addresses, timeoutMs),
        isConnected: (peer) => this.#neighbours.isConnected(peer),
        unwell: (where, failure, message) => this.#reports.unwell(where, failure, message),
        missed: (peer) => void this.#lookAfter(peer),
        well: (where) => this.#reports.clear(where),
        isSelf: (endpoint) => this.#links.isSelf(endpoint),
      },
      this.#book,
      options,
    )
    this.#recall = this.#makeRecall(options)
    this.#watchdog = new Watchdog({
      periodMs: options.watchdogMs,
      floods: stack.pubsub.opts?.floodPublish === true,
      neighbours: () => this.neighbours(),
      isHealthy: (peer) => this.#gossip.isHealthy(peer),
      cure: (peer, why) => this.#links.hangUp(peer, why),
      tidy: () => {
        if (!making.own) return
        this.#links.closeSpares(this.neighbours())
        this.#forgetGone()
      },
    })
  }

  #makeRecall(options: ResolvedMesh): Recall | undefined {
    const { stateFile } = options
    if (stateFile === undefined) return undefined
    const ports = {
      id: this.id,
      dial: (addresses: readonly string[], timeoutMs: number) => this.#links.dial(addresses, timeoutMs),
      isConnected: (peer: NodeId) => this.#neighbours.isConnected(peer),
      neighbours: () => this.neighbours(),
      isSelf: (endpoint: Endpoint) => this.#links.isSelf(endpoint),
      unwell: (peer: NodeId, failure: DialFailure, message: string) =>
        this.#reports.unwell(peer, failure, message),
      badFile: (cause: string, message: string) =>
        this.#reports.report(stateFile, cause, 'ROLLCALL_STATE_FILE', message),
      goodFile: () => this.#reports.clear(stateFile),
    }
    return new Recall(stateFile, ports, this.#book, options)
  }

  start(events: TransportEvents): Promise<void> {
    this.#starting ??= this.#start(events)
    return this.#starting
  }

  async #start(events: TransportEvents): Promise<void> {
    if (this.#isStopping()) throw new RollcallError('ROLLCALL_CLOSED', 'the transport was stopped')
    const { node } = this.#stack
    this.#events = events
    this.#listen('addEventListener')
    try {
      for (const purpose of PURPOSES) {
        await this.#adapter.handle(node, this.#protocols[purpose], CHANNELS_PER_PEER, (peer, stream) => {
          this.#answer(peer, purpose, stream)
        })
      }
      if (node.status !== 'started') {
        this.#startedNode = true
        await node.start()
      }
      if (!isStarted(node)) throw new Error(`the node is ${node.status}`)
    } catch (error) {
      await this.#end()
      throw new RollcallError('ROLLCALL_START_FAILED', `libp2p did not start: ${causeOf(error)}`, {
        cause: error,
      })
    }
    if (this.#isStopping()) return
    this.#gossip.start()
    this.#mesh.start()
    this.#watchdog.start()
    void this.#recall?.start()
    for (const connection of node.getConnections()) {
      const peer = connection.remotePeer.toString()
      this.#book.meet(connection)
      this.#neighbours.opened(peer)
      void this.#links.identify(peer)
    }
  }

  publish(message: Uint8Array): Promise<void> {
    return this.#events === undefined ? Promise.resolve() : this.#gossip.publish(message)
  }

  async open(peer: NodeId, purpose: ChannelPurpose, signal: AbortSignal): Promise<Channel> {
    try {
      signal.throwIfAborted()
      const [connection] = this.#links.of(peer)
      if (connection === undefined || this.#events === undefined) throw new Error('not connected')
      const stream = await this.#adapter.open(connection, this.#protocols[purpose], CHANNELS_PER_PEER, signal)
      return this.#channels.open(stream)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new RollcallError('ROLLCALL_PEER_UNREACHABLE', `no ${purpose} channel to ${peer}: ${why}`, {
        cause: error,
      })
    }
  }

  neighbours(): readonly NodeId[] {
    return this.#neighbours.list()
  }

  addresses(): readonly string[] {
    const { advertise } = this.#options
    if (advertise.length > 0) return advertise
    return advertisable(this.#stack.node.getMultiaddrs().map(String))
  }

  learn(peer: NodeId, addresses: readonly string[]): void {
    if (peer === this.id || this.#isStopping()) return
    this.#dead.delete(peer)
    this.#book.learn(peer, addresses)
    this.#mesh.learn(peer)
    this.#recall?.learned()
  }

  forget(peer: NodeId): void {
    this.#recall?.retire(peer)
    this.#mesh.forget(peer)
    this.#watchdog.forget(peer)
    this.#forgetPeer(peer)
    this.#reports.clear(peer)
  }

  async examine(peer: NodeId): Promise<Verdict> {
    if (peer === this.id) return 'alive'
    if (this.#events === undefined) return 'unknown'
    const connected = this.#neighbours.isConnected(peer)
    if (connected && (await this.#links.identify(peer))) return 'alive'
    return this.#neighbours.isConnected(peer) ? 'unknown' : this.#links.examine(peer)
  }

  dials(): readonly DialState[] {
    return [...this.#mesh.dials(), ...(this.#recall?.dials() ?? [])]
  }

  hangUp(peer: NodeId, why: string): void {
    this.#links.hangUp(peer, why)
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#events = undefined
    // What a start in progress would still set up could not be taken down.
    await this.#starting?.catch(() => undefined)
    const kept = this.#recall?.stop()
    await this.#end()
    await kept
  }

  async #end(): Promise<void> {
    this.#events = undefined
    this.#mesh.stop()
    this.#watchdog.stop()
    this.#neighbours.stop()
    this.#listen('removeEventListener')
    this.#links.stop()
    this.#channels.stop()
    await this.#gossip.flush(FLUSH_MS)
    const { node } = this.#stack
    this.#gossip.stop(!this.#startedNode)
    if (this.#startedNode) await stopNode(node)
    else await within(LEAVE_MS, this.#unhandle())
  }

  #isStopping(): boolean {
    return this.#stopping !== undefined
  }

  async #unhandle(): Promise<void> {
    for (const purpose of PURPOSES) await this.#stack.node.unhandle(this.#protocols[purpose])
  }

  #answer(peer: NodeId, purpose: ChannelPurpose, stream: ByteStream): void {
    const channel = this.#channels.open(stream)
    this.#events?.opened(peer, purpose, channel)
  }

  #listen(change: 'addEventListener' | 'removeEventListener'): void {
    const { node } = this.#stack
    node[change]('connection:open', this.#onOpen)
    node[change]('peer:connect', this.#onConnect)
    node[change]('peer:identify', this.#onIdentify)
    node[change]('peer:disconnect', this.#onDisconnect)
  }

  readonly #onOpen = ({ detail }: { readonly detail: unknown }): void => {
    this.#book.meet(detail as ConnectionLike)
  }

  readonly #onConnect = ({ detail }: { readonly detail: unknown }): void => {
    this.#neighbours.opened((detail as PeerIdLike).toString())
  }

  readonly #onIdentify = ({ detail }: { readonly detail: unknown }): void => {
    const { peerId, protocols, listenAddrs } = detail as Identified
    const peer = peerId.toString()
    // The answer may come after the connection is gone.
    if (this.#links.of(peer).length === 0) return
    this.#book.identify(peer, listenAddrs.map(String))
    this.#reports.versions(peer, this.#protocols.sync, protocols)
    this.#neighbours.identified(peer, protocols)
  }

  readonly #onDisconnect = ({ detail }: { readonly detail: unknown }): void => {
    const peer = (detail as PeerIdLike).toString()
    const wasNeighbour = this.#neighbours.closed(peer)
    this.#mesh.lost(peer, wasNeighbour)
    this.#recall?.lost(peer)
    if (wasNeighbour) void this.#lookAfter(peer)
    else this.#forgetStranger(peer)
  }

  /** Says at once whether a neighbour that was lost is dead: the registry must not offer what it ran. */
  async #lookAfter(peer: NodeId): Promise<void> {
    if (this.#dead.has(peer)) return
    const verdict = await this.#links.examine(peer)
    if (this.#neighbours.isConnected(peer)) return
    // Forgotten meanwhile means that it left in order, which everybody knows.
    if (verdict === 'refused' && this.#book.knows(peer) && !this.#dead.has(peer)) {
      this.#dead.add(peer)
      this.#events?.refused(peer)
    }
    if (verdict === 'unknown' && this.#book.knows(peer)) this.#events?.unreachable(peer)
    this.#forgetStranger(peer)
  }

  #forgetStranger(peer: NodeId): void {
    if (!this.#book.isLearned(peer)) this.#forgetPeer(peer)
  }

  #forgetPeer(peer: NodeId): void {
    this.#book.forget(peer)
    this.#dead.delete(peer)
    if (this.#making.own) this.#gone.add(peer)
  }

  /** Some time later, for libp2p is still busy with the end of a connection, or a dial, when others are done with it. */
  #forgetGone(): void {
    for (const peer of [...this.#gone].slice(0, FORGOTTEN_AT_ONCE)) {
      this.#gone.delete(peer)
      if (!this.#book.knows(peer)) void this.#links.forget(peer)
    }
  }

  #joined(peer: NodeId): void {
    this.#dead.delete(peer)
    this.#mesh.joined(peer, this.neighbours().length === 1)
    this.#recall?.joined()
    this.#events?.connected(peer)
  }

  /** A brought node may have connections of its own, which are no business of ours; seeds and members are. */
  async #stranger(peer: NodeId, standing: Standing): Promise<void> {
    const { own } = this.#making
    const where = this.#mesh.nameOf(peer)
    const isOurs = own || where !== peer
    if (standing === 'foreign') {
      if (isOurs) this.#reports.stranger(where)
      if (own) this.#links.hangUp(peer, 'not a member of the cluster')
      return
    }
    // A bad network loses questions, answers and gossip streams, none of which libp2p makes up for.
    const mute = standing === 'mute'
    if (mute) await this.#events?.mute(peer)
    else if (await this.#links.identify(peer)) return
    if (this.#neighbours.has(peer) || !(isOurs || this.#book.isLearned(peer))) return
    this.#links.hangUp(peer, mute ? 'it does not gossip' : 'it does not say who it is')
  }
}
