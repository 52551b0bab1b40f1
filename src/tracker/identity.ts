import type { Clock } from './ports.ts'

/** Refutations within the window after which the other life is no memory but a living process. */
const MAX_REFUTATIONS = 2
/** How long a refutation counts, ms: many rounds of gossip, far less than the time between two restarts that matter. */
const WINDOW_MS = 60_000

/**
 * Decides what to do when a peer has met this node's id in a later life. Once or twice that is a memory (a wall
 * clock that was set back, a restored backup): take a later one. A twin takes later ones as well, so the one that
 * has to refute once more yields; it no longer answers, which ends the contest (C40).
 */
export class Identity {
  readonly #clock: Clock
  #refutedAt: number[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The incarnation to go on in; undefined when this node must yield. */
  refute(seen: number): number | undefined {
    const now = this.#clock.now()
    this.#refutedAt = this.#refutedAt.filter((at) => now - at < WINDOW_MS)
    this.#refutedAt.push(now)
    const next = seen + 1
    return this.#refutedAt.length > MAX_REFUTATIONS || !Number.isSafeInteger(next) ? undefined : next
  }
}
