import { argumentError, checkKeys } from '../../tracker/check.ts'
import type { Clock, Timer } from '../../tracker/ports.ts'
import { backgroundClock } from '../../tracker/system.ts'
import type { Check } from '../types.ts'

export interface EventLoopProbeOptions {
  /** Longest time that the event loop may have been blocked between two runs of the check, ms. */
  readonly maxLagMs: number
  /** Default: the system's monotonic clock, with a timer that does not keep the process alive. */
  readonly clock?: Clock | undefined
}

/** How often the loop is looked at, ms. A block counts as up to this much shorter than it was; one look costs a microsecond. */
const LOOK_MS = 20

/**
 * A check that fails when the event loop of this process was blocked for longer than `maxLagMs` since the check ran
 * last. Looking begins with the first run, which passes, and ends when the check is disposed of, as happens when
 * its probe stops; one more run begins anew. Throws `ROLLCALL_INVALID_ARGUMENT`.
 */
export function eventLoopProbe(options: EventLoopProbeOptions): Check & Disposable {
  checkKeys('The options', options, ['maxLagMs', 'clock'])
  const { maxLagMs, clock = backgroundClock } = options
  if (!(Number.isFinite(maxLagMs) && maxLagMs > 0)) {
    throw argumentError('The option maxLagMs', maxLagMs, 'must be a number above 0')
  }
  let timer: Timer | undefined
  let lookedAt = 0
  let worstMs = 0

  const look = (): void => {
    const now = clock.now()
    worstMs = Math.max(worstMs, now - lookedAt - LOOK_MS)
    lookedAt = now
  }
  const lookOn = (): void => {
    look()
    timer = clock.setTimer(lookOn, LOOK_MS)
  }
  const check = (): void => {
    if (timer === undefined) {
      lookedAt = clock.now()
      lookOn()
    }
    // A block that has ended just now may have kept the timer from firing yet.
    look()
    const lagMs = worstMs
    worstMs = 0
    if (lagMs > maxLagMs) throw new Error(`the event loop was blocked for ${Math.round(lagMs)} ms`)
  }
  const dispose = (): void => {
    timer?.cancel()
    timer = undefined
  }
  return Object.assign(check, { [Symbol.dispose]: dispose })
}
