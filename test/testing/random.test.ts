import { describe, expect, test } from 'vitest'
import { SeededRandom } from '../../src/testing/random.ts'

const draw = (random: SeededRandom, count: number): number[] =>
  Array.from({ length: count }, () => random.next())

describe('SeededRandom', () => {
  test('gives the numbers of the reference implementation', () => {
    // https://prng.di.unimi.it/xoshiro128starstar.c, compiled and run from this state.
    const random = new SeededRandom(0, [1, 2, 3, 4])
    const reference = [11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849]
    expect(reference.map(() => random.uint32())).toEqual(reference)
  })

  test('the same seed gives the same numbers, another seed others', () => {
    expect(draw(new SeededRandom(7), 50)).toEqual(draw(new SeededRandom(7), 50))
    expect(draw(new SeededRandom(7), 50)).not.toEqual(draw(new SeededRandom(8), 50))
  })

  test('a fork neither draws from its parent nor follows it', () => {
    const parent = new SeededRandom(7)
    const fork = draw(parent.fork('x'), 5)
    expect(draw(parent, 5)).toEqual(draw(new SeededRandom(7), 5))
    expect(draw(parent.fork('x'), 5)).toEqual(fork)
    expect(draw(parent.fork('y'), 5)).not.toEqual(fork)
  })

  test('is spread evenly over [0, 1), also across neighbouring seeds', () => {
    for (const numbers of [
      draw(new SeededRandom(1), 20_000),
      Array.from({ length: 20_000 }, (_, seed) => new SeededRandom(seed).next()),
    ]) {
      const buckets = new Array<number>(10).fill(0)
      for (const number of numbers) buckets[Math.floor(number * 10)]! += 1
      // 2,000 expected each; 5 standard deviations of a binomial are 212.
      for (const count of buckets) expect(Math.abs(count - 2_000)).toBeLessThan(212)
    }
  })

  test('picks, compares and scales', () => {
    const random = new SeededRandom('a word is a seed too')
    const picked = new Set(Array.from({ length: 200 }, () => random.pick(['a', 'b', 'c'])))
    expect(picked).toEqual(new Set(['a', 'b', 'c']))
    expect(() => random.pick([])).toThrow(RangeError)
    const scaled = Array.from({ length: 200 }, () => random.between(5, 6))
    expect(scaled.every((value) => value >= 5 && value < 6)).toBe(true)
    expect([random.chance(0), random.chance(1)]).toEqual([false, true])
  })
})
