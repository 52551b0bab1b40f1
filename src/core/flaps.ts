/** When going down often is flapping, and for how long it is remembered. */
export interface FlapLimits {
  /** Downs within the window above which a node is flapping. */
  readonly flapLimit: number
  readonly flapWindowMs: number
}

/** What is remembered of a node that went down. */
export interface Flaps {
  /** When it went down last, up to `flapLimit + 1` times, oldest first. */
  readonly downs: readonly number[]
  /** One per down, halved with every window that passes. As of the last of `downs`. */
  readonly score: number
  readonly flapping: boolean
}

const NEVER: Flaps = { downs: [], score: 0, flapping: false }

/**
 * A flapping node is held out until its score has fallen to half of the limit, and no score is above twice the limit, as
 * in the damping of routes (RFC 2439): so the wait grows with the flapping, and ends after one to two windows of peace.
 */
const REUSE = 0.5
const CEILING = 2

/** The flaps after a node went down. Times are ms on one monotonic clock. */
export function wentDown(flaps: Flaps = NEVER, limits: FlapLimits, now: number): Flaps {
  const { flapLimit, flapWindowMs } = limits
  const downs = [...flaps.downs, now].slice(-(flapLimit + 1))
  const score = Math.min(CEILING * flapLimit, scoreAt(flaps, limits, now) + 1)
  const within = downs.filter((at) => now - at <= flapWindowMs).length
  return { downs, score, flapping: flaps.flapping || within > flapLimit }
}

/** The flaps after time has passed. Undefined: there is nothing left to remember. */
export function settle(flaps: Flaps, limits: FlapLimits, now: number): Flaps | undefined {
  if (!flaps.flapping) {
    // No down of it counts any more. Nodes come and go by the thousand, and each that went has such a record.
    return now - (flaps.downs.at(-1) ?? now) > limits.flapWindowMs ? undefined : flaps
  }
  return scoreAt(flaps, limits, now) <= REUSE * limits.flapLimit ? { ...flaps, flapping: false } : flaps
}

/** The score of this moment. */
export const scoreAt = ({ downs, score }: Flaps, { flapWindowMs }: FlapLimits, now: number): number =>
  score * 2 ** -((now - (downs.at(-1) ?? now)) / flapWindowMs)
