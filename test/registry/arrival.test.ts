import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { entry, Fed } from './replica.ts'

const NAMES = ['a', '__proto__', 'c']

/** Entries of one node, some of them no services and some of another topic. */
const entries = fc
  .array(
    fc.record({
      name: fc.constantFrom(...NAMES),
      version: fc.constantFrom('1.0.0', '2.0.0', '2.1.0', 'rubbish'),
      topic: fc.constantFrom(undefined, undefined, undefined, 'other'),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((all) =>
    all.map(({ name, version, topic }, index) =>
      entry(name, { version }, { ref: index + 1, ...(topic === undefined ? {} : { topic }) }),
    ),
  )

/** What an owner wrote after the snapshot and before it is shown. */
const later = fc.array(
  fc.record({
    kind: fc.constantFrom('update', 'remove', 'add'),
    at: fc.nat(20),
    name: fc.constantFrom(...NAMES),
  }),
  { maxLength: 4 },
)

function shown(
  arrived: readonly Entry<Json>[],
  writes: readonly { kind: string; at: number; name: string }[],
) {
  const joins = [...arrived]
  for (const [index, { kind, at, name }] of writes.entries()) {
    const place = at % Math.max(1, joins.length)
    const old = joins[place]
    if (kind === 'add') joins.push(entry(name, { version: '3.0.0' }, { ref: 100 + index }))
    else if (kind === 'remove') joins.splice(place, 1)
    else if (old !== undefined)
      joins[place] = { ...old, meta: { version: index === 0 ? 'rubbish' : '4.0.0' } }
  }
  return joins
}

test('what was prepared as it came is shown as if it had come at once', () => {
  fc.assert(
    fc.property(entries, later, fc.integer({ min: 1, max: 4 }), entries, (arrived, writes, size, others) => {
      const [prepared, plain] = [new Fed(), new Fed()]
      const before = others.map((each) => ({ ...each, node: 'other' }))
      const joins = shown(arrived, writes)
      for (let at = 0; at < arrived.length; at += size) {
        prepared.index.prepare(arrived.slice(at, at + size), arrived[0]!)
        expect([...prepared.index.records()]).toEqual([])
      }
      const changes = [plain, prepared].map((fed) => {
        fed.apply({ node: 'other', joins: before })
        return fed.apply({ node: 'n1', joins })
      })
      expect(changes[1]).toEqual(changes[0])
      const held = (fed: Fed) => NAMES.map((name) => new Set(fed.index.get(name)?.entries ?? []))
      expect(held(prepared)).toEqual(held(plain))
      for (const name of NAMES) {
        const [one, other] = [plain, prepared].map((fed) =>
          fed.index.get(name)?.entries.map(({ meta }) => meta.version),
        )
        expect(other).toEqual(one)
      }
      // It was for once: what goes leaves nothing behind.
      prepared.apply({ node: 'n1', leaves: joins })
      prepared.apply({ node: 'other', leaves: before })
      expect([...prepared.index.records()]).toEqual([])
    }),
    { numRuns: 1_000 },
  )
})

test('a selector that waited for nothing, and one that has an answer, both see what is shown', () => {
  const fed = new Fed()
  fed.add('old', [{ version: '1.0.0' }])
  const [fresh, old] = ['fresh', 'old'].map((name) => fed.pool.select(name, undefined, undefined))
  expect([fresh!.next().ok, old!.next().ok]).toEqual([false, true])
  const joins = [
    entry('fresh', { version: '1.0.0' }, { node: 'n9', ref: 1 }),
    entry('old', { version: '2.0.0' }, { node: 'n9', ref: 2 }),
  ]
  fed.index.prepare(joins, joins[0]!)
  expect([fresh!.next().ok, old!.next()]).toMatchObject([false, { service: { version: '1.0.0' } }])
  fed.apply({ node: 'n9', joins })
  expect([fresh!.next().ok, old!.next()]).toMatchObject([true, { service: { version: '2.0.0' } }])
})

test('to show what was prepared no meta is read', () => {
  const fed = new Fed()
  let reads = 0
  const watch = (meta: object): Json =>
    new Proxy(meta, {
      get: (target, field) => {
        reads++
        return Reflect.get(target, field) as unknown
      },
    }) as Json
  const joins = Array.from({ length: 100 }, (_, index) =>
    entry(`s${index}`, watch({ version: '1.0.0', weight: 2 }), { ref: index + 1 }),
  )
  for (let at = 0; at < joins.length; at += 10) fed.index.prepare(joins.slice(at, at + 10), joins[0]!)
  expect(reads).toBeGreaterThanOrEqual(100)
  reads = 0
  expect(fed.apply({ joins })).toHaveLength(100)
  expect(reads).toBe(0)
  expect(fed.index.get('s99')?.size).toBe(1)
})
