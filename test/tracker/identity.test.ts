import { expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/index.ts'
import { Identity } from '../../src/tracker/identity.ts'

test('C40: a later life is refuted twice within a minute, then yielded to', async () => {
  const clock = new VirtualClock()
  const identity = new Identity(clock)
  expect(identity.refute(5)).toBe(6)
  expect(identity.refute(7)).toBe(8)
  expect(identity.refute(9)).toBeUndefined()
  await clock.advance(60_000)
  expect(identity.refute(11)).toBe(12)
})

test('a life that leaves no room for a later one is yielded to', () => {
  expect(new Identity(new VirtualClock()).refute(Number.MAX_SAFE_INTEGER)).toBeUndefined()
})

test('C40 C45: a life heard since the present one began is a twin, a former one is a memory', async () => {
  const clock = new VirtualClock()
  await clock.advance(5_000)
  const identity = new Identity(clock)
  await clock.advance(10_000)
  expect(identity.isTwin(7_999)).toBe(true)
  // Its last beat may have been under way for two seconds.
  expect(identity.isTwin(8_000)).toBe(false)
  expect(identity.isTwin(60_000)).toBe(false)
  identity.refute(5)
  expect(identity.isTwin(0)).toBe(false)
})
