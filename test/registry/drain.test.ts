import { describe, expect, test } from 'vitest'
import { checkDrain, untilDrained, type DrainOptions } from '../../src/registry/drain.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { Timer } from '../../src/tracker/ports.ts'
import { codeOf } from '../wire/codes.ts'

/** Counts the timers that are set and have neither run nor been cancelled. */
class CountingClock extends VirtualClock {
  timers = 0

  override setTimer(callback: () => void, ms: number): Timer {
    this.timers++
    let open = true
    const settle = (): void => {
      if (open) this.timers--
      open = false
    }
    const timer = super.setTimer(() => {
      settle()
      callback()
    }, ms)
    return {
      cancel() {
        settle()
        timer.cancel()
      },
    }
  }
}

/** Waits on virtual time. `endedAt` is when it was over. */
function draining(options: DrainOptions) {
  const clock = new CountingClock()
  const over = new AbortController()
  const state: { endedAt: number | undefined; error: unknown } = { endedAt: undefined, error: undefined }
  const done = untilDrained(clock, options, over.signal)
    .catch((error: unknown) => (state.error = error))
    .then(() => (state.endedAt = clock.now()))
  return { clock, over, state, done }
}

describe('a drain', () => {
  test('without until takes the whole grace, to the ms', async () => {
    const { clock, state } = draining({ graceMs: 1_000 })
    const startedAt = clock.now()
    await clock.advance(999)
    expect(state.endedAt).toBeUndefined()
    await clock.advance(1)
    expect(state.endedAt).toBe(startedAt + 1_000)
    expect(clock.timers).toBe(0)
  })

  test('asks until once, when others have had time to hear of it, and ends with its answer', async () => {
    const asked: number[] = []
    let finish: () => void = () => undefined
    const { clock, state } = draining({
      graceMs: 1_000,
      settleMs: 100,
      until: () => {
        asked.push(clock.now())
        return new Promise<void>((resolve) => (finish = resolve))
      },
    })
    const startedAt = clock.now()
    await clock.advance(99)
    expect(asked).toEqual([])
    await clock.advance(301)
    expect(asked).toEqual([startedAt + 100])
    expect(state.endedAt).toBeUndefined()
    finish()
    await clock.advance(0)
    expect(state.endedAt).toBe(startedAt + 400)
    expect(clock.timers).toBe(0)
  })

  test('gives others their time anew where this process was away, for it has calls to read that came meanwhile', async () => {
    const clock = new VirtualClock()
    const node = clock.node()
    const asked: number[] = []
    const options = { graceMs: 10_000, settleMs: 100, until: () => void asked.push(clock.now()) }
    const done = untilDrained(node, options, new AbortController().signal)
    await clock.advance(90)
    node.stall(300)
    await clock.advance(300)
    expect(asked).toEqual([])
    await clock.advance(100)
    await done
    expect(asked).toEqual([490])
  })

  test('ends at the grace though until does not, and tells it so', async () => {
    let told: AbortSignal | undefined
    const { clock, state } = draining({
      graceMs: 500,
      settleMs: 100,
      until: (signal) => {
        told = signal
        return new Promise(() => undefined)
      },
    })
    const startedAt = clock.now()
    await clock.advance(499)
    expect([state.endedAt, told?.aborted]).toEqual([undefined, false])
    await clock.advance(1)
    expect([state.endedAt, told?.aborted]).toEqual([startedAt + 500, true])
  })

  test('never waits longer than the grace for others to hear of it', async () => {
    const { clock, state } = draining({ graceMs: 50, settleMs: 100, until: () => undefined })
    const startedAt = clock.now()
    await clock.advance(50)
    expect(state.endedAt).toBe(startedAt + 50)
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ] as const)('rejects when until %s', async (_how, until) => {
    const { clock, state } = draining({ graceMs: 1_000, settleMs: 100, until })
    await clock.advance(100)
    expect(state.endedAt).toBeDefined()
    expect(state.error).toEqual(new Error('broken'))
    expect(clock.timers).toBe(0)
  })

  test('ends at once when what drains has ended otherwise', async () => {
    for (const before of [true, false]) {
      const { clock, over, state } = draining({ graceMs: 1_000, until: () => new Promise(() => undefined) })
      const startedAt = clock.now()
      if (!before) await clock.advance(300)
      over.abort()
      await clock.advance(0)
      expect(state.endedAt).toBe(startedAt + (before ? 0 : 300))
      expect(clock.timers).toBe(0)
    }
  })

  test.each([[{ graceMs: -1 }], [{ graceMs: NaN }], [{ settleMs: '1' }], [{ until: true }], [{ grace: 1 }]])(
    'refuses %j',
    (options) => {
      expect(codeOf(() => checkDrain(options as DrainOptions))).toBe('ROLLCALL_INVALID_ARGUMENT')
    },
  )
})
