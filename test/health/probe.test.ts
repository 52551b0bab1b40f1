import { expect, test } from 'vitest'
import { PROBE_DEFAULTS, type ResolvedProbe } from '../../src/health/options.ts'
import { Probe } from '../../src/health/probe.ts'
import type { Check } from '../../src/health/types.ts'
import { SeededRandom } from '../../src/testing/random.ts'
import { nextUncaught } from '../tracker/uncaught.ts'
import { chance, CountingClock, scripted } from './ward.ts'

/** A probe, what its runs said (with `!` where the verdict turned), and when its check was called. */
function probeOf(
  options: Partial<ResolvedProbe> = {},
  random = chance(0.5),
  check?: (clock: CountingClock) => Check,
) {
  const clock = new CountingClock()
  const script = scripted(clock)
  const ran: string[] = []
  const resolved = { ...PROBE_DEFAULTS, check: check?.(clock) ?? script.check, ...options }
  const probe = new Probe('readiness', resolved, {
    clock,
    random,
    ran: ({ result }, turned) => ran.push(`${result}${turned ? '!' : ''}`),
  })
  return { clock, script, ran, probe }
}

test('the first run comes after the initial delay, each further one a period after the one before', async () => {
  const { clock, script, probe } = probeOf({ initialDelayMs: 250, periodMs: 1_000 })
  await clock.advance(10_000)
  expect(script.calls).toEqual([])
  probe.start()
  await clock.advance(249)
  expect(script.calls).toEqual([])
  await clock.advance(2_001)
  expect(script.calls).toEqual([10_250, 11_250, 12_250])
})

test('without a delay the first run comes at once, but not before start has returned', async () => {
  const { clock, script, probe } = probeOf()
  probe.start()
  expect(script.calls).toEqual([])
  await clock.advance(0)
  expect(script.calls).toEqual([0])
})

test('the period counts from start to start, however long a run takes', async () => {
  const starts: number[] = []
  const slow =
    (clock: CountingClock): Check =>
    () => {
      starts.push(clock.now())
      return new Promise<void>((resolve) => clock.time.setTimer(resolve, 700))
    }
  const { clock, ran, probe } = probeOf({ periodMs: 1_000 }, chance(0.5), slow)
  probe.start()
  await clock.advance(2_700)
  expect(starts).toEqual([0, 1_000, 2_000])
  expect(ran).toEqual(['passed!', 'passed', 'passed'])
})

test('a run longer than the period delays the next one to its own end', async () => {
  const starts: number[] = []
  const slow =
    (clock: CountingClock): Check =>
    () => {
      starts.push(clock.now())
      return new Promise<void>((resolve) => clock.time.setTimer(resolve, 1_500))
    }
  const { clock, ran, probe } = probeOf({ periodMs: 1_000, timeoutMs: 2_000 }, chance(0.5), slow)
  probe.start()
  await clock.advance(3_000)
  expect(starts).toEqual([0, 1_500, 3_000])
  expect(ran).toEqual(['passed!', 'passed'])
})

test.each([
  [0, 900],
  [0.25, 950],
  [0.5, 1_000],
  [1 - 2 ** -32, 1_100],
])('with a jitter of 0.1 a draw of %d makes a period of 1,000 ms one of %d', async (draw, periodMs) => {
  const { clock, script, probe } = probeOf({ periodMs: 1_000, jitter: 0.1 }, chance(draw))
  probe.start()
  await clock.advance(2_500)
  expect(script.calls[1]).toBeCloseTo(periodMs, 5)
})

test('every period is drawn anew, and stays within the jitter', async () => {
  const { clock, script, probe } = probeOf({ periodMs: 1_000, jitter: 0.5 }, new SeededRandom(1))
  probe.start()
  await clock.advance(500_000)
  const periods = script.calls.slice(1).map((at, index) => at - (script.calls[index] ?? NaN))
  expect(Math.min(...periods)).toBeGreaterThanOrEqual(500)
  expect(Math.min(...periods)).toBeLessThan(520)
  expect(Math.max(...periods)).toBeLessThan(1_500)
  expect(Math.max(...periods)).toBeGreaterThan(1_480)
})

test('C53: the verdict turns at the result that completes the row, once', async () => {
  const { clock, script, ran, probe } = probeOf({ initialDelayMs: 500, periodMs: 1_000, rise: 2, fall: 3 })
  probe.start()
  for (const answer of [true, true, true, false, false, true, false, false, false, false, true, true]) {
    script.answer = answer
    await clock.advance(1_000)
  }
  const [p, f] = ['passed', 'probe-failed']
  expect(ran).toEqual([p, 'passed!', p, f, f, p, f, f, 'probe-failed!', f, p, 'passed!'])
})

test('a check that never settles is called once, and fails once a period', async () => {
  const calls: number[] = []
  const hang =
    (clock: CountingClock): Check =>
    () => {
      calls.push(clock.now())
      return new Promise(() => undefined)
    }
  const { clock, ran, probe } = probeOf({ periodMs: 1_000, timeoutMs: 300 }, chance(0.5), hang)
  probe.start()
  await clock.advance(2_299)
  expect(ran).toEqual(['probe-timeout', 'probe-timeout'])
  await clock.advance(1)
  expect(ran).toEqual(['probe-timeout', 'probe-timeout', 'probe-timeout!'])
  expect(calls).toEqual([0])
})

test('stopped, while it waits or while it runs, it leaves no timer, and is never called again', async () => {
  const { clock, script, ran, probe } = probeOf()
  probe.start()
  probe.stop()
  expect(clock.pending).toBe(0)
  await clock.advance(60_000)
  expect([script.calls, ran]).toEqual([[], []])

  const signals: AbortSignal[] = []
  const running = probeOf({}, chance(0.5), () => (signal) => {
    signals.push(signal)
    return new Promise(() => undefined)
  })
  running.probe.start()
  await running.clock.advance(500)
  running.probe.stop()
  expect(running.clock.pending).toBe(0)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  await running.clock.advance(60_000)
  expect([signals.length, running.ran]).toEqual([1, []])
})

test('stopped by what it tells, it leaves no timer', async () => {
  const clock = new CountingClock()
  const script = scripted(clock)
  const probe: Probe = new Probe(
    'liveness',
    { ...PROBE_DEFAULTS, check: script.check },
    { clock, random: chance(0.5), ran: () => probe.stop() },
  )
  probe.start()
  await clock.advance(60_000)
  expect(script.calls).toHaveLength(1)
  expect(clock.pending).toBe(0)
})

test('what a check keeps open is disposed of at the end; an error in that surfaces', async () => {
  const error = new Error('cannot let go')
  const check = Object.assign(() => true, {
    [Symbol.dispose]: () => {
      throw error
    },
  })
  const { probe } = probeOf({ check })
  probe.start()
  const uncaught = nextUncaught()
  probe.stop()
  expect(await uncaught).toBe(error)
})
