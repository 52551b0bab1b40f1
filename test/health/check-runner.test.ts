import { expect, test } from 'vitest'
import { CheckRunner, type Outcome } from '../../src/health/check-runner.ts'
import type { Check } from '../../src/health/types.ts'
import { CountingClock } from './ward.ts'

const TIMEOUT_MS = 100

/** A runner whose runs are noted as they end, and the signals its check was given. */
function runnerOf(check: Check) {
  const clock = new CountingClock()
  const outcomes: (Outcome & { at: number })[] = []
  const signals: AbortSignal[] = []
  const noting: Check = (signal) => {
    signals.push(signal)
    return check(signal)
  }
  const runner = new CheckRunner(noting, TIMEOUT_MS, clock)
  const start = (): void => runner.start((outcome) => outcomes.push({ ...outcome, at: clock.now() }))
  return { clock, outcomes, signals, runner, start }
}

/** Settles so many ms after it was called. */
const after =
  (clock: () => CountingClock, ms: number, settle: (resolve: (value: unknown) => void) => void) =>
  (): Promise<unknown> =>
    new Promise((resolve) => clock().time.setTimer(() => settle(resolve), ms))

const thenable = (then: (resolve: (value: unknown) => void) => void): unknown => ({ then })

test.each<[string, Check]>([
  ['true', () => true],
  ['nothing', () => undefined],
  ['null', () => null],
  ['0', () => 0],
  ['a promise of nothing', () => Promise.resolve()],
  ['a thenable', () => thenable((resolve) => resolve('well'))],
])('a check that gives %s passes', async (_, check) => {
  const { clock, outcomes, start } = runnerOf(check)
  start()
  await clock.advance(0)
  expect(outcomes).toEqual([{ result: 'passed', error: undefined, at: 0 }])
  expect(clock.pending).toBe(0)
})

const broken = new Error('broken')
const raise = (): never => {
  throw broken
}

test.each<[string, Check, unknown]>([
  ['gives false', () => false, undefined],
  ['promises false', () => Promise.resolve(false), undefined],
  ['is a thenable of false', () => thenable((resolve) => resolve(false)), undefined],
  ['throws', raise, broken],
  ['rejects', () => Promise.reject(broken), broken],
  ['has a then that throws', () => thenable(raise), broken],
])('a check that %s fails', async (_, check, error) => {
  const { clock, outcomes, start } = runnerOf(check)
  start()
  await clock.advance(0)
  expect(outcomes).toEqual([{ result: 'probe-failed', error, at: 0 }])
  expect(clock.pending).toBe(0)
})

test('an answer one ms before the deadline counts, and the signal stays as it was', async () => {
  const { clock, outcomes, signals, start } = runnerOf(
    after(
      () => clock,
      TIMEOUT_MS - 1,
      (resolve) => resolve(true),
    ),
  )
  start()
  await clock.advance(1_000)
  expect(outcomes).toEqual([{ result: 'passed', error: undefined, at: TIMEOUT_MS - 1 }])
  expect(signals[0]?.aborted).toBe(false)
})

test.each([
  ['at the deadline', TIMEOUT_MS, true],
  ['one ms after it', TIMEOUT_MS + 1, true],
  ['with false, after it', TIMEOUT_MS + 50, false],
])('an answer %s comes too late: the run failed at the deadline', async (_, ms, answer) => {
  const { clock, outcomes, signals, start } = runnerOf(
    after(
      () => clock,
      ms,
      (resolve) => resolve(answer),
    ),
  )
  start()
  await clock.advance(TIMEOUT_MS - 1)
  expect(signals[0]?.aborted).toBe(false)
  await clock.advance(1)
  expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' })
  await clock.advance(1_000)
  expect(outcomes).toEqual([
    { result: 'probe-timeout', error: signals[0]?.reason as unknown, at: TIMEOUT_MS },
  ])
  expect(clock.pending).toBe(0)
})

test('a late rejection is discarded, and never unhandled', async () => {
  const { clock, outcomes, start } = runnerOf((signal) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(broken)))
  })
  start()
  await clock.advance(TIMEOUT_MS)
  await new Promise(setImmediate)
  expect(outcomes.map(({ result }) => result)).toEqual(['probe-timeout'])
})

test('a check that blocks past its deadline has failed, whatever it returns then', async () => {
  let now = 0
  const clock = Object.assign(new CountingClock(), { now: () => now })
  const outcomes: Outcome[] = []
  const block = (): boolean => {
    now = TIMEOUT_MS
    return true
  }
  new CheckRunner(block, TIMEOUT_MS, clock).start((outcome) => outcomes.push(outcome))
  await new Promise(setImmediate)
  expect(outcomes).toMatchObject([{ result: 'probe-timeout', error: { name: 'TimeoutError' } }])
  expect(clock.pending).toBe(0)
})

test('a run waits for a call that outlived the run before, and has its own deadline meanwhile', async () => {
  const settle: ((value: unknown) => void)[] = []
  const { clock, outcomes, signals, start } = runnerOf(() => new Promise((resolve) => settle.push(resolve)))
  start()
  await clock.advance(TIMEOUT_MS)
  start()
  await clock.advance(TIMEOUT_MS - 1)
  expect([signals.length, outcomes.length]).toEqual([1, 1])
  await clock.advance(1)
  start()
  expect(outcomes.map(({ result, at }) => `${at} ${result}`)).toEqual([
    '100 probe-timeout',
    '200 probe-timeout',
  ])

  await clock.advance(50)
  settle[0]?.(false)
  await clock.advance(0)
  expect([signals.length, outcomes.length]).toEqual([2, 2])
  settle[1]?.(true)
  await clock.advance(0)
  expect(outcomes[2]).toMatchObject({ result: 'passed', at: 250 })
  expect(clock.pending).toBe(0)
})

test('a call that settles between two runs holds up nobody', async () => {
  const settle: ((value: unknown) => void)[] = []
  const { clock, signals, start } = runnerOf(() => new Promise((resolve) => settle.push(resolve)))
  start()
  await clock.advance(TIMEOUT_MS)
  settle[0]?.(true)
  await clock.advance(1)
  expect(signals).toHaveLength(1)
  start()
  expect(signals).toHaveLength(2)
})

test('cancelled, a run is aborted and calls nobody back, whatever its check does', async () => {
  const { clock, outcomes, signals, runner, start } = runnerOf(
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(broken))),
  )
  start()
  runner.cancel()
  expect(signals[0]?.reason).toMatchObject({ name: 'AbortError' })
  expect(clock.pending).toBe(0)
  runner.cancel()
  await clock.advance(1_000)
  expect(outcomes).toEqual([])
})

test('a check that cancels its own run while it is called leaves no timer', async () => {
  const { clock, outcomes, runner, start } = runnerOf(() => runner.cancel())
  start()
  expect(clock.pending).toBe(0)
  await clock.advance(1_000)
  expect(outcomes).toEqual([])
})
