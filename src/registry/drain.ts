import type { Clock } from '../tracker/ports.ts'
import { sleep } from '../tracker/sleep.ts'
import { argumentError, checkKeys } from './check.ts'
import { MAX_TIMER_MS, numberFault } from './service-fault.ts'

/** How an instance, or a whole registry, goes without a call being lost. */
export interface DrainOptions {
  /** The longest it may take, ms. Default 10,000. */
  readonly graceMs?: number | undefined
  /**
   * How long others have to hear of it before `until` is asked, ms; as long again where this process was away meanwhile.
   * Default 1,000; never more than `graceMs`.
   */
  readonly settleMs?: number | undefined
  /**
   * Returns, or resolves, when no call is in flight any more. Called once. The signal aborts when `graceMs` are over.
   * Default: nobody knows, so all of `graceMs` is waited for.
   */
  readonly until?: ((signal: AbortSignal) => unknown) | undefined
}

/** What `drain` and `shutdown` do when they are not told. A neighbour hears of a change in 25 ms, a busy one in some 100. */
const DRAIN_DEFAULTS = { graceMs: 10_000, settleMs: 1_000 } as const

/** A timer up to this late is ordinary slack, ms. */
const SLACK_MS = 50

export const DRAIN_FIELDS = ['graceMs', 'settleMs', 'until'] as const

/** Throws `ROLLCALL_INVALID_ARGUMENT`. */
export function checkDrain(options: DrainOptions): void {
  checkKeys('The options', options, DRAIN_FIELDS)
  for (const option of ['graceMs', 'settleMs'] as const) {
    const value = options[option]
    const fault = value === undefined ? undefined : numberFault(value, 0, MAX_TIMER_MS)
    if (fault !== undefined) throw argumentError(`The option ${option}`, value, fault)
  }
  const { until } = options
  if (until !== undefined && typeof until !== 'function') {
    throw argumentError('The option until', until, 'must be a function')
  }
}

/**
 * Waits until nothing is in flight, at most as long as the options say, or until `over` aborts. Rejects with what `until`
 * throws. Leaves neither a timer nor a listener behind.
 */
export async function untilDrained(
  clock: Clock,
  { graceMs = DRAIN_DEFAULTS.graceMs, settleMs = DRAIN_DEFAULTS.settleMs, until }: DrainOptions,
  over: AbortSignal,
): Promise<void> {
  const bound = new AbortController()
  const { signal } = bound
  const abort = (): void => bound.abort()
  const timer = clock.setTimer(abort, graceMs)
  over.addEventListener('abort', abort)
  if (over.aborted) abort()
  const atBound = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const settled = settle(clock, Math.min(settleMs, graceMs), signal).then(
    () => (until === undefined ? atBound : until(signal)),
    () => undefined,
  )
  try {
    await Promise.race([settled, atBound])
  } finally {
    timer.cancel()
    over.removeEventListener('abort', abort)
    abort()
  }
}

/** Waits until calls that were made before others heard of it have been read. Rejects when the signal aborts. */
async function settle(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let lateMs = Infinity
  while (lateMs > SLACK_MS) {
    const dueAt = clock.now() + ms
    await sleep(clock, ms, signal)
    lateMs = clock.now() - dueAt
  }
  // Timers come before what has arrived: one turn more, in which that is read.
  await sleep(clock, 0, signal)
}
