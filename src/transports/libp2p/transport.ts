import { multiaddr } from '@multiformats/multiaddr'
import type { NodeId } from '../../core/frame.ts'
import { RollcallError } from '../../errors.ts'
import type { Channel, Transport, TransportEvents } from '../../tracker/ports.ts'
import { Adapter } from './adapter.ts'
import { advertisable, endpointOf, isLoopback, multiaddrOf, withoutPeer, type Endpoint } from './addresses.ts'
import { dialFailure, dialMessage, type DialFailure } from './dial-outcome.ts'
import { examine, type Verdict } from './evidence.ts'
import { Gossip } from './gossip.ts'
import type { ConnectionLike, Identified, PeerIdLike } from './libp2p-like.ts'
import { Mesh, type DialResult } from './mesh.ts'
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
/** One fast look at a peer whose connection closed; on a local network an answer takes a few ms. */
const EVIDENCE_MS = 1_000
/** The node with the higher id leaves the other this long to dial first. */
const YIELD_MS = 150
/** Second connections are closed once they have settled and carry nothing. */
const SPARE_AGE_MS = 5_000
/** How long `stop` waits for connections to close in order before it drops them, and for the node to stop. */
const CLOSE_MS = 100
const STOP_MS = 1_000

/** What the transport knows of the node's making. */
export interface Making {
  /** True for the node that this package built: strangers are hung up, spare connections closed. */
  readonly own: boolean
  /** Whether publishers send to every neighbour. */
  readonly floods: boolean
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
  readonly #gossip: Gossip
  readonly #neighbours: Neighbours
  readonly #mesh: Mesh
  readonly #watchdog: Watchdog
  readonly #reports: Reports
  readonly #channels = new Set<SyncChannel>()
  readonly #pending = new Set<AbortController>()
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
        outdated: (peer) => void this.#identify(peer),
      },
    )
    this.#mesh = new Mesh(
      {
        id: this.id,
        dial: (addresses, timeoutMs) => this.#dial(addresses, timeoutMs),
        isConnected: (peer) => this.#neighbours.isConnected(peer),
        unwell: (where, failure, message) => this.#unwell(where, failure, message),
        well: (where) => this.#reports.clear(where),
        isSelf: (endpoint) => this.#isSelf(endpoint),
      },
      this.#book,
      options,
    )
    this.#watchdog = new Watchdog({
      periodMs: options.watchdogMs,
      floods: making.floods,
      neighbours: () => this.neighbours(),
      isHealthy: (peer) => this.#gossip.isHealthy(peer),
      cure: (peer, why) => this.#hangUp(peer, why),
      tidy: () => this.#closeSpares(),
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
      this.#opened(connection)
      void this.#identify(connection.remotePeer.toString())
    }
  }

  publish(message: Uint8Array): Promise<void> {
    return this.#events === undefined ? Promise.resolve() : this.#gossip.publish(message)
  }

  async openSync(peer: NodeId, signal: AbortSignal): Promise<Channel> {
    try {
      signal.throwIfAborted()
      const [connection] = this.#connections(peer)
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
    this.#book.learn(peer, addresses)
    this.#mesh.learn(peer)
  }

  forget(peer: NodeId): void {
    this.#mesh.forget(peer)
    this.#watchdog.forget(peer)
    this.#book.forget(peer)
    this.#reports.clear(peer)
  }

  async probe(peer: NodeId): Promise<Verdict> {
    if (peer === this.id) return 'alive'
    if (this.#events === undefined) return 'unknown'
    const connected = this.#neighbours.isConnected(peer)
    if (connected && (await this.#identify(peer))) return 'alive'
    return this.#neighbours.isConnected(peer) ? 'unknown' : this.#examine(peer)
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
    for (const controller of this.#pending) controller.abort()
    for (const channel of this.#channels) channel.abort(new Error('the node is stopping'))
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
  }
}
