import type { Clock, Random, Timer } from './ports.ts'

/** `setTimeout` fires at once above this (2^31 - 1 ms, 24.8 days). */
const MAX_TIMEOUT_MS = 2_147_483_647

/** A pending timer keeps the process alive. */
export const systemClock: Clock = systemClockOf((timeout) => timeout)

/** As `systemClock`, but a pending timer does not keep the process alive. */
export const backgroundClock: Clock = systemClockOf((timeout) => timeout.unref())

export const systemRandom: Random = { next: () => Math.random() }

function systemClockOf(adjust: (timeout: NodeJS.Timeout) => NodeJS.Timeout): Clock {
  return {
    now: () => performance.now(),
    wallNow: () => Date.now(),
    setTimer: (callback, ms) => startTimer(callback, ms, adjust),
  }
}

function startTimer(
  callback: () => void,
  ms: number,
  adjust: (timeout: NodeJS.Timeout) => NodeJS.Timeout,
): Timer {
  let leftMs = ms
  const next = (): NodeJS.Timeout => {
    const stepMs = Math.min(leftMs, MAX_TIMEOUT_MS)
    leftMs -= stepMs
    return adjust(setTimeout(fire, stepMs))
  }
  const fire = (): void => {
    if (leftMs > 0) timeout = next()
    else callback()
  }
  let timeout = next()
  return { cancel: () => clearTimeout(timeout) }
}
