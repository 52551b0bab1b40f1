import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Rendezvous } from '../../src/registry/balance/rendezvous.ts'
import { hashText } from '../../src/registry/balance/text-hash.ts'
import type { Instance, LookupHit } from '../../src/registry/types.ts'
import { Fed } from './replica.ts'

const instance = (id: string, weight = 1): LookupHit => ({
  ok: true,
  service: { id, weight } as Instance,
  stale: false,
  degraded: false,
})

/** Ids as they are: long, and alike but for a few letters. */
const instances = (count: number, weightOf: (at: number) => number = () => 1): LookupHit[] =>
  Array.from({ length: count }, (_, at) =>
    instance(`12D3KooWKcNUoXJtP6YErXRj3pofTJfmaMGyrsQkKGM1VZuFVa${at}/1839097879016964/1`, weightOf(at)),
  )

const KEYS = Array.from({ length: 20_000 }, (_, at) => `user-${at}`)

/** Who has each key. */
function owners(hits: readonly LookupHit[], keys: readonly string[] = KEYS): string[] {
  const balancer = new Rendezvous()
  return keys.map((key) => hits[balancer.pick(hits, key)]?.service.id ?? '')
}

const shareOf = (id: string, owned: readonly string[]): number =>
  owned.filter((owner) => owner === id).length / owned.length

describe('hashText', () => {
  // The published vectors of MurmurHash3_x86_32 whose bytes are a text in UTF-16LE.
  test.each([
    ['', 0, 0],
    ['', 1, 0x514e28b7],
    ['', 0xffffffff, 0x81f16f39],
    ['\uffff\uffff', 0, 0x76293b50],
    ['\u4321\u8765', 0, 0xf55b516b],
    ['\u4321\u8765', 0x5082edee, 0x2362f9de],
    ['\u4321', 0, 0xa0f7b07a],
    ['\0\0', 0, 0x2362f9de],
    ['\0', 0, 0x30f4c306],
  ])('%j with the seed %d', (text, seed, expected) => {
    expect(hashText(text, seed)).toBe(expected)
  })

  test.each([
    ['user-1', 0, 2_429_978_192],
    ['user-12', 0, 1_688_210_151],
    ['Ünïcödé \u{1f600}', 7, 1_740_598_906],
  ])('%j with the seed %d, as another implementation has it', (text, seed, expected) => {
    expect(hashText(text, seed)).toBe(expected)
  })
})

describe('a key', () => {
  const ten = instances(10)

  test('has one instance, in every process, in whatever order that knows them', () => {
    const owned = owners(ten)
    expect(owners(ten.toReversed())).toEqual(owned)
    expect(owners(ten.map(({ service: { id } }) => instance(id)))).toEqual(owned)
  })

  test('is decided by the ids when the draws are equal, as those of weights too small to compare', () => {
    const least = (id: string): LookupHit => instance(id, Number.MIN_VALUE)
    expect(owners([least('b'), least('a'), least('c')], ['k'])).toEqual(['a'])
    expect(owners([least('a'), least('c'), least('b')], ['k'])).toEqual(['a'])
  })

  test('follows a list to another of the same length', () => {
    const balancer = new Rendezvous()
    const others = ten.map(({ service: { id } }) => instance(`${id}0`))
    for (const list of [ten, others, ten]) {
      const picked = KEYS.slice(0, 50).map((key) => list[balancer.pick(list, key)]?.service.id)
      expect(picked).toEqual(owners(list, KEYS.slice(0, 50)))
    }
  })

  test('is pinned to its instance: other processes may be of other versions', () => {
    const balancer = new Rendezvous()
    const places = ['a', 'b', 'user-1', 'user-2', 'Ünïcödé'].map((key) => balancer.pick(ten, key))
    expect(places).toEqual([1, 0, 5, 2, 3])
  })

  test('moves only if its instance leaves, or to one that comes', () => {
    const anyIds = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 12 })
    const weights = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 12, maxLength: 12 })
    const keys = fc.array(fc.string({ minLength: 1 }), { minLength: 20, maxLength: 60 })
    fc.assert(
      fc.property(anyIds, weights, keys, fc.nat(), (ids, weighs, asked, which) => {
        const all = ids.map((id, at) => instance(id, weighs[at]))
        const leaver = ids[which % ids.length] ?? ''
        const rest = all.filter(({ service }) => service.id !== leaver)
        const before = owners(all, asked)
        const after = owners(rest, asked)
        for (const [at, owner] of before.entries()) {
          if (owner === leaver) expect(after[at]).not.toBe(leaver)
          else expect(after[at]).toBe(owner)
        }
      }),
    )
  })

  test('of one that leaves goes to all of the others alike', () => {
    const owned = owners(ten)
    const leaver = ten[3]!.service.id
    const rest = ten.filter((hit) => hit.service.id !== leaver)
    const moved = owners(rest).filter((_, at) => owned[at] === leaver)
    expect(moved.length).toBeGreaterThan(1_500)
    for (const { service } of rest) {
      expect(Math.abs(shareOf(service.id, moved) - 1 / 9)).toBeLessThan(0.035)
    }
  })

  test('moves in proportion when the weight of an instance changes, and only to it or from it', () => {
    const heavy = instances(10, (at) => (at === 0 ? 3 : 1))
    const [before, after] = [owners(ten), owners(heavy)]
    const [{ service: first }] = heavy as [LookupHit]
    for (const [at, owner] of after.entries()) if (owner !== before[at]) expect(owner).toBe(first.id)
    expect(shareOf(first.id, before)).toBeCloseTo(1 / 10, 1)
    expect(Math.abs(shareOf(first.id, after) - 3 / 12)).toBeLessThan(0.012)
  })
})

describe('shares', () => {
  // 20,000 keys: four standard deviations are 4 * sqrt(p (1 - p) / 20,000).
  const bound = (share: number): number => 4 * Math.sqrt((share * (1 - share)) / KEYS.length)

  test.each([2, 3, 10, 100])('of %d alike are alike', (count) => {
    const hits = instances(count)
    const owned = owners(hits)
    for (const { service } of hits) {
      expect(Math.abs(shareOf(service.id, owned) - 1 / count)).toBeLessThan(bound(1 / count))
    }
  })

  test.each([
    [1, 2, 3],
    [0.1, 0.2, 0.7],
    [1, 1_000, 1, 10],
    [0.000_1, 0.000_2],
  ])('follow the weights %d, %d, …', (...weights) => {
    const hits = instances(weights.length, (at) => weights[at] ?? 0)
    const owned = owners(hits)
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    for (const { service } of hits) {
      const share = service.weight / total
      expect(Math.abs(shareOf(service.id, owned) - share)).toBeLessThan(bound(share) + 1 / KEYS.length)
    }
  })

  test('of weight 0 are alike when all are', () => {
    const hits = instances(4, () => 0)
    const owned = owners(hits)
    expect(owned).toEqual(owners(instances(4)))
  })
})

describe('asking by key', () => {
  const fed = new Fed()
  fed.add(
    's',
    Array.from({ length: 8 }, () => ({ version: '1.0.0' })),
  )
  const nodeOf = (key: string): string => {
    const answer = fed.pool.lookup('s', undefined, { balance: 'hash', key })
    return answer.ok ? answer.service.node : answer.error
  }

  test('lookup and selectors give the same, again and again', () => {
    const selector = fed.pool.select('s', undefined, { balance: 'hash' })
    const keyed = fed.pool.select('s', undefined, { balance: 'hash', key: 'user-1' })
    const seen = new Set(KEYS.slice(0, 100).map(nodeOf))
    expect(seen.size).toBe(8)
    for (const key of KEYS.slice(0, 20)) {
      expect(selector.next(key)).toMatchObject({ service: { node: nodeOf(key) } })
      expect(keyed.next(key)).toEqual(selector.next(key))
      expect(keyed.next()).toEqual(selector.next('user-1'))
    }
  })

  test('a key that is missing, or given to another balance, is refused, whether there is an instance or not', () => {
    const refused = (call: () => unknown, word: string): void => {
      expect(call).toThrow(
        expect.objectContaining({
          code: 'ROLLCALL_INVALID_ARGUMENT',
          message: expect.stringContaining(word) as string,
        }),
      )
    }
    for (const name of ['s', 'other']) {
      const selector = fed.pool.select(name, undefined, { balance: 'hash' })
      refused(() => selector.next(), 'undefined')
      refused(() => selector.next(''), '""')
      refused(() => selector.next(7 as unknown as string), '7')
      refused(() => fed.pool.lookup(name, undefined, { balance: 'hash' }), 'undefined')
      refused(() => fed.pool.select(name, undefined, undefined).next('k'), "'hash' only")
    }
    // Another's key is not remembered for who gives none.
    fed.pool.lookup('s', undefined, { balance: 'hash', key: 'k' })
    refused(() => fed.pool.lookup('s', undefined, { balance: 'hash' }), 'undefined')
    refused(() => fed.pool.lookup('s', undefined, { balance: 'hash', key: 7 as unknown as string }), '7')
  })
})
