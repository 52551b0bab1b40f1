import type { Clock } from './ports.ts'

/** Refutations within the window after which the other life is no memory but a living process. */
const MAX_REFUTATIONS = 2
/** How long a refutation counts, ms: many rounds of gossip, far less than the time between two restarts that matter. */
const WINDOW_MS = 60_000

/** Longest time that the last beat of a former life may take to reach a peer, ms. */
const UNDER_WAY_MS = 2_000

/**
 * Decides what to do when a peer has met this node's id in a later life. Once or twice that is a memory (a wall
 * clock that was set back, a restored backup): take a later one. A twin takes later ones as well, so the one that
 * has to refute once more yields; it no longer answers, which ends the contest (C40).
 */
export class Identity {
  readonly #clock: Clock
  #refutedAt: number[] = []
  /** When the present life began. */
  #bornAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#bornAt = clock.now()
  }

  /** Whether another life of this id, heard so many ms ago, went on when the present one had begun: a twin, no memory. */
  isTwin(silentMs: number): boolean {
    return this.#clock.now() - this.#bornAt > silentMs + UNDER_WAY_MS
  }

  /** The incarnation to go on in; undefined when this node must yield. */
  refute(seen: number): number | undefined {
    const now = this.#clock.now()
    this.#refutedAt = this.#refutedAt.filter((at) => now - at < WINDOW_MS)
    this.#refutedAt.push(now)
    this.#bornAt = now
    const next = seen + 1
    return this.#refutedAt.length > MAX_REFUTATIONS || !Number.isSafeInteger(next) ? undefined : next
  }
}
