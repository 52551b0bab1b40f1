import { describe, expect, test } from 'vitest'
import { noLookups, type LookupTally } from '../../src/registry/lookup-tally.ts'
import { cluster, simulate, type SimNode } from '../../src/testing/index.ts'
import { Fed } from './replica.ts'

const NONE = noLookups()

/** What was counted while a function ran. */
function counted(lookups: LookupTally, run: () => void): object {
  const before = { ...lookups }
  run()
  const pairs = Object.entries(lookups) as [keyof LookupTally, number][]
  return Object.fromEntries(
    pairs.flatMap(([result, n]) => (n === before[result] ? [] : [[result, n - before[result]]])),
  )
}

describe('each lookup is counted once, by what it came to', () => {
  const fed = new Fed()
  fed.add('s', [{ version: '1.0.0' }])
  fed.add('sleeping', [{ version: '1.0.0', state: 'unready' }])

  test.each([
    ['found', () => fed.pool.lookup('s', undefined, undefined)],
    ['noservice', () => fed.pool.lookup('x', undefined, undefined)],
    ['noversion', () => fed.pool.lookup('s', '2.0.0', undefined)],
    ['nofunction', () => fed.pool.lookup('s', undefined, { function: 'f/1' })],
    ['noinstance', () => fed.pool.lookup('sleeping', undefined, undefined)],
  ])('%s', (result, lookup) => {
    // The first makes the selector that the others use.
    for (let n = 0; n < 3; n++) expect(counted(fed.lookups, lookup)).toEqual({ [result]: 1 })
  })

  test('stale: an instance that stands in is not found', () => {
    const kept = new Fed()
    const [entry] = kept.add('s', [{ version: '1.0.0' }])
    const selector = kept.pool.select('s', undefined, { stale: 'keep-last', maxStaleMs: 1_000 })
    expect(counted(kept.lookups, () => selector.next())).toEqual({ found: 1 })
    kept.apply({ node: entry!.node, leaves: [entry!], reason: 'silent' })
    expect(counted(kept.lookups, () => selector.next())).toEqual({ stale: 1 })
  })

  test('those of a selector, next and acquire alike; preparing one is none', () => {
    const selector = fed.pool.select('s', undefined, undefined)
    expect(counted(fed.lookups, () => fed.pool.select('s', undefined, undefined))).toEqual({})
    expect(counted(fed.lookups, () => selector.next())).toEqual({ found: 1 })
    expect(counted(fed.lookups, () => selector.acquire().release())).toEqual({ found: 1 })
  })
})

test('a registry says in its diagnostics what its lookups came to, as they were then', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [{ registry }] = (await cluster(1, { net })) as [SimNode]
    const before = registry.diagnostics()
    expect(before.lookups).toEqual(NONE)
    registry.register({ name: 's', version: '1.0.0' })
    registry.lookup('s')
    registry.select('s').next()
    registry.lookup('x')
    registry.lookupAll('s')
    expect(registry.diagnostics().lookups).toEqual({ ...NONE, found: 2, noservice: 1 })
    expect(before.lookups).toEqual(NONE)
    expect(Object.isFrozen(before.lookups)).toBe(true)
  })
})
