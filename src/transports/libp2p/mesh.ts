import type { NodeId } from '../../core/frame.ts'
import type { DialState } from '../../tracker/ports.ts'
import { multiaddrOf, resolveHost, type Endpoint, type JoinAddress } from './addresses.ts'
import { backoffMs } from './backoff.ts'
import type { DialFailure } from './dial-outcome.ts'
import type { ResolvedMesh } from './options.ts'
import type { PeerBook } from './peer-book.ts'

export type DialResult =
  | { readonly ok: true; readonly peer: NodeId }
  | { readonly ok: false; readonly failure: DialFailure; readonly message: string }

/** What the mesh needs of the node. */
export interface MeshNode {
  readonly id: NodeId
  /** Tries the addresses in order until one answers. Never rejects. */
  dial(addresses: readonly string[], timeoutMs: number): Promise<DialResult>
  isConnected(peer: NodeId): boolean
  /** Each reason is reported once until `well` is called. */
  unwell(where: string, failure: DialFailure, message: string): void
  /** A learned peer could not be dialled: it may be dead. */
  missed(peer: NodeId): void
  /** What was reported of a place is over: a neighbour is there. */
  well(where: string): void
  /** Endpoints this node listens at. */
  isSelf(endpoint: Endpoint): boolean
}

/** Settled: nothing left to do until a connection is lost. Again: look again, at the pace of the longest back-off. */
type Attempt = 'settled' | 'failed' | 'again'

/** Something to be connected to. `nextAt` is Infinity while there is nothing to do. */
interface Target {
  failures: number
  nextAt: number
  busy: boolean
  lastFailure?: string
}

interface Seed extends Target {
  readonly address: JoinAddress
  /** Who answered, by multiaddr. */
  readonly peers: Map<string, NodeId>
}

interface Peer extends Target {
  wanted: boolean
}

/** The node with the higher id dials only when the other has not after this time, so that seldom both do. */
const HIGHER_ID_WAITS_MS = 2_000
/** Spreads what many nodes do for the same reason at the same time. */
const JITTER_MS = 250
/**
 * Learned peers dialled at once. A handshake costs some 20 ms of CPU on each side: a cluster that starts together
 * on few cores, all dialling all, would take longer for each dial than a dial may take.
 */
const DIALS_AT_ONCE = 4
/** A peer of a large cluster that failed this often gives its place to another. */
const GIVES_WAY_AFTER = 3

/**
 * Keeps the connections of this node: dials seeds and learned peers for as long as it runs, each with a back-off
 * of its own. In a small cluster every peer is wanted; in a large one a stable choice of them.
 */
export class Mesh {
  readonly #node: MeshNode
  readonly #book: PeerBook
  readonly #options: ResolvedMesh
  readonly #seeds: readonly Seed[]
  readonly #peers = new Map<NodeId, Peer>()
  #timer: NodeJS.Timeout | undefined
  #running = false
  #dialling = 0

  constructor(node: MeshNode, book: PeerBook, options: ResolvedMesh) {
    this.#node = node
    this.#book = book
    this.#options = options
    this.#seeds = options.join.map((address) => ({
      address,
      peers: new Map(),
      failures: 0,
      nextAt: 0,
      busy: false,
    }))
  }

  start(): void {
    this.#running = true
    this.#arm()
  }

  stop(): void {
    this.#running = false
    clearTimeout(this.#timer)
  }

  /** A node exists (again): its back-off starts anew. */
  learn(peer: NodeId): void {
    const known = this.#peers.get(peer) ?? { failures: 0, nextAt: Infinity, busy: false, wanted: false }
    this.#peers.set(peer, known)
    known.failures = 0
    this.#choose()
    if (known.wanted) this.#due(peer, known)
    this.#arm()
  }

  forget(peer: NodeId): void {
    this.#peers.delete(peer)
    this.#choose()
    this.#arm()
  }

  /** A peer became a neighbour. */
  joined(peer: NodeId, first: boolean): void {
    for (const target of this.#targetsOf(peer)) target.failures = 0
    for (const where of [peer, ...this.#placesOf(peer)]) this.#node.well(where)
    // Alone until now: the way out is back, so nobody's past failures mean anything.
    if (first) this.#restart()
    this.#arm()
  }

  /** The last connection to a peer closed. */
  lost(peer: NodeId, wasNeighbour: boolean): void {
    for (const target of this.#targetsOf(peer)) {
      if (!wasNeighbour) this.#leftEarly(peer, target)
      else if ('wanted' in target) this.#due(peer, target)
      else {
        // Where the peer is learned as well, the lower id dials, and the seed only makes up for it.
        const wait = this.#peers.get(peer)?.wanted === true ? HIGHER_ID_WAITS_MS : 0
        target.nextAt = performance.now() + wait + JITTER_MS * (1 + Math.random())
      }
    }
    this.#arm()
  }

  /** How the caller calls a peer that was not learned: the seed it answered at. */
  nameOf(peer: NodeId): string {
    return this.#placesOf(peer)[0] ?? peer
  }

  /** Whom it dials without success. */
  dials(): readonly DialState[] {
    const named = [...this.#seeds.map((seed) => [seed.address.text, seed] as const), ...this.#peers]
    return named.flatMap(([where, { failures, nextAt, lastFailure }]) =>
      failures === 0 ? [] : [{ where, failures, nextInMs: nextAt - performance.now(), lastFailure }],
    )
  }

  #unwell(target: Target, where: string, failure: DialFailure, message: string): void {
    target.lastFailure = `${failure}: ${message}`
    this.#node.unwell(where, failure, message)
  }

  #placesOf(peer: NodeId): readonly string[] {
    return this.#seeds.flatMap(({ peers }) =>
      [...peers].flatMap(([where, id]) => (id === peer ? [where] : [])),
    )
  }

  /** Once may be a coincidence of two dials, or of a dial and a stop. */
  #leftEarly(peer: NodeId, target: Seed | Peer): void {
    this.#failed(target)
    if (target.failures < 2) return
    for (const where of 'wanted' in target ? [peer] : this.#placesOf(peer)) {
      this.#unwell(target, where, 'refused', 'the connection was closed before the peer had joined')
    }
  }

  *#targets(): Iterable<Target> {
    yield* this.#seeds
    for (const peer of this.#peers.values()) if (peer.wanted) yield peer
  }

  #targetsOf(peer: NodeId): readonly (Seed | Peer)[] {
    const seeds = this.#seeds.filter(({ peers }) => [...peers.values()].includes(peer))
    const known = this.#peers.get(peer)
    return known === undefined ? seeds : [...seeds, known]
  }

  #restart(): void {
    for (const target of this.#targets()) {
      if (target.failures === 0) continue
      target.failures = 0
      target.nextAt = Math.min(target.nextAt, performance.now() + JITTER_MS * Math.random())
    }
  }

  /** The lower id dials; the higher one makes up for it when that does not happen. */
  #due(peer: NodeId, target: Peer): void {
    if (this.#node.isConnected(peer)) return
    const wait = this.#node.id < peer ? 0 : HIGHER_ID_WAITS_MS
    target.nextAt = performance.now() + wait + JITTER_MS * Math.random()
  }

  #failed(target: Target): void {
    target.failures += 1
    target.nextAt = performance.now() + backoffMs(target.failures, this.#options.maxBackoffMs, Math.random())
    if (target.failures === GIVES_WAY_AFTER && 'wanted' in target) this.#choose()
  }

  /** Everybody of a small cluster; of a large one those chosen before that still answer, filled up by chance. */
  #choose(): void {
    const { fullMeshNodes, largeDegree } = this.#options
    const all = [...this.#peers]
    // The node itself counts as one of the cluster.
    if (all.length < fullMeshNodes) {
      for (const [peer, target] of all) this.#want(peer, target)
      return
    }
    const fails = (target: Peer): boolean => target.failures >= GIVES_WAY_AFTER
    let places = largeDegree
    for (const [peer, target] of all) {
      const keeps = target.wanted && places > 0 && (this.#node.isConnected(peer) || !fails(target))
      if (keeps) places -= 1
      else target.wanted = false
    }
    const others = all.filter(([, target]) => !target.wanted)
    const shuffled = others.map((entry) => ({ entry, rank: Math.random() + (fails(entry[1]) ? 1 : 0) }))
    shuffled.sort((a, b) => a.rank - b.rank)
    for (const { entry } of shuffled.slice(0, places)) this.#want(...entry)
  }

  #want(peer: NodeId, target: Peer): void {
    if (target.wanted) return
    target.wanted = true
    if (!this.#node.isConnected(peer)) this.#due(peer, target)
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (!this.#running) return
    let next = Infinity
    for (const target of this.#dialable()) if (target.nextAt < next) next = target.nextAt
    if (next === Infinity) return
    this.#timer = setTimeout(() => this.#run(), Math.max(0, next - performance.now()))
    this.#timer.unref()
  }

  /** What may be dialled when its time comes. */
  *#dialable(): Iterable<Target> {
    for (const seed of this.#seeds) if (!seed.busy) yield seed
    if (this.#dialling >= DIALS_AT_ONCE) return
    for (const peer of this.#peers.values()) if (peer.wanted && !peer.busy) yield peer
  }

  #run(): void {
    const now = performance.now()
    for (const seed of this.#seeds) {
      if (!seed.busy && seed.nextAt <= now) void this.#attempt(seed, () => this.#trySeed(seed))
    }
    const due = [...this.#peers].filter(([, target]) => target.wanted && !target.busy && target.nextAt <= now)
    due.sort(([, a], [, b]) => a.nextAt - b.nextAt)
    for (const [peer, target] of due.slice(0, DIALS_AT_ONCE - this.#dialling)) {
      void this.#attempt(target, () => this.#tryPeer(peer, target))
    }
    this.#arm()
  }

  async #attempt(target: Target, work: () => Promise<Attempt>): Promise<void> {
    const slot = 'wanted' in target ? 1 : 0
    this.#dialling += slot
    target.busy = true
    target.nextAt = Infinity
    const outcome = await work()
    target.busy = false
    this.#dialling -= slot
    if (!this.#running) return
    if (outcome === 'failed') this.#failed(target)
    if (outcome === 'again')
      target.nextAt = performance.now() + this.#options.maxBackoffMs * (0.5 + Math.random() / 2)
    this.#arm()
  }

  async #tryPeer(peer: NodeId, target: Peer): Promise<Attempt> {
    if (this.#node.isConnected(peer)) return 'settled'
    const known = this.#book.addresses(peer)
    if (known.length === 0) return 'failed'
    // Somebody is being dialled there already, without an identity, so libp2p would not see that it is the same.
    if (this.#seeds.some(({ busy, address }) => busy && known.includes(multiaddrOf(address)))) return 'failed'
    const addresses = known.map((address) => `${address}/p2p/${peer}`)
    const result = await this.#node.dial(addresses, this.#options.dialTimeoutMs)
    if (result.ok || this.#node.isConnected(peer)) return 'settled'
    this.#unwell(target, peer, result.failure, result.message)
    this.#node.missed(peer)
    return 'failed'
  }

  async #trySeed(seed: Seed): Promise<Attempt> {
    const { host, port, text, every } = seed.address
    let endpoints: readonly Endpoint[]
    try {
      endpoints = (await resolveHost(host)).map((address) => ({ host: address, port }))
    } catch (error) {
      this.#unwell(seed, text, 'unreachable', error instanceof Error ? error.message : String(error))
      return 'failed'
    }
    if (!every) return (await this.#trySeedAt(seed, endpoints, text)) ? 'settled' : 'failed'
    const found = await Promise.all(
      endpoints.map((endpoint) => this.#trySeedAt(seed, [endpoint], multiaddrOf(endpoint))),
    )
    // Looked up again for ever: a name that stands for many nodes gains and loses them.
    return found.includes(true) ? 'again' : 'failed'
  }

  /** @param endpoints - where one and the same node is looked for */
  async #trySeedAt(seed: Seed, endpoints: readonly Endpoint[], where: string): Promise<boolean> {
    if (endpoints.some((endpoint) => this.#node.isSelf(endpoint))) {
      this.#unwell(seed, where, 'self', 'the address is this node itself')
      return false
    }
    const known = endpoints.flatMap((endpoint) => this.#book.at(endpoint))
    const connected = known.find((peer) => this.#node.isConnected(peer))
    if (connected !== undefined) {
      seed.peers.set(where, connected)
      return true
    }
    const expected = seed.address.peer ?? seed.peers.get(where)
    const identity = expected === undefined ? '' : `/p2p/${expected}`
    const addresses = endpoints.map((endpoint) => `${multiaddrOf(endpoint)}${identity}`)
    const result = await this.#node.dial(addresses, this.#options.dialTimeoutMs)
    if (result.ok) {
      seed.peers.set(where, result.peer)
      return true
    }
    if (result.failure === 'other-identity' && seed.address.peer === undefined) {
      // The seed came back as another node: whoever is there now is welcome.
      seed.peers.delete(where)
      seed.failures = 0
      return false
    }
    this.#unwell(seed, where, result.failure, result.message)
    return false
  }
}
