import { expect, test } from 'vitest'
import { GenerationCache } from '../../src/registry/generation-cache.ts'

test('what is in use stays, what is not goes, and the size is bounded', () => {
  const cache = new GenerationCache<string, number>(10)
  cache.set('in use', 0)
  cache.set('once', 1)
  let largest = 0
  for (let i = 0; i < 1_000; i++) {
    cache.set(`filler ${i}`, i)
    expect(cache.get('in use')).toBe(0)
    largest = Math.max(largest, cache.size)
  }
  expect(cache.get('once')).toBeUndefined()
  expect(cache.get('filler 999')).toBe(999)
  expect(largest).toBeLessThanOrEqual(20)
  expect(largest).toBeGreaterThanOrEqual(10)
})

test('__proto__ is a key like any other, and so is undefined', () => {
  const cache = new GenerationCache<string | undefined, string>(2)
  expect(cache.get('__proto__')).toBeUndefined()
  cache.set('__proto__', 'a')
  cache.set(undefined, 'b')
  expect(cache.get('__proto__')).toBe('a')
  expect(cache.get(undefined)).toBe('b')
})
