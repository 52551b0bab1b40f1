import { expect, test } from 'vitest'
import { eventLoopProbe } from '../../src/health/probes/event-loop.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { CountingClock } from './ward.ts'

const NEVER = new AbortController().signal
const LOOK_MS = 20

/** A check of a process whose event loop a test can block. */
function watched(maxLagMs: number) {
  const time = new VirtualClock()
  const clock = time.node()
  const check = eventLoopProbe({ maxLagMs, clock })
  /** Lets the loop run free, then blocks it, and runs it on for as long as is asked. */
  const block = async (ms: number, freeMs = 1_000): Promise<void> => {
    clock.stall(ms)
    await time.advance(ms + freeMs)
  }
  return { time, block, run: () => check(NEVER) }
}

test('passes while the loop is free, the first time included', async () => {
  const { time, run } = watched(1)
  for (let n = 0; n < 10; n++) {
    expect(run()).toBeUndefined()
    await time.advance(999)
  }
})

test.each([
  // A block from one look to the next counts as that much shorter.
  [100 + LOOK_MS, undefined],
  [100 + LOOK_MS + 1, 'the event loop was blocked for 101 ms'],
  [5_000, 'the event loop was blocked for 4980 ms'],
])('with a limit of 100 ms, blocked for %i ms: %s', async (ms, message) => {
  const { block, run } = watched(100)
  run()
  await block(ms)
  if (message === undefined) expect(run()).toBeUndefined()
  else expect(run).toThrow(message)
})

test('the worst block since the run before counts, once', async () => {
  const { block, run } = watched(100)
  run()
  await block(50)
  await block(300)
  await block(50)
  expect(run).toThrow('blocked for 280 ms')
  expect(run()).toBeUndefined()
  await block(50)
  expect(run()).toBeUndefined()
})

test('a block counts that begins right after a run, or ends right before one, once', async () => {
  const { time, block, run } = watched(100)
  run()
  await block(300, 0)
  expect(run).toThrow('blocked for 280 ms')
  await time.advance(1_000)
  expect(run()).toBeUndefined()
})

test('a block counts that the look which would see it has not come after yet', () => {
  let now = 0
  const clock = Object.assign(new CountingClock(), { now: () => now })
  const check = eventLoopProbe({ maxLagMs: 100, clock })
  check(NEVER)
  now = 300
  expect(() => check(NEVER)).toThrow('blocked for 280 ms')
  expect(check(NEVER)).toBeUndefined()
})

test('before the first run, and disposed of, it leaves no timer; one more run begins anew', async () => {
  const clock = new CountingClock()
  const check = eventLoopProbe({ maxLagMs: 100, clock })
  expect(clock.pending).toBe(0)
  check(NEVER)
  check(NEVER)
  expect(clock.pending).toBe(1)
  await clock.advance(1_000)
  check[Symbol.dispose]()
  check[Symbol.dispose]()
  expect(clock.pending).toBe(0)
  await clock.advance(60_000)
  expect(check(NEVER)).toBeUndefined()
  expect(clock.pending).toBe(1)
  await clock.advance(60_000)
  expect(check(NEVER)).toBeUndefined()
  check[Symbol.dispose]()
})

test('by default it looks at the loop of this process, whose life it does not prolong', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  using check = eventLoopProbe({ maxLagMs: 500 })
  check(NEVER)
  expect(timers()).toBe(before)
  const end = performance.now() + 700
  while (performance.now() < end);
  expect(() => check(NEVER)).toThrow('the event loop was blocked')
  await new Promise(setImmediate)
})

test.each([
  [{ maxLagMs: 0 }, 'The option maxLagMs is 0: must be a number above 0'],
  [{ maxLagMs: Infinity }, 'The option maxLagMs is Infinity: must be a number above 0'],
  [{ maxLagMs: '5' }, 'The option maxLagMs is "5": must be a number above 0'],
  [{}, 'The option maxLagMs is undefined: must be a number above 0'],
  [{ maxLagMs: 5, p99: 5 }, 'The options has an unknown field "p99"'],
])('%j is refused: %s', (options, message) => {
  expect(() => eventLoopProbe(options as { maxLagMs: number })).toThrow(
    expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT', message }),
  )
})
