import type { Clock } from './ports.ts'

/** Resolves after `ms` on the clock, 0 for a later turn of the event loop. Rejects with the signal's reason when it aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      timer.cancel()
      reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)))
    }
    const timer = clock.setTimer(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
