import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { HeldDiffs } from '../../src/registry/held-diffs.ts'
import { instanceId } from '../../src/registry/instance.ts'
import type { ServiceChange } from '../../src/registry/service-changes.ts'
import type { Diff, DownReason } from '../../src/tracker/types.ts'
import { entry, Fed } from './replica.ts'

const diff = (change: Partial<Diff>): Diff => ({
  node: 'n1',
  joins: [],
  leaves: [],
  updates: [],
  reason: undefined,
  ...change,
})

const all = (held: HeldDiffs): Diff[] => {
  const diffs: Diff[] = []
  for (let next = held.shift(); next !== undefined; next = held.shift()) diffs.push(next)
  return diffs
}

const made = (ref: number, incarnation = 1) => entry('s', { version: '1.0.0' }, { ref, incarnation })
const next = (previous: Entry<Json>): Entry<Json> => ({ ...previous, version: previous.version + 100 })

describe('what is held comes to', () => {
  test('nothing, for what came and went, and for what went and came', () => {
    const held = new HeldDiffs()
    const [a, b] = [made(1), made(2)]
    held.add(diff({ joins: [a] }))
    held.add(diff({ leaves: [b], reason: 'silent' }))
    held.add(diff({ updates: [{ entry: next(a), previous: a }] }))
    held.add(diff({ joins: [b] }))
    held.add(diff({ leaves: [next(a)] }))
    expect(all(held)).toEqual([])
  })

  test('one change of many, and a join of what it was last', () => {
    const held = new HeldDiffs()
    const [a, b] = [made(1), made(2)]
    held.add(diff({ joins: [a], updates: [{ entry: next(b), previous: b }] }))
    held.add(
      diff({
        updates: [
          { entry: next(a), previous: a },
          { entry: next(next(b)), previous: next(b) },
        ],
      }),
    )
    expect(all(held)).toMatchObject([
      { joins: [next(a)], updates: [{ entry: next(next(b)), previous: b }], leaves: [] },
    ])
    expect(all(held)).toEqual([])
  })

  test('one diff for each node, in the order in which they were heard of', () => {
    const held = new HeldDiffs()
    const of = (node: string, ref: number) => entry('s', { version: '1.0.0' }, { node, ref })
    held.add(diff({ node: 'n2', joins: [of('n2', 1)] }))
    held.add(diff({ node: 'n1', joins: [of('n1', 1)] }))
    held.add(diff({ node: 'n2', joins: [of('n2', 2)] }))
    expect(all(held)).toMatchObject([
      { node: 'n2', joins: [{ ref: 1 }, { ref: 2 }] },
      { node: 'n1', joins: [{ ref: 1 }] },
    ])
  })

  test('C12: all of the old life, with its reason, before anything of the new one', () => {
    const held = new HeldDiffs()
    held.add(diff({ leaves: [made(1), made(2)], reason: 'replaced' }))
    held.add(diff({ joins: [made(1, 2)] }))
    expect(all(held)).toMatchObject([
      { leaves: [{ ref: 1 }, { ref: 2 }], joins: [], reason: 'replaced' },
      { leaves: [], joins: [{ ref: 1, incarnation: 2 }], reason: undefined },
    ])
  })

  test('every reason for which it went: what the owner took away itself, with its word, before it went down', () => {
    const held = new HeldDiffs()
    const [a, b, c] = [made(1), made(2), made(3)]
    held.add(diff({ leaves: [c], reasons: new Map([[3, 'drained']]) }))
    held.add(diff({ leaves: [a, b], reason: 'silent' }))
    expect(all(held)).toMatchObject([
      { leaves: [c], reason: undefined, reasons: new Map([[3, 'drained']]) },
      { leaves: [a, b], reason: 'silent' },
    ])
  })
})

describe('against a reader from whom nothing is held', () => {
  interface Held {
    entry: Entry<Json>
  }
  const NODES = ['n1', 'n2']
  const pick = fc.nat(20)
  const act = fc.oneof(
    fc.record({ do: fc.constant('register' as const), node: fc.constantFrom(...NODES), fault: fc.nat(9) }),
    fc.record({ do: fc.constant('update' as const), pick, fault: fc.nat(9) }),
    fc.record({ do: fc.constant('unregister' as const), pick }),
    fc.record({ do: fc.constant('down' as const), node: fc.constantFrom(...NODES) }),
    fc.record({ do: fc.constant('up' as const), node: fc.constantFrom(...NODES) }),
    fc.record({ do: fc.constant('restart' as const), node: fc.constantFrom(...NODES) }),
    fc.record({ do: fc.constant('release' as const) }),
    fc.record({ do: fc.constant('hold' as const) }),
  )

  const picture = (fed: Fed): string[] =>
    [...fed.index.records()]
      .flatMap((record) => record.entries.map((each) => `${each.key} ${instanceId(each)} ${each.version}`))
      .sort()

  /** What a listener knows who goes by events alone; throws when their order breaks a promise. */
  function follow(known: Map<string, number>, changes: readonly ServiceChange[]): void {
    for (const change of changes) {
      if (change.kind === 'rejected') continue
      const id = instanceId(change.entry)
      if (known.has(id) !== (change.kind !== 'up')) throw new Error(`${change.kind} of ${id}`)
      if (change.kind === 'down') known.delete(id)
      else known.set(id, change.entry.version)
      if (change.kind === 'changed' && change.previous.version === change.entry.version) {
        throw new Error(`${id} has not changed`)
      }
    }
  }

  test('whatever happens in between, picture and events come to the same, each told once and in order', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60, size: 'max' }), (acts) => {
        const [plain, fed, held] = [new Fed(), new Fed(), new HeldDiffs()]
        const [told, toldLate] = [new Map<string, number>(), new Map<string, number>()]
        const lives = new Map(NODES.map((node) => [node, { incarnation: 1, up: true }]))
        let all: Held[] = []
        let holds = false
        let writes = 0
        const take = (fresh: Diff): void => {
          follow(toldLate, fed.apply(fresh))
        }
        const apply = (change: Partial<Diff> & { readonly node: string }): void => {
          const fresh = diff(change)
          follow(told, plain.apply(fresh))
          if (holds) held.add(fresh)
          else take(fresh)
        }
        const release = (): void => {
          holds = false
          for (let ready = held.shift(); ready !== undefined; ready = held.shift()) take(ready)
          expect(picture(fed)).toEqual(picture(plain))
          expect([...toldLate].sort()).toEqual([...told].sort())
        }
        const meta = (fault: number): Json => ({ version: fault === 0 ? 'none' : '1.0.0', weight: fault })
        const entriesOf = (node: string): Entry<Json>[] =>
          all.filter((each) => each.entry.node === node).map((each) => each.entry)
        const down = (node: string, reason: DownReason): void => {
          const leaves = entriesOf(node)
          if (leaves.length > 0) apply({ node, leaves, reason })
        }
        for (const each of acts) {
          if (each.do === 'hold') holds = true
          else if (each.do === 'release') release()
          else if (each.do === 'update' || each.do === 'unregister') {
            const chosen = all[each.pick % Math.max(1, all.length)]
            if (chosen === undefined) continue
            const { node } = chosen.entry
            const up = lives.get(node)?.up === true
            if (each.do === 'unregister') {
              all = all.filter((other) => other !== chosen)
              if (up) apply({ node, leaves: [chosen.entry] })
            } else {
              const previous = chosen.entry
              chosen.entry = { ...previous, version: ++writes, meta: meta(each.fault) }
              if (up) apply({ node, updates: [{ entry: chosen.entry, previous }] })
            }
          } else {
            const life = lives.get(each.node)!
            if (each.do === 'register') {
              const ref = ++writes
              const fresh = entry('s', meta(each.fault), { ...life, node: each.node, ref })
              all.push({ entry: fresh })
              if (life.up) apply({ node: each.node, joins: [fresh] })
            } else if (each.do === 'down' && life.up) {
              life.up = false
              down(each.node, 'silent')
            } else if (each.do === 'up' && !life.up) {
              life.up = true
              const joins = entriesOf(each.node)
              if (joins.length > 0) apply({ node: each.node, joins })
            } else if (each.do === 'restart') {
              if (life.up) down(each.node, 'replaced')
              life.incarnation++
              life.up = true
              const { incarnation } = life
              for (const own of all)
                if (own.entry.node === each.node) own.entry = { ...own.entry, incarnation }
              const joins = entriesOf(each.node)
              if (joins.length > 0) apply({ node: each.node, joins })
            }
          }
        }
        release()
      }),
      { numRuns: 1_000 },
    )
  })
})
