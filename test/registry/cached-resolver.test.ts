import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CachedResolver, CachedResolverOptions } from '../../src/registry/cached-resolver.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'

const open: Registry[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((registry) => registry.close()))
})

async function alone(): Promise<{ registry: Registry; clock: VirtualClock }> {
  const clock = new VirtualClock()
  const transport = memoryTransport(new MemoryNetwork(), { address: '/memory/a' })
  const registry = await createRegistry({ transport, name: 'a', clock })
  open.push(registry)
  return { registry, clock }
}

const S = { name: 's', version: '1.0.0' }

const counts = ({ resolves, staleUses }: CachedResolver): readonly number[] => [resolves, staleUses]

describe('a cached answer', () => {
  test('stands for ttlMs, to the ms', async () => {
    const { registry, clock } = await alone()
    const resolver = registry.cachedResolver('s', { ttlMs: 100 })
    expect(counts(resolver)).toEqual([0, 0])
    expect(resolver.resolve()).toEqual([])
    registry.register(S)
    await clock.advance(99)
    expect(resolver.resolve()).toEqual([])
    expect(counts(resolver)).toEqual([1, 0])
    await clock.advance(1)
    expect(resolver.resolve()).toEqual(registry.lookupAll('s'))
    expect(resolver.resolve()).toHaveLength(1)
    expect(counts(resolver)).toEqual([2, 0])
    expect(Object.isFrozen(resolver.resolve())).toBe(true)
  })

  test('is none with ttlMs 0', async () => {
    const { registry } = await alone()
    const resolver = registry.cachedResolver('s', { ttlMs: 0 })
    for (let n = 1; n <= 3; n++) {
      registry.register(S)
      expect(resolver.resolve()).toHaveLength(n)
    }
    expect(counts(resolver)).toEqual([3, 0])
  })

  test('is stale when one of its instances is gone or not to be returned, and not when one has come or changed', async () => {
    const { registry, clock } = await alone()
    const [first, second] = [registry.register(S), registry.register(S)]
    const resolver = registry.cachedResolver('s', { ttlMs: 1_000, requirement: '^1.0.0' })
    const isStale = (): boolean => {
      const before = resolver.staleUses
      resolver.resolve()
      expect(resolver.resolves).toBe(1 + Math.floor(clock.now() / 1_000))
      return resolver.staleUses > before
    }
    resolver.resolve()
    expect(isStale()).toBe(false)
    registry.register(S)
    first.update({ weight: 2 })
    expect(isStale()).toBe(false)
    first.update({ state: 'draining' })
    expect([isStale(), isStale()]).toEqual([true, true])
    first.update({ state: 'ready' })
    expect(isStale()).toBe(false)
    second.unregister()
    expect(isStale()).toBe(true)
    expect(resolver.resolve()).toHaveLength(2)
    await clock.advance(1_000)
    expect([isStale(), isStale()]).toEqual([false, false])
    expect(resolver.resolve()).toEqual(registry.lookupAll('s'))
  })

  test('is compared once for each change', async () => {
    const { registry } = await alone()
    const [first] = [registry.register(S), registry.register(S)]
    const resolver = registry.cachedResolver('s', { ttlMs: 1_000 })
    resolver.resolve()
    first.unregister()
    const has = vi.spyOn(Set.prototype, 'has')
    const compared = (): number => has.mock.calls.filter(([id]) => id === first.instance.id).length
    resolver.resolve()
    resolver.resolve()
    expect(compared()).toBe(1)
    registry.register(S)
    resolver.resolve()
    expect(compared()).toBe(2)
    expect(resolver.staleUses).toBe(3)
    has.mockRestore()
  })

  test('follows the filters of lookupAll', async () => {
    const { registry } = await alone()
    registry.register({ ...S, state: 'starting' })
    registry.register({ ...S, version: '2.0.0' })
    const list = (options: Omit<CachedResolverOptions, 'ttlMs'>): readonly unknown[] =>
      registry.cachedResolver('s', { ttlMs: 1_000, ...options }).resolve()
    expect(list({})).toEqual(registry.lookupAll('s'))
    expect(list({ state: 'starting' })).toEqual(registry.lookupAll('s', '*', { state: 'starting' }))
    expect(list({ requirement: '^1.0.0', state: 'any' })).toHaveLength(1)
    expect(list({ node: 'b' })).toEqual([])
  })
})

test('24 rounds of 12 requests with six instances: what a longer time spares and what it costs', async () => {
  const rounds = async (ttlMs: number): Promise<readonly number[]> => {
    const { registry, clock } = await alone()
    const handles = Array.from({ length: 6 }, () => registry.register(S))
    const resolver = registry.cachedResolver('s', { ttlMs })
    for (let round = 0; round < 24; round++) {
      // One of six is replaced at the start of every third round.
      if (round % 3 === 0) {
        handles[round % 6]?.unregister()
        handles[round % 6] = registry.register(S)
      }
      for (let request = 0; request < 12; request++) resolver.resolve()
      await clock.advance(1_000)
    }
    return counts(resolver)
  }
  const table = []
  for (const ttlMs of [0, 2_000, 4_000, 8_000, 24_000]) table.push(await rounds(ttlMs))
  // A list made at round r is stale from the next third round on, until it runs out.
  expect(table).toEqual([
    [288, 0],
    [12, 48],
    [6, 144],
    [3, 216],
    [1, 252],
  ])
})

test.each<[string, unknown, RegExp]>([
  ['no ttlMs', {}, /ttlMs is undefined/],
  ['a negative ttlMs', { ttlMs: -1 }, /ttlMs is -1/],
  ['a ttlMs that is none', { ttlMs: '5' }, /ttlMs is "5"/],
  ['an unknown option', { ttlMs: 1, balance: 'first' }, /unknown field "balance"/],
  ['a filter that is none', { ttlMs: 1, state: 'x' }, /state is "x"/],
  ['no options', undefined, /options is undefined/],
])('refuses %s', async (_, options, message) => {
  const { registry } = await alone()
  expect(() => registry.cachedResolver('s', options as CachedResolverOptions)).toThrow(
    expect.objectContaining({
      code: 'ROLLCALL_INVALID_ARGUMENT',
      message: expect.stringMatching(message) as string,
    }),
  )
})
