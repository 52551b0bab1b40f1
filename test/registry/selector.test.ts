import { describe, expect, test } from 'vitest'
import { explainInstances, explainInvalid } from '../../src/registry/explain.ts'
import { readQuery } from '../../src/registry/query.ts'
import { REGISTRY_DEFAULTS } from '../../src/registry/options.ts'
import { Requirements } from '../../src/registry/requirement.ts'
import { findEligible } from '../../src/registry/candidates.ts'
import type { LookupAnswer, LookupOptions } from '../../src/registry/types.ts'
import { entry, Fed } from './replica.ts'
import type { Meta } from './replica.ts'

const v = (version: string, more: Meta = {}): Meta => ({ version, ...more })

const brief = (answer: LookupAnswer): string =>
  answer.ok ? `${answer.service.version} ${answer.service.node}` : answer.error

/** The nodes that `count` lookups name, in order. */
const turns = (fed: Fed, count: number, requirement?: string, options?: LookupOptions): string[] =>
  Array.from({ length: count }, () => {
    const answer = fed.pool.lookup('s', requirement, options)
    return answer.ok ? answer.service.node : answer.error
  })

describe('lookup', () => {
  test('nothing, no version, or the highest that matches', () => {
    const fed = new Fed()
    fed.add('s', [v('1.4.0'), v('2.1.0'), v('2.0.0'), v('3.0.0-rc.1')])
    const look = (requirement?: string): string => brief(fed.pool.lookup('s', requirement, undefined))
    expect(brief(fed.pool.lookup('other', '~> 2.0', undefined))).toBe('noservice')
    expect(look('~> 4.0')).toBe('noversion')
    expect(look('~> 2.0')).toBe('2.1.0 n2')
    expect(look('2.0.5')).toBe('2.1.0 n2')
    expect(look('== 2.0.0')).toBe('2.0.0 n3')
    expect(look('^1')).toBe('1.4.0 n1')
    expect(look()).toBe('3.0.0-rc.1 n4')
    expect(look('*')).toBe('3.0.0-rc.1 n4')
  })

  test('C71: of several majors the highest comes first', () => {
    const fed = new Fed()
    fed.add('s', [v('1.9.0'), v('3.0.0'), v('2.5.0')])
    expect(brief(fed.pool.lookup('s', '^1 || ^2', undefined))).toBe('2.5.0 n3')
    expect(brief(fed.pool.lookup('s', '~> 1.0 or ~> 2.0', undefined))).toBe('2.5.0 n3')
  })

  test('pre-releases by the policy of the registry, or of the lookup', () => {
    const including = new Fed()
    const excluding = new Fed({ prerelease: 'exclude' })
    for (const fed of [including, excluding]) fed.add('s', [v('2.0.0'), v('2.1.0-rc.1')])
    expect(turns(including, 1, '~> 2.0')).toEqual(['n2'])
    expect(turns(including, 1, '~> 2.0', { prerelease: 'exclude' })).toEqual(['n1'])
    expect(turns(excluding, 1, '~> 2.0')).toEqual(['n1'])
    expect(turns(excluding, 1)).toEqual(['n1'])
    expect(turns(excluding, 1, '~> 2.0', { prerelease: 'include' })).toEqual(['n2'])
  })

  test('versions that differ in build metadata only take turns', () => {
    const fed = new Fed()
    fed.add('s', [v('2.0.0+a'), v('1.0.0'), v('2.0.0+b')])
    expect(turns(fed, 4).toSorted()).toEqual(['n1', 'n1', 'n3', 'n3'])
  })

  test('C5: follows joins, updates and leaves at once; a hit is one frozen object, and so is a miss', () => {
    const fed = new Fed()
    const selector = fed.pool.select('s', '~> 1.0', undefined)
    const see = (): string => {
      const answers = [selector.next(), fed.pool.lookup('s', '~> 1.0', undefined)] as const
      expect(Object.isFrozen(answers[0])).toBe(true)
      expect(answers[0]).toBe(answers[1])
      return brief(answers[0])
    }
    expect(see()).toBe('noservice')
    const first = entry('s', v('1.0.0'))
    fed.apply({ joins: [first] })
    expect(see()).toBe('1.0.0 n1')
    const second = { ...first, meta: v('1.2.0') }
    fed.apply({ updates: [{ entry: second, previous: first }] })
    expect(see()).toBe('1.2.0 n1')
    const third = { ...first, meta: v('2.0.0') }
    fed.apply({ updates: [{ entry: third, previous: second }] })
    expect(see()).toBe('noversion')
    fed.apply({ leaves: [third] })
    expect(see()).toBe('noservice')
    fed.apply({ joins: [entry('s', v('1.9.0'), { node: 'n2' })] })
    expect(see()).toBe('1.9.0 n2')
    fed.index.clear()
    expect(brief(selector.next())).toBe('noservice')
  })

  test('what is no service hides nothing', () => {
    const fed = new Fed()
    fed.add('s', [v('1.0.0'), v('nonsense'), v('2.0.0', { address: 5 })])
    expect(turns(fed, 2)).toEqual(['n1', 'n1'])
  })

  test('C44: __proto__, constructor and toString are names', () => {
    const fed = new Fed()
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(brief(fed.pool.lookup(name, undefined, undefined))).toBe('noservice')
      fed.apply({ joins: [entry(name, v('1.0.0'), { node: name })] })
      expect(brief(fed.pool.lookup(name, '~> 1.0', undefined))).toBe(`1.0.0 ${name}`)
    }
  })
})

describe('options', () => {
  const fed = new Fed()
  fed.add('s', [
    v('2.1.0', { state: 'draining', functions: { 'new/0': {} }, capabilities: { admin: 'ready' } }),
    v('2.0.0', { zone: 'eu', functions: { 'get/1': {} }, capabilities: { read: 'ready', write: 'unready' } }),
    v('2.0.0', { zone: 'us', capabilities: { write: 'ready' } }),
    v('1.0.0', { state: 'hibernating', functions: { 'old/0': {} } }),
  ])
  test.each<[string | undefined, LookupOptions, string]>([
    // Only ready ones, and so the next version down.
    [undefined, { balance: 'first' }, '2.0.0 n2'],
    [undefined, { state: 'draining' }, '2.1.0 n1'],
    [undefined, { state: 'any' }, '2.1.0 n1'],
    ['^1', { state: 'any' }, '1.0.0 n4'],
    // A state of a later version is not ready.
    ['^1', {}, 'noinstance'],
    ['== 2.1.0', {}, 'noinstance'],
    [undefined, { state: 'starting' }, 'noinstance'],
    // By id and by name.
    [undefined, { node: 'n3' }, '2.0.0 n3'],
    [undefined, { node: 'name-of-n3' }, '2.0.0 n3'],
    [undefined, { node: 'nobody' }, 'noinstance'],
    [undefined, { node: 'n1' }, 'noinstance'],
    ['^9', { node: 'nobody' }, 'noversion'],
    // Preferred; the version comes first, and nobody there is not a miss.
    [undefined, { zone: 'us' }, '2.0.0 n3'],
    [undefined, { zone: 'eu' }, '2.0.0 n2'],
    [undefined, { zone: 'mars', balance: 'first' }, '2.0.0 n2'],
    // Must be offered, by an instance whose version matches.
    [undefined, { function: 'get/1' }, '2.0.0 n2'],
    [undefined, { function: 'none/0' }, 'nofunction'],
    ['^2', { function: 'old/0', state: 'any' }, 'nofunction'],
    [undefined, { function: 'new/0' }, 'noinstance'],
    [undefined, { function: 'toString/0' }, 'nofunction'],
    // What it does not list it cannot do, and an instance that is not ready can do nothing.
    [undefined, { capability: 'write' }, '2.0.0 n3'],
    [undefined, { capability: 'read' }, '2.0.0 n2'],
    [undefined, { capability: 'admin' }, 'noinstance'],
    [undefined, { capability: 'admin', state: 'any' }, '2.1.0 n1'],
    [undefined, { capability: 'toString' }, 'noinstance'],
    ['^1', { capability: 'write', state: 'any' }, 'noinstance'],
  ])('%s with %o: %s', (requirement, options, expected) => {
    expect(brief(fed.pool.lookup('s', requirement, options))).toBe(expected)
    expect(brief(fed.pool.select('s', requirement, options).next())).toBe(expected)
    expect(brief(fed.pool.lookup('s', requirement, { ...options }))).toBe(expected)
  })

  test.each<[object | null, ...string[]]>([
    [{ nodes: 'x' }, 'nodes'],
    [{ state: 'dead' }, 'state', '"dead"'],
    [{ balance: 'fair' }, 'balance', '"fair"', 'round-robin, random, weighted'],
    [{ key: 'k' }, 'key', '"k"', "'hash' only"],
    [{ balance: 'first', key: 'k' }, 'key', "'hash' only"],
    [{ balance: 'hash' }, 'key', 'undefined'],
    [{ balance: 'hash', key: '' }, 'key', '""'],
    [{ balance: 'hash', key: 5 }, 'key', '5'],
    [{ prerelease: true }, 'prerelease', 'true'],
    [{ node: '' }, 'node', '""'],
    [{ zone: 5 }, 'zone', '5'],
    [{ zone: 'eu', minZoneInstances: 0 }, 'minZoneInstances', '0', 'at least 1'],
    [{ zone: 'eu', minZoneInstances: 1.5 }, 'minZoneInstances', '1.5', 'whole'],
    [{ zone: 'eu', minZoneInstances: '2' }, 'minZoneInstances', '"2"'],
    [{ capability: '' }, 'capability', '""'],
    [{ function: 'get' }, 'function', '"get"', 'name/arity'],
    [null, 'null'],
  ])('%o is refused, every time', (options, ...words) => {
    for (let i = 0; i < 2; i++) {
      let message = ''
      try {
        fed.pool.lookup('s', undefined, options as LookupOptions)
      } catch (error) {
        expect(error).toMatchObject({ code: 'ROLLCALL_INVALID_ARGUMENT' })
        message = String(error)
      }
      for (const word of words) expect(message).toContain(word)
    }
  })

  test('C44: __proto__ and constructor are capabilities like any other', () => {
    const named = new Fed()
    const capabilities = Object.fromEntries([['__proto__', 'ready']])
    named.add('s', [v('1.0.0', { capabilities }), v('1.0.0')])
    expect(turns(named, 2, undefined, { capability: '__proto__' })).toEqual(['n1', 'n1'])
    expect(turns(named, 1, undefined, { capability: 'constructor' })).toEqual(['noinstance'])
  })

  test('a wrong requirement or name is refused, whether the service exists or not', () => {
    for (const name of ['s', 'other']) {
      expect(() => fed.pool.lookup(name, 'latest', undefined)).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_INVALID_REQUIREMENT' }),
      )
      expect(() => fed.pool.lookup(name, null as unknown as string, undefined)).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_INVALID_REQUIREMENT' }),
      )
    }
    for (const name of ['', 5, undefined]) {
      expect(() => fed.pool.lookup(name as string, undefined, undefined)).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT' }),
      )
    }
  })
})

describe('zone', () => {
  const eu = { zone: 'eu' }
  const down = { zone: 'eu', state: 'unready' }
  // Instances beside one in us and one in none, the options, and how many of all take turns.
  test.each<[string, Meta[], LookupOptions, number]>([
    ['none there', [], { zone: 'eu' }, 2],
    ['one there', [eu], { zone: 'eu' }, 1],
    ['two there', [eu, eu], { zone: 'eu' }, 2],
    ['one, enough', [eu], { zone: 'eu', minZoneInstances: 1 }, 1],
    ['one, too few', [eu], { zone: 'eu', minZoneInstances: 2 }, 3],
    ['two, just enough', [eu, eu], { zone: 'eu', minZoneInstances: 2 }, 2],
    ['two, too few', [eu, eu], { zone: 'eu', minZoneInstances: 3 }, 4],
    ['one that is not ready does not count', [eu, down], { zone: 'eu', minZoneInstances: 2 }, 3],
    ['without a zone it means nothing', [eu, eu], { minZoneInstances: 2 }, 4],
  ])('%s', (_, more, options, expected) => {
    const fed = new Fed()
    fed.add(
      's',
      [{ zone: 'us' }, {}, ...more].map((meta) => v('1.0.0', meta)),
    )
    expect(new Set(turns(fed, 12, undefined, options)).size).toBe(expected)
  })

  test('lookups that differ in what is enough do not share an answer', () => {
    const fed = new Fed()
    fed.add('s', [v('1.0.0', { zone: 'us' }), v('1.0.0', eu)])
    const among = (minZoneInstances?: number): number =>
      new Set(turns(fed, 4, undefined, { zone: 'eu', minZoneInstances })).size
    expect([among(1), among(2), among(), among(2)]).toEqual([1, 2, 1, 2])
  })

  test('follows those that come to the zone and go from it', () => {
    const fed = new Fed()
    fed.add('s', [v('1.0.0', { zone: 'us' }), v('1.0.0', eu)])
    const options = { zone: 'eu', minZoneInstances: 2 }
    const second = entry('s', v('1.0.0', eu), { node: 'n3' })
    expect(new Set(turns(fed, 6, undefined, options))).toEqual(new Set(['n1', 'n2']))
    fed.apply({ joins: [second] })
    expect(new Set(turns(fed, 6, undefined, options))).toEqual(new Set(['n2', 'n3']))
    fed.apply({ leaves: [second] })
    expect(new Set(turns(fed, 6, undefined, options))).toEqual(new Set(['n1', 'n2']))
  })
})

describe('balancing', () => {
  const three = (): Fed => {
    const fed = new Fed()
    fed.add('s', [v('1.0.0'), v('1.0.0'), v('1.0.0')])
    return fed
  }

  test('round-robin gives everyone a turn, from a chance beginning, and goes on over changes', () => {
    const fed = three()
    expect(turns(fed, 7)).toEqual(['n1', 'n2', 'n3', 'n1', 'n2', 'n3', 'n1'])
    fed.apply({ joins: [entry('s', v('1.0.0'), { node: 'n4' })] })
    expect(turns(fed, 4)).toEqual(['n2', 'n3', 'n4', 'n1'])
    fed.chance = 0.000_005
    expect(brief(fed.pool.select('s', undefined, undefined).next())).toBe('1.0.0 n2')
  })

  test('every lookup that asks the same shares its turn; every other, and every selector, has its own', () => {
    const fed = three()
    expect(turns(fed, 2)).toEqual(['n1', 'n2'])
    expect(turns(fed, 1, '~> 1.0')).toEqual(['n1'])
    expect(turns(fed, 1, undefined, {})).toEqual(['n3'])
    expect(turns(fed, 1, undefined, { state: 'any' })).toEqual(['n1'])
    expect(turns(fed, 1, undefined, { state: 'any' })).toEqual(['n2'])
    expect(brief(fed.pool.select('s', undefined, undefined).next())).toBe('1.0.0 n1')
    expect(turns(fed, 1)).toEqual(['n1'])
  })

  test('first is always the longest known; random is as chance has it', () => {
    const fed = three()
    expect(turns(fed, 3, undefined, { balance: 'first' })).toEqual(['n1', 'n1', 'n1'])
    const picked = [0, 0.34, 0.999_999].map((chance) => {
      fed.chance = chance
      return turns(fed, 1, undefined, { balance: 'random' })[0]
    })
    expect(picked).toEqual(['n1', 'n2', 'n3'])
  })

  test('more requirements and options than are remembered are answered all the same', () => {
    const fed = three()
    for (let i = 0; i < 300; i++) {
      expect(turns(fed, 1, `>= 0.0.${i}`, { node: `n${(i % 3) + 1}` })).toEqual([`n${(i % 3) + 1}`])
      expect(turns(fed, 1, '~> 1.0', { zone: `zone-${i}`, balance: 'first' })).toEqual(['n1'])
    }
  })
})

test('findEligible is every version that may be returned, the highest first', () => {
  const fed = new Fed()
  fed.add('s', [v('1.0.0'), v('2.0.0'), v('1.5.0', { state: 'unready' }), v('2.0.0'), v('3.0.0')])
  const queries = { ...REGISTRY_DEFAULTS, requirements: new Requirements('semver') }
  const query = readQuery(queries, 's', '< 3.0.0')
  const found = findEligible(query, fed.index.get('s')!, fed.index.nodes)
  expect(found.map(({ version, node }) => `${version} ${node}`)).toEqual(['2.0.0 n2', '2.0.0 n4', '1.0.0 n1'])
})

test('explain says of every instance what keeps it out, and agrees with lookup', () => {
  const fed = new Fed()
  fed.add('s', [
    v('3.0.0', { functions: { 'f/0': {} } }),
    v('2.1.0', { functions: { 'f/0': {} }, zone: 'eu' }),
    v('2.1.0+b', { functions: { 'f/0': {} }, zone: 'us' }),
    v('2.1.0', { functions: { 'f/0': {} }, state: 'draining' }),
    v('2.1.0'),
    v('2.0.0', { functions: { 'f/0': {} }, zone: 'eu' }),
  ])
  const queries = { ...REGISTRY_DEFAULTS, requirements: new Requirements('semver') }
  const explain = (options: LookupOptions): Record<string, string> => {
    const query = readQuery(queries, 's', '~> 2.0', options)
    const explanations = explainInstances(query, fed.index.get('s')!, fed.index.nodes, fed.calls)
    for (const { returned, reason, instance, text } of explanations) {
      expect(returned).toBe(reason === 'returned')
      expect(text).toContain(`s ${instance?.version ?? ''} on name-of-${instance?.node ?? ''}`)
    }
    const returned = new Set(explanations.filter((each) => each.returned).map(({ node }) => node))
    expect(new Set(turns(fed, 12, '~> 2.0', options))).toEqual(
      returned.size === 0 ? new Set(['noinstance']) : returned,
    )
    return Object.fromEntries(explanations.map(({ node, reason }) => [node, reason]))
  }
  expect(explain({ function: 'f/0', zone: 'eu' })).toEqual({
    n1: 'version',
    n2: 'returned',
    n3: 'zone',
    n4: 'state',
    n5: 'function',
    n6: 'older',
  })
  expect(explain({ function: 'f/0' })).toMatchObject({ n2: 'returned', n3: 'returned', n6: 'older' })
  expect(explain({ node: 'n6' })).toMatchObject({ n2: 'node', n6: 'returned' })
  expect(explain({ state: 'unready' })).toMatchObject({ n2: 'state', n6: 'state' })
  expect(explain({ capability: 'write' })).toMatchObject({ n2: 'capability', n4: 'state', n6: 'capability' })
  const invalid = explainInvalid([entry('s', v('1.0.0')), entry('s', v('x'), { node: 'n2' })])
  expect(invalid).toMatchObject([{ node: 'n2', reason: 'invalid', returned: false, instance: undefined }])
  expect(invalid[0]?.text).toContain('version is "x"')
})
