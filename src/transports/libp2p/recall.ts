import type { NodeId } from '../../core/frame.ts'
import type { DialState } from '../../tracker/ports.ts'
import { endpointOf, multiaddrOf, type Endpoint } from './addresses.ts'
import { backoffMs } from './backoff.ts'
import type { DialFailure } from './dial-outcome.ts'
import type { DialResult } from './mesh.ts'
import type { ResolvedMesh } from './options.ts'
import type { PeerBook } from './peer-book.ts'
import { STATE_LIMITS, type KnownPeer } from './state-file.ts'
import { StateKeeper } from './state-keeper.ts'

/**
 * Dials at once. More than of learned peers, because those that do not answer cost no handshake: with all but the last
 * of 256 silent, that one is reached after 16 time-outs.
 */
const DIALS_AT_ONCE = 16
/** The node with the higher id leaves the other so long to dial first, as both do when all start together. */
const YIELD_MS = 300
const JITTER_MS = 250
/** How long a peer must have been gone, and others here, before it is given up: longer than any restart takes. */
const GIVE_UP_MS = 600_000

export interface RecallPorts {
  readonly id: NodeId
  /** As that of the mesh. */
  dial(addresses: readonly string[], timeoutMs: number): Promise<DialResult>
  isConnected(peer: NodeId): boolean
  neighbours(): readonly NodeId[]
  isSelf(endpoint: Endpoint): boolean
  /** A peer cannot be dialled, and nobody else is here. */
  unwell(peer: NodeId, failure: DialFailure, message: string): void
  /** Something is wrong with the state file. `cause` in one word. */
  badFile(cause: string, message: string): void
  goodFile(): void
}

interface Recalled {
  readonly addresses: readonly string[]
  /** False once somebody else answered there: whoever it is is welcome. */
  byIdentity: boolean
  /** Since when it is known to be gone. */
  goneAt: number | undefined
  failures: number
  /** Infinity: not to be dialled. */
  nextAt: number
  busy: boolean
  lastFailure?: string
}

/**
 * Knows for the state file whom to find the cluster by after a restart, and finds it by those of the last life.
 *
 * Recalled are peers that the cluster does not speak of: those of the file, which are dialled until somebody is met and
 * now and then afterwards, and those that left, which are not. One that has been gone for long while others were here
 * is given up; as long as nobody is here, all of them are the only way back.
 */
export class Recall {
  readonly #ports: RecallPorts
  readonly #book: PeerBook
  readonly #options: ResolvedMesh
  readonly #keeper: StateKeeper
  readonly #seeds: ReadonlySet<string>
  readonly #recalled = new Map<NodeId, Recalled>()
  /** Since when there is a neighbour. */
  #togetherAt = Infinity
  #timer: NodeJS.Timeout | undefined
  #running = false
  #dialling = 0

  constructor(stateFile: string, ports: RecallPorts, book: PeerBook, options: ResolvedMesh) {
    this.#ports = ports
    this.#book = book
    this.#options = options
    this.#seeds = new Set(options.join.map(multiaddrOf))
    this.#keeper = new StateKeeper(stateFile, options.cluster, {
      peers: () => this.#known(),
      problem: (cause, message) => this.#ports.badFile(cause, message),
      well: () => this.#ports.goodFile(),
    })
  }

  /** Reads the file and dials whom it names, the first of them first. Never rejects. */
  async start(): Promise<void> {
    this.#running = true
    const peers = await this.#keeper.load()
    const now = performance.now()
    for (const { id, addresses } of peers) {
      if (id !== this.#ports.id) this.#add(id, addresses, now + (this.#ports.id < id ? 0 : YIELD_MS))
    }
    if (this.#isTogether()) this.joined()
    this.#arm()
  }

  /** Dials no more, and writes the file if that says anything new. Neighbours must still be there. Never rejects. */
  async stop(): Promise<void> {
    if (!this.#running) return
    this.#running = false
    clearTimeout(this.#timer)
    await this.#keeper.stop()
  }

  /** The cluster speaks of a peer (anew). */
  learned(): void {
    this.#keeper.changed()
  }

  /** Somebody became a neighbour. The first will tell of those that live, so nobody else is in a hurry. */
  joined(): void {
    this.#keeper.changed()
    if (this.#togetherAt !== Infinity) return
    const now = performance.now()
    this.#togetherAt = now
    for (const each of this.#recalled.values()) each.nextAt = Math.max(each.nextAt, this.#later(now))
    this.#arm()
  }

  /** A connection ended. Who is alone now begins anew. */
  lost(peer: NodeId): void {
    this.#keeper.changed()
    const known = this.#recalled.get(peer)
    if (known !== undefined && known.nextAt !== Infinity) this.#failed(known)
    if (this.#togetherAt !== Infinity && !this.#isTogether()) {
      this.#togetherAt = Infinity
      for (const each of this.#recalled.values()) {
        each.failures = 0
        if (each.nextAt !== Infinity) each.nextAt = performance.now() + JITTER_MS * (1 + Math.random())
      }
    }
    this.#arm()
  }

  /** The cluster will not speak of a peer again. To be called while the book knows where it was. */
  retire(peer: NodeId): void {
    this.#keeper.changed()
    const addresses = this.#book.addresses(peer)
    if (!this.#book.isLearned(peer) || addresses.length === 0) return
    this.#recalled.delete(peer)
    this.#add(peer, addresses, Infinity).goneAt = performance.now()
    const [oldest] = this.#recalled.keys()
    if (this.#recalled.size > 2 * STATE_LIMITS.peers && oldest !== undefined) this.#recalled.delete(oldest)
  }

  /** Whom it dials without success. */
  dials(): readonly DialState[] {
    return [...this.#recalled].flatMap(([where, { failures, nextAt, lastFailure }]) =>
      failures === 0 ? [] : [{ where, failures, nextInMs: nextAt - performance.now(), lastFailure }],
    )
  }

  #add(peer: NodeId, addresses: readonly string[], nextAt: number): Recalled {
    const fresh = { addresses, byIdentity: true, goneAt: undefined, failures: 0, nextAt, busy: false }
    this.#recalled.set(peer, fresh)
    return fresh
  }

  /** Neighbours, then others that the cluster speaks of, those that left, the last first, and those of the file. */
  #known(): readonly KnownPeer[] {
    this.#prune()
    const recalled = [...this.#recalled]
    const left = recalled.filter(([, { nextAt }]) => nextAt === Infinity).reverse()
    const read = recalled.filter(([, { nextAt }]) => nextAt !== Infinity)
    const neighbours = [...this.#ports.neighbours()].sort()
    const places = new Map<NodeId, readonly string[]>()
    for (const id of [...neighbours, ...this.#book.learned().sort()]) places.set(id, this.#book.addresses(id))
    // A neighbour of which no address is known yet may be one of the file.
    for (const [id, { addresses }] of [...left, ...read]) {
      if ((places.get(id) ?? []).length === 0) places.set(id, addresses)
    }
    return [...places].map(([id, addresses]) => ({ id, addresses }))
  }

  #isTogether(): boolean {
    return this.#ports.neighbours().length > 0
  }

  /** Forgets those that the cluster speaks of, those in whose place another lives, and those given up. */
  #prune(): void {
    const now = performance.now()
    const neighbours = this.#ports.neighbours()
    const taken = new Map(neighbours.flatMap((id) => this.#book.addresses(id).map((at) => [at, id] as const)))
    for (const [peer, { addresses, goneAt = Infinity }] of this.#recalled) {
      const isGivenUp = neighbours.length > 0 && now - Math.max(goneAt, this.#togetherAt) >= GIVE_UP_MS
      const isReplaced = addresses.every((at) => (taken.get(at) ?? peer) !== peer)
      if (isGivenUp || isReplaced || this.#book.isLearned(peer)) this.#recalled.delete(peer)
    }
  }

  #later(now: number): number {
    return now + this.#options.maxBackoffMs * (0.5 + Math.random() / 2)
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (!this.#running || this.#dialling >= DIALS_AT_ONCE) return
    let next = Infinity
    for (const { busy, nextAt } of this.#recalled.values()) if (!busy) next = Math.min(next, nextAt)
    if (next === Infinity) return
    this.#timer = setTimeout(() => this.#run(), Math.max(0, next - performance.now()))
    this.#timer.unref()
  }

  #run(): void {
    this.#prune()
    const now = performance.now()
    const due = [...this.#recalled].filter(([, { busy, nextAt }]) => !busy && nextAt <= now)
    // Who waits longest comes first, or those that fail would be tried again before others are tried at all.
    due.sort(([, a], [, b]) => a.nextAt - b.nextAt)
    for (const [peer, each] of due.slice(0, DIALS_AT_ONCE - this.#dialling)) void this.#attempt(peer, each)
    this.#arm()
  }

  async #attempt(peer: NodeId, each: Recalled): Promise<void> {
    this.#dialling++
    each.busy = true
    const found = await this.#try(peer, each)
    each.busy = false
    this.#dialling--
    if (!this.#running) return
    if (!found) this.#failed(each)
    else {
      each.failures = 0
      each.goneAt = undefined
      each.nextAt = this.#later(performance.now())
    }
    this.#arm()
  }

  #failed(each: Recalled): void {
    const now = performance.now()
    const { maxBackoffMs } = this.#options
    each.failures++
    each.goneAt ??= now
    // Nothing hurries while others are here.
    const waitMs = backoffMs(each.failures, maxBackoffMs, Math.random())
    each.nextAt = this.#isTogether() ? this.#later(now) : now + waitMs
  }

  /** Whether the peer, or whoever is in its place, is connected. */
  async #try(peer: NodeId, each: Recalled): Promise<boolean> {
    const endpoints = each.addresses.map(endpointOf).filter((endpoint) => endpoint !== undefined)
    const there = [peer, ...endpoints.flatMap((endpoint) => this.#book.at(endpoint))]
    if (there.some((other) => this.#ports.isConnected(other))) return true
    // Where a seed is, the mesh dials.
    const free = endpoints.filter((at) => !this.#seeds.has(multiaddrOf(at)) && !this.#ports.isSelf(at))
    if (free.length === 0) return false
    const identity = each.byIdentity ? `/p2p/${peer}` : ''
    const places = free.map((endpoint) => `${multiaddrOf(endpoint)}${identity}`)
    const result = await this.#ports.dial(places, this.#options.dialTimeoutMs)
    if (result.ok || this.#ports.isConnected(peer)) return true
    each.lastFailure = `${result.failure}: ${result.message}`
    if (result.failure === 'other-identity' && each.byIdentity) {
      // It came back as another node: whoever is there now is welcome.
      each.byIdentity = false
      each.failures = 0
    } else if (!this.#isTogether()) this.#ports.unwell(peer, result.failure, result.message)
    return false
  }
}
