import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SmoothTurns } from '../../src/registry/balance/smooth-turns.ts'
import { Weighted } from '../../src/registry/balance/weighted.ts'
import type { Instance, LookupHit, LookupOptions } from '../../src/registry/types.ts'
import { SeededRandom } from '../../src/testing/random.ts'
import { entry, Fed } from './replica.ts'

const WEIGHTED: LookupOptions = { balance: 'weighted' }

/** Instances a, b, c, … of these weights, as a selector has found them. */
const found = (weights: readonly number[], ids = 'abcdefghij'): LookupHit[] =>
  weights.map((weight, at) => ({
    ok: true,
    service: { id: ids[at], weight } as Instance,
    stale: false,
    degraded: false,
  }))

const draw = (balancer: Weighted, hits: readonly LookupHit[], count: number): string =>
  Array.from({ length: count }, () => hits[balancer.pick(hits)]?.service.id).join('')

/** How often an id is in a sequence. */
const count = (turns: string, id: string): number => turns.split(id).length - 1

const counts = (turns: string, ids: string): number[] => ids.split('').map((id) => count(turns, id))

/** Chance that always draws the same. */
const never = { next: () => 0 }

const sequence = (weights: readonly number[], count: number): string =>
  draw(new Weighted(never), found(weights), count)

describe('turns', () => {
  // That of 5, 1 and 1 is nginx's own example; the others were made by hand.
  test.each<[number[], string]>([
    [[5, 1, 1], 'aabacaa'],
    [[1, 1, 1], 'abcabc'],
    [[2, 1], 'abaaba'],
    [[1, 2, 3], 'cbacbc'],
    [[3], 'aaa'],
    [[4, 3, 2, 1], 'abcabdacba'],
  ])('%j: %s', (weights, expected) => {
    expect(sequence(weights, expected.length)).toBe(expected)
    expect(sequence(weights, expected.length * 3)).toBe(expected.repeat(3))
  })

  test.each([
    [[5, 1, 1], 0.1],
    [[1, 2, 3], 0.1],
    [[4, 3, 2, 1], 0.000_001],
    [[4, 3, 2, 1], 1_000_000_000_000],
    [[4, 3, 2, 1], 1e-9],
  ])('%j have the same turns when each is %d times as much', (weights, factor) => {
    const scaled = weights.map((weight) => Number((weight * factor).toPrecision(12)))
    expect(sequence(scaled, 2_000)).toBe(sequence(weights, 2_000))
  })

  test('whatever the weights, nobody is ever two turns ahead of its share, or behind it', () => {
    const weight = fc.oneof(
      fc.integer({ min: 1, max: 100 }),
      fc.double({ min: 0.01, max: 100, noNaN: true }),
      fc.integer({ min: 1, max: 1_000_000 }).map((millionths) => millionths / 1_000_000),
    )
    fc.assert(
      fc.property(fc.array(weight, { minLength: 1, maxLength: 8 }), (weights) => {
        const hits = found(weights)
        const balancer = new Weighted(never)
        const total = weights.reduce((sum, each) => sum + each, 0)
        const turns = weights.map(() => 0)
        for (let turn = 1; turn <= 500; turn++) {
          const at = balancer.pick(hits)
          turns[at] = (turns[at] ?? 0) + 1
          for (const [place, each] of weights.entries()) {
            const owed = Math.abs((turn * each) / total - (turns[place] ?? 0))
            expect(owed).toBeLessThan(2)
          }
        }
      }),
    )
  })

  test('callers begin by chance, each instance as often as its weight says', () => {
    const hits = found([2, 1, 1])
    const random = new SeededRandom(1)
    const first = Array.from({ length: 4_000 }, () => draw(new Weighted(random), hits, 1))
    const share = (id: string): number => first.filter((each) => each === id).length / first.length
    for (const id of 'bc') expect(share(id)).toBeGreaterThan(0.15)
    expect(share('a')).toBeGreaterThan(share('b'))
    // However it began, a cycle is a cycle: the shares are exact.
    const balancer = new Weighted(random)
    draw(balancer, hits, 8)
    expect(counts(draw(balancer, hits, 8), 'abc')).toEqual([4, 2, 2])
  })
})

describe('a cycle that is repeated', () => {
  /** The algorithm as it is told, and no more. */
  function plain(weights: readonly number[], gains: number[], turns: number): number[] {
    const total = weights.reduce((sum, each) => sum + each, 0)
    return Array.from({ length: turns }, () => {
      for (const [at, weight] of weights.entries()) gains[at]! += weight
      const best = gains.indexOf(Math.max(...gains))
      gains[best]! -= total
      return best
    })
  }

  test('is the same as turns that are worked out one by one, from wherever they begin; and so is where it leaves everyone', () => {
    const instances = fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: -30, max: 30 })), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(instances, fc.integer({ min: 1, max: 400 }), (both, count) => {
        const weights = both.map(([weight]) => weight)
        const gains = both.map(([, gain]) => gain)
        const turns = new SmoothTurns(Float64Array.from(weights), Float64Array.from(gains))
        const places = Array.from({ length: count }, () => turns.next())
        expect(places).toEqual(plain(weights, gains, count))
        const total = weights.reduce((sum, each) => sum + each, 0)
        expect([...turns.standings()]).toEqual(gains.map((gain) => gain / total))
      }),
    )
  })

  test('spares the pass over the list: a turn among 4,000 costs no more than one among 4', () => {
    const timeOf = (count: number): number => {
      const [weight, gains] = [1_000_000, new Float64Array(count)]
      // So far ahead that the first cycle ends elsewhere than it began.
      gains[0] = 3 * count * weight
      const turns = new SmoothTurns(new Float64Array(count).fill(weight), gains)
      for (let turn = 0; turn < 4 * count; turn++) turns.next()
      const times = Array.from({ length: 5 }, () => {
        const start = performance.now()
        for (let turn = 0; turn < 20_000; turn++) turns.next()
        return performance.now() - start
      })
      return Math.min(...times)
    }
    timeOf(4)
    // A pass over 4,000 is some 1,000 times as much.
    expect(timeOf(4_000)).toBeLessThan(50 * timeOf(4))
  })
})

describe('changes', () => {
  test('of nothing that matters do not disturb the order', () => {
    const balancer = new Weighted(never)
    const turns = [1, 2, 3, 4, 5, 6, 7].map(() => draw(balancer, found([5, 1, 1]), 1))
    expect(turns.join('')).toBe('aabacaa')
  })

  test('the order of a list does not matter to who has been there', () => {
    const balancer = new Weighted(never)
    const [a, b, c] = found([5, 1, 1])
    expect(draw(balancer, [a!, b!, c!], 3)).toBe('aab')
    expect(draw(balancer, [c!, b!, a!], 4)).toBe('acaa')
  })

  test('who comes has neither a burst nor to wait', () => {
    const balancer = new Weighted(never)
    expect(draw(balancer, found([1, 1]), 3)).toBe('aba')
    const turns = draw(balancer, found([1, 1, 1]), 9)
    for (const id of 'abc') {
      expect(count(turns, id)).toBe(3)
      expect(turns).not.toContain(id + id)
    }
  })

  test('a weight that falls far is no long absence, and one that rises far no long burst', () => {
    const balancer = new Weighted(never)
    draw(balancer, found([1_000, 1, 1]), 1)
    expect(counts(draw(balancer, found([1, 1, 1]), 6), 'abc')).toEqual([2, 2, 2])
    expect(draw(balancer, found([1, 1_000, 1]), 4)).toBe('bbbb')
    expect(counts(draw(balancer, found([1, 1, 1]), 6), 'abc')).toEqual([2, 2, 2])
  })

  test('what those who are gone have paid is not owed to those who stay', () => {
    const balancer = new Weighted(never)
    const stay = found([1, 1])
    draw(balancer, stay, 2)
    // Each has the first turn by its weight, and is gone as soon as it has paid.
    for (const id of 'cdefghij') expect(draw(balancer, [...stay, ...found([5], id)], 1)).toBe(id)
  })
})

describe('weight 0', () => {
  const fed = (...weights: number[]): Fed => {
    const made = new Fed()
    made.add(
      's',
      weights.map((weight) => ({ version: '1.0.0', weight })),
    )
    return made
  }
  const turns = (of: Fed, count: number, options = WEIGHTED): string =>
    Array.from({ length: count }, () => {
      const answer = of.pool.lookup('s', undefined, options)
      return answer.ok ? answer.service.node : answer.error
    }).join(' ')

  test('is never returned while another has more', () => {
    expect(turns(fed(0, 2, 0, 1), 6)).toBe('n2 n4 n2 n2 n4 n2')
    expect(turns(fed(0, 2, 0, 1), 2, { balance: 'hash', key: 'k' })).not.toMatch(/n1|n3/)
  })

  test('of all is like round-robin', () => {
    expect(turns(fed(0, 0, 0), 6)).toBe('n1 n2 n3 n1 n2 n3')
  })

  test('counts for the balancers that weigh only', () => {
    expect(turns(fed(0, 1), 4, { balance: 'round-robin' })).toBe('n1 n2 n1 n2')
  })

  test('leaves a zone without any to the others', () => {
    const zoned = new Fed()
    zoned.add('s', [
      { version: '1.0.0', zone: 'eu', weight: 0 },
      { version: '1.0.0', zone: 'us' },
    ])
    expect(turns(zoned, 2, { ...WEIGHTED, zone: 'eu' })).toBe('n2 n2')
  })

  test('is where an instance of weight may go, and come back from', () => {
    const changing = new Fed()
    const [first] = changing.add('s', [
      { version: '1.0.0', weight: 5 },
      { version: '1.0.0', weight: 1 },
    ])
    expect(turns(changing, 2)).toBe('n1 n1')
    const none = { ...first!, meta: { version: '1.0.0', weight: 0 } }
    changing.apply({ updates: [{ entry: none, previous: first! }] })
    expect(turns(changing, 8)).toBe('n2 n2 n2 n2 n2 n2 n2 n2')
    changing.apply({ updates: [{ entry: first!, previous: none }] })
    expect(turns(changing, 6).match(/n1/g)).toHaveLength(5)
    changing.apply({ joins: [entry('s', { version: '1.0.0', weight: 6 }, { node: 'n3' })] })
    expect(turns(changing, 12).match(/n3/g)).toHaveLength(6)
  })
})
