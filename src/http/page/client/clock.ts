import type { Clock, Random } from '../../../tracker/ports.ts'

/** The time of the browser. */
export const browserClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimer(callback, ms) {
    const timeout = setTimeout(callback, ms)
    return { cancel: () => clearTimeout(timeout) }
  },
}

export const browserRandom: Random = { next: () => Math.random() }
