import type { NodeId } from '../../core/frame.ts'

/** Looks in a row that must find a gossip stream missing: one may fall between the loss of a stream and its event. */
const LOOKS = 2
/** Messages in a row of a neighbour that all came by way of others, when it should have sent them here itself. */
const FIRST_DETOURS = 8
const MOST_DETOURS = 1_024

interface Watched {
  /** Looks in a row that found it not well. */
  sick: number
  detours: number
  /** Doubles with every cure, so that a slow but sound link is not hung up again and again. */
  detoursAllowed: number
}

export interface WatchdogRules {
  readonly periodMs: number
  neighbours(): readonly NodeId[]
  isHealthy(peer: NodeId): boolean
  /** Whether publishers send to every neighbour, so that a detour means something. */
  readonly floods: boolean
  /** The connection must be made anew. */
  cure(peer: NodeId, why: string): void
  /** Once per period, after the neighbours were looked at. */
  tidy(): void
}

/**
 * Finds neighbours that are connected but silent. libp2p does not open a lost gossip stream again, so without
 * this a pair that lost one would hear each other only through others, or not at all.
 */
export class Watchdog {
  readonly #rules: WatchdogRules
  readonly #watched = new Map<NodeId, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(rules: WatchdogRules) {
    this.#rules = rules
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), this.#rules.periodMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** A message of a neighbour arrived. */
  heard(author: NodeId, via: NodeId): void {
    const watched = this.#watched.get(author)
    if (watched !== undefined) watched.detours = via === author ? 0 : watched.detours + 1
  }

  #look(): void {
    const neighbours = new Set(this.#rules.neighbours())
    for (const peer of this.#watched.keys()) if (!neighbours.has(peer)) this.#rest(peer)
    for (const peer of neighbours) {
      const watched = this.#watched.get(peer) ?? { sick: 0, detours: 0, detoursAllowed: FIRST_DETOURS }
      this.#watched.set(peer, watched)
      watched.sick = this.#rules.isHealthy(peer) ? 0 : watched.sick + 1
      if (watched.sick >= LOOKS) {
        watched.sick = 0
        this.#rules.cure(peer, 'its gossip stream is not open both ways')
      } else if (this.#rules.floods && watched.detours >= watched.detoursAllowed) {
        watched.detours = 0
        watched.detoursAllowed = Math.min(MOST_DETOURS, 2 * watched.detoursAllowed)
        this.#rules.cure(peer, 'its messages arrive only by way of others')
      }
    }
    this.#rules.tidy()
  }

  /** A peer that is away keeps only what was learned of its link, and that only if there is something to keep. */
  #rest(peer: NodeId): void {
    const watched = this.#watched.get(peer)
    if (watched === undefined || watched.detoursAllowed === FIRST_DETOURS) this.#watched.delete(peer)
    else watched.detours = watched.sick = 0
  }

  forget(peer: NodeId): void {
    this.#watched.delete(peer)
  }
}
