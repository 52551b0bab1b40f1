import fc from 'fast-check'
import { compare } from 'semver'
import { expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import type { EntryUpdate } from '../../src/tracker/types.ts'
import { entry, Fed } from './replica.ts'

const NODES = ['n1', 'n2', 'n3']
const NAMES = ['a', '__proto__', 'c']
const VERSIONS = ['1.0.0', '2.0.0', '2.0.0+b', '2.1.0-rc.1', '2.1.0']

interface Step {
  readonly node: string
  /** By ref: a new meta, or undefined to leave. */
  readonly writes: readonly {
    readonly ref: number
    readonly name: string
    readonly version: string | undefined
  }[]
  readonly restart: boolean
  readonly look: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  node: fc.constantFrom(...NODES),
  writes: fc.uniqueArray(
    fc.record({
      ref: fc.integer({ min: 1, max: 6 }),
      name: fc.constantFrom(...NAMES),
      version: fc.option(fc.constantFrom(...VERSIONS, 'rubbish'), { nil: undefined, freq: 3 }),
    }),
    { minLength: 1, maxLength: 6, selector: ({ ref }) => ref },
  ),
  restart: fc.boolean(),
  look: fc.boolean(),
})

/** The plainest replica: all entries by node and ref, in the order in which they came. */
class Model {
  entries: Entry<Json>[] = []
  incarnations = new Map<string, number>()

  /** What the tracker would report of a step. */
  take({ node, writes, restart }: Step): {
    joins: Entry<Json>[]
    leaves: Entry<Json>[]
    updates: EntryUpdate[]
  } {
    const old = this.incarnations.get(node) ?? 1
    const incarnation = restart ? old + 1 : old
    this.incarnations.set(node, incarnation)
    const joins: Entry<Json>[] = []
    const updates: EntryUpdate[] = []
    const leaves = restart ? this.entries.filter((each) => each.node === node) : []
    if (restart) this.entries = this.entries.filter((each) => each.node !== node)
    for (const { ref, name, version } of writes) {
      const at = this.entries.findIndex((each) => each.node === node && each.ref === ref)
      const previous = this.entries[at]
      const next = entry(previous?.key ?? name, { version: version ?? '' }, { node, incarnation, ref })
      if (previous === undefined) {
        if (version === undefined) continue
        joins.push(next)
        this.entries.push(next)
      } else if (version === undefined) {
        leaves.push(previous)
        this.entries.splice(at, 1)
      } else {
        updates.push({ entry: next, previous })
        // A change of version moves an instance behind those that had that version already.
        const stays = compareVersion(next, previous) === 0
        if (stays) this.entries[at] = next
        else {
          this.entries.splice(at, 1)
          this.entries.push(next)
        }
      }
    }
    return { joins, leaves, updates }
  }

  expected(name: string): Entry<Json>[] {
    return this.entries
      .filter((each) => each.key === name && versionOf(each) !== 'rubbish')
      .toSorted((a, b) => compareVersion(b, a))
  }
}

const versionOf = ({ meta }: Entry<Json>): string => (meta as { version: string }).version

const compareVersion = (a: Entry<Json>, b: Entry<Json>): number => {
  const [one, two] = [versionOf(a), versionOf(b)]
  if (one === 'rubbish' || two === 'rubbish') return one === two ? 0 : 1
  return compare(one, two)
}

test('whatever comes, goes and changes, a record holds its instances by version, and nothing else', () => {
  let most = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const model = new Model()
      const { index } = new Fed()
      for (const each of steps) {
        index.apply({ node: each.node, reason: undefined, ...model.take(each) })
        for (const name of NAMES) {
          const record = index.get(name)
          const expected = model.expected(name)
          most = Math.max(most, expected.length)
          // As sets per version: in what order several arrivals of one diff stand is not promised.
          const group = (entries: readonly Entry<Json>[]): unknown =>
            entries
              .map(
                ({ node, incarnation, ref, meta }) =>
                  `${versionOf({ meta } as Entry<Json>)} ${node} ${incarnation} ${ref}`,
              )
              .sort()
          expect(group(record?.entries ?? [])).toEqual(group(expected))
          const versions = (record?.entries ?? []).map((held) => held.meta.version)
          expect(versions).toEqual(versions.toSorted((a, b) => compare(b, a)))
          expect(record === undefined).toBe(expected.length === 0)
          // Answers made earlier must not survive the instance that they show.
          if (record !== undefined && each.look) {
            for (const [at, held] of record.entries.entries()) {
              const { service } = record.hit(at, false)
              expect(service).toMatchObject({
                version: held.meta.version,
                id: `${held.node}/${held.incarnation}/${held.ref}`,
              })
              expect(record.hit(at, false).service).toBe(service)
            }
          }
        }
      }
    }),
    { numRuns: 500 },
  )
  expect(most).toBeGreaterThan(5)
})

test('within a version, instances stand in the order in which they came, changed or not', () => {
  const fed = new Fed()
  const [first, second] = fed.add('s', [
    { version: '1.0.0' },
    { version: '1.0.0+b' },
    { version: '2.0.0' },
    { version: '1.0.0' },
  ])
  const order = (): string[] => fed.index.get('s')!.entries.map(({ node }) => node)
  expect(order()).toEqual(['n3', 'n1', 'n2', 'n4'])
  const changed = { ...first!, meta: { version: '1.0.0', weight: 2 } }
  fed.apply({ updates: [{ entry: changed, previous: first! }] })
  expect(order()).toEqual(['n3', 'n1', 'n2', 'n4'])
  fed.apply({
    node: 'n2',
    updates: [{ entry: { ...second!, meta: { version: '2.0.0' } }, previous: second! }],
  })
  expect(order()).toEqual(['n3', 'n2', 'n1', 'n4'])
})

test('an answer is made once, and kept while others come and go', () => {
  const fed = new Fed()
  const entries = fed.add('s', [{ version: '1.0.0' }, { version: '1.0.0' }, { version: '1.0.0' }])
  const record = fed.index.get('s')!
  const kept = record.hit(2, false)
  fed.apply({ leaves: [entries[0]!] })
  fed.apply({ joins: [entry('s', { version: '2.0.0' }, { node: 'n9' })] })
  expect(record.entries.map(({ node }) => node)).toEqual(['n9', 'n2', 'n3'])
  expect(record.hit(2, false)).toBe(kept)
  expect(record.hit(0, false).service.node).toBe('n9')
  expect(Object.isFrozen(kept)).toBe(true)
})

test('what one diff changed is told in the order leaves, updates, joins', () => {
  const fed = new Fed()
  fed.apply({ joins: [1, 2, 3, 4].map((ref) => entry('s', { version: '1.0.0' }, { ref })) })
  const old = fed.index.get('s')!.entries
  const changes = fed.apply({
    joins: [
      entry('t', { version: '1.0.0' }, { ref: 5 }),
      entry('t', 5, { ref: 6 }),
      entry('s', {}, { ref: 7, topic: 'other' }),
    ],
    leaves: [old[0]!],
    updates: [
      { entry: entry('s', { version: '1.0.1' }, { ref: 2 }), previous: old[1]! },
      { entry: entry('s', 'rubbish', { ref: 3 }), previous: old[2]! },
    ],
  })
  expect(changes.map(({ kind, entry }) => [kind, entry.key, entry.ref])).toEqual([
    ['down', 's', 1],
    ['changed', 's', 2],
    ['rejected', 's', 3],
    ['down', 's', 3],
    ['up', 't', 5],
    ['rejected', 't', 6],
  ])
})

test('C8: 100,000 names used once leave no record behind', () => {
  const fed = new Fed()
  for (let i = 0; i < 100; i++) {
    const entries = Array.from({ length: 1_000 }, (_, ref) =>
      entry(`name-${i}-${ref}`, { version: '1.0.0' }, { ref }),
    )
    fed.apply({ joins: entries })
    expect(fed.pool.lookup(`name-${i}-7`, undefined, undefined).ok).toBe(true)
    fed.apply({ leaves: entries })
    expect(fed.pool.lookup(`name-${i}-7`, undefined, undefined).ok).toBe(false)
  }
  expect([...fed.index.records()]).toEqual([])
  expect(fed.pool.size).toBe(0)
})

test('many changes in one diff are one pass over the list, not one each', () => {
  const fed = new Fed()
  const count = 50_000
  const joins = Array.from({ length: count }, (_, ref) => entry('s', { version: `1.0.${ref % 7}` }, { ref }))
  fed.apply({ joins })
  fed.index.get('s')!.hit(0, false)
  const updates = joins.map((previous) => ({ previous, entry: { ...previous, meta: { version: '1.0.9' } } }))
  fed.apply({ updates })
  expect(fed.index.get('s')!.entries.every(({ meta }) => meta.version === '1.0.9')).toBe(true)
  fed.apply({ leaves: updates.map((update) => update.entry) })
  expect(fed.index.get('s')).toBeUndefined()
  // 50,000 passes over 50,000 places are 2.5 thousand million steps: far more than 5 s. One pass is some 100 ms.
}, 5_000)
