import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { feelWell, MAX_AWARENESS, patience } from '../../src/core/awareness.ts'
import { scoreAt, settle, wentDown, type Flaps, type FlapLimits } from '../../src/core/flaps.ts'

const LIMITS: FlapLimits = { flapLimit: 5, flapWindowMs: 60_000 }

const downAt = (...times: readonly number[]): Flaps => {
  let flaps: Flaps | undefined
  for (const at of times) flaps = wentDown(flaps, LIMITS, at)
  if (flaps === undefined) throw new Error('never down')
  return flaps
}

/** How long after the last down a flapping node is steady, in windows. */
function windowsOfPeace(flaps: Flaps): number {
  const last = flaps.downs.at(-1) ?? 0
  for (let windows = 0; ; windows += 0.01) {
    if (settle(flaps, LIMITS, last + windows * LIMITS.flapWindowMs)?.flapping !== true) return windows
  }
}

describe('a node that goes down', () => {
  test('five times within the window is not flapping, six times is, to the ms', () => {
    expect(downAt(0, 10, 20, 30, 40).flapping).toBe(false)
    expect(downAt(0, 10, 20, 30, 40, 50).flapping).toBe(true)
    expect(downAt(0, 12_000, 24_000, 36_000, 48_000, 60_000).flapping).toBe(true)
    expect(downAt(0, 12_000, 24_000, 36_000, 48_000, 60_001).flapping).toBe(false)
  })

  test('for ever, but seldom, is never flapping', () => {
    const times = Array.from({ length: 1_000 }, (_, index) => index * 12_001)
    expect(downAt(...times).flapping).toBe(false)
  })
})

describe('a flapping node is steady', () => {
  test('after one to two windows of peace, the later the more it flapped', () => {
    const little = windowsOfPeace(downAt(0, 1, 2, 3, 4, 5))
    const much = windowsOfPeace(downAt(...Array.from({ length: 100 }, (_, index) => index)))
    // Halved once a window: from 6 to 2.5, and from the ceiling of 10 to 2.5.
    expect(little).toBeCloseTo(Math.log2(6 / 2.5), 1)
    expect(much).toBeCloseTo(2, 1)
  })

  test('and one more down on the way makes it wait longer', () => {
    const flaps = downAt(0, 1, 2, 3, 4, 5)
    expect(windowsOfPeace(wentDown(flaps, LIMITS, 60_000))).toBeGreaterThan(0.5)
    expect(wentDown(flaps, LIMITS, 60_000).flapping).toBe(true)
  })
})

test('a node that went down once is remembered for a window, to the ms', () => {
  const flaps = downAt(0)
  expect(settle(flaps, LIMITS, LIMITS.flapWindowMs)).toBe(flaps)
  expect(settle(flaps, LIMITS, LIMITS.flapWindowMs + 1)).toBeUndefined()
})

test('what is remembered is bounded, and ends', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100_000), { minLength: 1 }), (pauses) => {
      let at = 0
      let flaps: Flaps | undefined
      for (const pause of pauses) {
        at += pause
        flaps = wentDown(flaps, LIMITS, at)
        expect(flaps.downs.length).toBeLessThanOrEqual(LIMITS.flapLimit + 1)
        expect(scoreAt(flaps, LIMITS, at)).toBeLessThanOrEqual(2 * LIMITS.flapLimit)
      }
      const steady = flaps && settle(flaps, LIMITS, at + 2.1 * LIMITS.flapWindowMs)
      expect(steady && settle(steady, LIMITS, at + 2.1 * LIMITS.flapWindowMs)).toBeUndefined()
    }),
  )
})

test('awareness of our own ill health rises and falls by one, from 0 to 8, and makes patient', () => {
  expect(feelWell(0, 'answered')).toBe(0)
  expect(feelWell(0, 'late')).toBe(1)
  expect(feelWell(3, 'alone')).toBe(4)
  expect(feelWell(3, 'answered')).toBe(2)
  expect(feelWell(MAX_AWARENESS, 'late')).toBe(8)
  expect([0, 1, 8].map((score) => patience(3, score))).toEqual([3, 6, 27])
})
