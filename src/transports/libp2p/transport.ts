import type { NodeId } from '../../core/frame.ts'
import { RollcallError } from '../../errors.ts'
import type { Channel, Transport, TransportEvents } from '../../tracker/ports.ts'
import { Adapter, type ByteStream } from './adapter.ts'
import { advertisable } from './addresses.ts'
import type { DialFailure } from './dial-outcome.ts'
import type { Verdict } from './evidence.ts'
import { Gossip } from './gossip.ts'
import type { ConnectionLike, Identified, PeerIdLike } from './libp2p-like.ts'
import { Links } from './links.ts'
import { Mesh } from './mesh.ts'
import { Neighbours } from './neighbours.ts'
import type { ResolvedMesh } from './options.ts'
import { PeerBook } from './peer-book.ts'
import { Reports } from './reports.ts'
import type { CheckedStack } from './stack-check.ts'
import { SyncChannel } from './sync-channel.ts'
import { Watchdog } from './watchdog.ts'

/** Version of the sync stream protocol. Peers that share none refuse each other in words. */
const SYNC_VERSION = 1
/** Sync channels at once with one peer, each way. The tracker opens a handful; this leaves room for slow ends. */
const CHANNELS_PER_PEER = 64
/** How long `stop` waits for what was published last to leave; on a live connection it takes a few ms. */
const FLUSH_MS = 50
/** How long `stop` waits for connections to close in order before it drops them, and for the node to stop. */
const CLOSE_MS = 100
const STOP_MS = 1_000

/** What the transport knows of the node's making. */
export interface Making {
  /** True for the node that this package built: strangers are hung up, spare connections closed. */
  readonly own: boolean
}

function within(ms: number, work: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  return Promise.race([work.catch(() => undefined), late]).finally(() => clearTimeout(timer))
}

/** The `Transport` port on a libp2p node of either line. */
export class Libp2pTransport implements Transport {
  readonly id: NodeId

  readonly #stack: CheckedStack
  readonly #options: ResolvedMesh
  readonly #making: Making
  readonly #adapter: Adapter
  readonly #protocol: string
  readonly #book = new PeerBook()
  readonly #links: Links
  readonly #gossip: Gossip
  readonly #neighbours: Neighbours
  readonly #mesh: Mesh
  readonly #watchdog: Watchdog
  readonly #reports: Reports
  /** Said to be dead, once per loss. */
  readonly #dead = new Set<NodeId>()
  readonly #channels = new Set<SyncChannel>()
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
    this.#protocol = `/rollcall/${options.cluster}/sync/${String(SYNC_VERSION)}`
    this.#reports = new Reports((where, error) => this.#events?.problem(where, error))
    this.#gossip = new Gossip(stack.pubsub, `rollcall/${options.cluster}`, this.id, options.maxGossipBytes, {
      message: (author, via, data) => {
        this.#watchdog.heard(author, via)
        return this.#events?.gossip(author, via, data) ?? false
      },
      oversized: (via, bytes) => this.#oversized(via, bytes),
      subscription: (peer) => this.#neighbours.look(peer),
    })
    this.#neighbours = new Neighbours(
      {
        syncProtocol: this.#protocol,
        graceMs: options.memberGraceMs,
        isSubscribed: (peer) => this.#gossip.isSubscribed(peer),
        reaches: (peer) => this.#gossip.reaches(peer),
      },
      {
        connected: (peer) => this.#joined(peer),
        disconnected: (peer) => this.#events?.disconnected(peer),
        stranger: (peer) => this.#stranger(peer),
        outdated: (peer) => void this.#links.identify(peer),
      },
    )
    this.#mesh = new Mesh(
      {
        id: this.id,
        dial: (addresses, timeoutMs) => this.#links.dial(addresses, timeoutMs),
        isConnected: (peer) => this.#neighbours.isConnected(peer),
        unwell: (where, failure, message) => this.#unwell(where, failure, message),
        missed: (peer) => void this.#lookAfter(peer),
        well: (where) => this.#reports.clear(where),
        isSelf: (endpoint) => this.#links.isSelf(endpoint),
      },
      this.#book,
      options,
    )
    this.#watchdog = new Watchdog({
      periodMs: options.watchdogMs,
      floods: stack.pubsub.opts?.floodPublish === true,
      neighbours: () => this.neighbours(),
      isHealthy: (peer) => this.#gossip.isHealthy(peer),
      cure: (peer, why) => this.#links.hangUp(peer, why),
      tidy: () => {
        if (making.own) this.#links.closeSpares(this.neighbours())
      },
    })
  }

  start(events: TransportEvents): Promise<void> {
    this.#starting ??= this.#start(events)
    return this.#starting
  }

  async #start(events: TransportEvents): Promise<void> {
    if (this.#stopping !== undefined) throw new RollcallError('ROLLCALL_CLOSED', 'the transport was stopped')
    const { node } = this.#stack
    this.#events = events
    this.#listen('addEventListener')
    try {
      await this.#adapter.handle(node, this.#protocol, CHANNELS_PER_PEER, (peer, stream) => {
        const channel = this.#channel(stream)
        if (this.#events === undefined) channel.abort(new Error('the node is stopping'))
        else this.#events.sync(peer, channel)
      })
      if (node.status !== 'started') {
        this.#startedNode = true
        await node.start()
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      await this.stop()
      throw new RollcallError('ROLLCALL_START_FAILED', `libp2p did not start: ${why}`, { cause: error })
    }
    if (this.#isStopping()) return
    this.#gossip.start()
    this.#mesh.start()
    this.#watchdog.start()
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

  async openSync(peer: NodeId, signal: AbortSignal): Promise<Channel> {
    try {
      signal.throwIfAborted()
      const [connection] = this.#links.of(peer)
      if (connection === undefined || this.#events === undefined) throw new Error('not connected')
      const stream = await this.#adapter.open(connection, this.#protocol, CHANNELS_PER_PEER, signal)
      return this.#channel(stream)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new RollcallError('ROLLCALL_PEER_UNREACHABLE', `no sync with ${peer}: ${why}`, { cause: error })
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
  }

  forget(peer: NodeId): void {
    this.#mesh.forget(peer)
    this.#watchdog.forget(peer)
    this.#book.forget(peer)
    this.#dead.delete(peer)
    this.#reports.clear(peer)
  }

  async probe(peer: NodeId): Promise<Verdict> {
    if (peer === this.id) return 'alive'
    if (this.#events === undefined) return 'unknown'
    const connected = this.#neighbours.isConnected(peer)
    if (connected && (await this.#links.identify(peer))) return 'alive'
    return this.#neighbours.isConnected(peer) ? 'unknown' : this.#links.examine(peer)
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#events = undefined
    this.#mesh.stop()
    this.#watchdog.stop()
    this.#neighbours.stop()
    this.#listen('removeEventListener')
    this.#links.stop()
    for (const channel of this.#channels) channel.abort(new Error('the node is stopping'))
    await this.#gossip.flush(FLUSH_MS)
    const { node } = this.#stack
    const livesOn = !this.#startedNode
    if (livesOn && node.status === 'started') {
      this.#gossip.stop(true)
      await within(STOP_MS, node.unhandle(this.#protocol))
      return
    }
    this.#gossip.stop(false)
    if (node.status !== 'started') return
    const connections = node.getConnections()
    await within(CLOSE_MS, Promise.all(connections.map((connection) => connection.close())))
    for (const connection of connections) connection.abort(new Error('the node is stopping'))
    await within(STOP_MS, Promise.resolve(node.stop()))
    // Closing the listener made libp2p plan an update of its own addresses, which would keep the process for a second.
    node.components?.addressManager?._updatePeerStoreAddresses?.stop?.()
  }

  #isStopping(): boolean {
    return this.#stopping !== undefined
  }

  #channel(stream: ByteStream): SyncChannel {
    const { maxMessageBytes, channelStallMs } = this.#options
    const channel = new SyncChannel(stream, { maxMessageBytes, stallMs: channelStallMs })
    this.#channels.add(channel)
    void channel.done.then(() => this.#channels.delete(channel))
    return channel
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
    this.#checkVersion(peer, protocols)
    this.#neighbours.identified(peer, protocols)
  }

  readonly #onDisconnect = ({ detail }: { readonly detail: unknown }): void => {
    const peer = (detail as PeerIdLike).toString()
    const wasNeighbour = this.#neighbours.closed(peer)
    this.#mesh.lost(peer, wasNeighbour)
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
    this.#forgetStranger(peer)
  }

  #forgetStranger(peer: NodeId): void {
    if (this.#book.isLearned(peer)) return
    this.#book.forget(peer)
    this.#dead.delete(peer)
  }

  #joined(peer: NodeId): void {
    this.#dead.delete(peer)
    this.#mesh.joined(peer, this.neighbours().length === 1)
    this.#events?.connected(peer)
  }

  /** A brought node may have connections of its own that are no business of ours. */
  #stranger(peer: NodeId): void {
    if (!this.#making.own) return
    const why = 'the peer did not join the cluster: it belongs to another one, or is no rollcall node'
    this.#reports.report(this.#mesh.nameOf(peer), 'refused', 'ROLLCALL_PEER_REFUSED', why)
    this.#links.hangUp(peer, why)
  }

  #checkVersion(peer: NodeId, protocols: readonly string[]): void {
    if (protocols.includes(this.#protocol)) return
    const ours = this.#protocol.replace(/[^/]+$/, '')
    const theirs = protocols
      .filter((protocol) => protocol.startsWith(ours))
      .map((each) => each.slice(ours.length))
    if (theirs.length === 0) return
    const versions = `the peer speaks version ${theirs.join(' and ')} of the sync protocol, this node ${String(SYNC_VERSION)}`
    this.#reports.report(
      peer,
      'version',
      'ROLLCALL_PROTOCOL_MISMATCH',
      `${versions}; upgrade the older of the two`,
    )
  }

  #unwell(where: string, failure: DialFailure, message: string): void {
    const code = failure === 'unreachable' ? 'ROLLCALL_PEER_UNREACHABLE' : 'ROLLCALL_PEER_REFUSED'
    const words = {
      unreachable: 'no answer, or none in time,',
      self: 'the address is this node itself',
      'other-identity': 'another node than the expected one answers',
      refused: 'what answers is no member of this cluster, or refuses this node',
    } as const satisfies Record<DialFailure, string>
    this.#reports.report(where, failure, code, `${words[failure]} at ${where}: ${message}`)
  }

  #oversized(via: NodeId, bytes: number): void {
    const sizes = `${String(bytes)} bytes, at most ${String(this.#options.maxGossipBytes)}`
    this.#reports.report(
      via,
      'oversized',
      'ROLLCALL_FRAME_LIMIT',
      `a gossip message of ${sizes}, was dropped`,
    )
  }

  /** Somebody was turned away before there was a connection. */
  turnedAway(where: string, why: string): void {
    // The port of an inbound connection is another one each time.
    const host = where.replace(/\/tcp\/\d+.*$/, '')
    this.#reports.report(host, why, 'ROLLCALL_PEER_REFUSED', why)
  }
}
