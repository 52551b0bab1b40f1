import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import { Replica } from '../../src/core/replica.ts'
import { Writer } from '../../src/core/writer.ts'

/** What may happen to a replica, on three owners. */
const action = fc.record({
  owner: fc.constantFrom('a', 'b', 'c'),
  kind: fc.constantFrom(
    'join',
    'join',
    'join',
    'join',
    'update',
    'leave',
    'show',
    'hide',
    'forget',
    'snapshot',
    'restart',
  ),
  topic: fc.constantFrom('t', 't', 't', '__proto__'),
  key: fc.constantFrom('k', 'k', 'k', 'constructor'),
  pick: fc.nat(9),
})

interface Source {
  replica: Replica<number>
  writer: Writer<number>
}

test('the index equals a naive scan of the shown owners, whatever happens', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60, size: 'max' }), (actions) => {
      const replica = new Replica<number>(4)
      const sources = new Map<string, Source>()
      const visible = new Set<string>()
      let incarnation = 0
      const start = (owner: string) => {
        const own = new Replica<number>(4)
        sources.set(owner, { replica: own, writer: new Writer(own, owner, ++incarnation) })
      }
      for (const { owner, kind, topic, key, pick } of actions) {
        if (!sources.has(owner)) start(owner)
        if (kind === 'show') {
          replica.show(owner)
          if (replica.head(owner)) visible.add(owner)
        } else if (kind === 'hide' || kind === 'forget') {
          const before = replica.state(owner)?.entries.size ?? 0
          const gone = replica[kind](owner)
          expect(gone).toHaveLength(visible.has(owner) ? before : 0)
          visible.delete(owner)
        } else if (kind === 'restart') start(owner)
        else write(sources.get(owner)!, owner, kind, topic, key, pick)
        const { replica: own } = sources.get(owner)!
        const have =
          kind === 'snapshot'
            ? { incarnation: 0, version: 0 }
            : (replica.head(owner) ?? { incarnation: 0, version: 0 })
        replica.receive(owner, own.state(owner)!.since(have))
        if (!replica.isVisible(owner)) visible.delete(owner)
        expectEqualToScan(replica, sources, visible)
      }
    }),
    { numRuns: 500 },
  )
})

test('hiding keeps what showing brings back; an update is never seen as missing', () => {
  const replica = new Replica<number>()
  const writer = new Writer(replica, 'a', 1)
  const { refs } = writer.write([{ kind: 'put', ref: undefined, topic: 't', key: 'k', meta: 1 }])
  expect(replica.hide('a').map((entry) => entry.meta)).toEqual([1])
  expect(replica.list('t')).toEqual([])
  const { change } = writer.write([{ kind: 'put', ref: refs[0], topic: 't', key: 'k', meta: 2 }])
  expect(change.updates.map(({ entry, previous }) => [previous.meta, entry.meta])).toEqual([[1, 2]])
  expect(replica.show('a').map((entry) => entry.meta)).toEqual([2])
  expect(replica.getByKey('t', 'k').map((entry) => entry.meta)).toEqual([2])
  expect(replica.show('a')).toEqual([])
})

test('C8 C44: names used once leave nothing behind; __proto__ is an ordinary name', () => {
  const replica = new Replica<number>()
  const writer = new Writer(replica, 'a', 1)
  for (const name of ['__proto__', 'constructor', ...Array.from({ length: 1_000 }, (_, i) => `name-${i}`)]) {
    const { refs } = writer.write([{ kind: 'put', ref: undefined, topic: name, key: name, meta: 1 }])
    expect(replica.getByKey(name, name)).toHaveLength(1)
    writer.write([{ kind: 'remove', ref: refs[0]! }])
    expect(replica.getByKey(name, name)).toEqual([])
  }
  expect(replica.topics()).toEqual([])
  expect(({} as { x?: unknown }).x).toBeUndefined()
})

test('J6: a writer takes each write once, a refuted one keeps its refs', () => {
  const replica = new Replica<string>()
  const writer = new Writer(replica, 'a', 1)
  const put = (key: string) => ({ kind: 'put' as const, ref: undefined, topic: 't', key, meta: key })
  expect(writer.write([put('x'), put('y')]).refs).toEqual([1, 2])
  expect(writer.pending).toBe(true)
  expect(writer.take()).toMatchObject({ from: 0, to: 2, writes: [{ version: 1 }, { version: 2 }] })
  expect(writer.pending).toBe(false)
  writer.write([{ kind: 'remove', ref: 1 }])
  expect(writer.take()).toEqual({
    incarnation: 1,
    from: 2,
    to: 3,
    writes: [{ kind: 'remove', version: 3, ref: 1 }],
  })
  expect(writer.take()).toEqual({ incarnation: 1, from: 3, to: 3, writes: [] })

  const change = writer.reincarnate(7)
  expect(change.leaves.map((entry) => entry.ref)).toEqual([2])
  expect(change.joins.map((entry) => [entry.ref, entry.incarnation])).toEqual([[2, 7]])
  expect(replica.head('a')).toEqual({ incarnation: 7, version: 3 })
  expect(writer.take()).toMatchObject({ incarnation: 7, from: 0, to: 3, writes: [{ ref: 2, version: 2 }] })
})

function write(
  { replica, writer }: Source,
  owner: string,
  kind: string,
  topic: string,
  key: string,
  pick: number,
): void {
  const entries = [...(replica.state(owner)?.entries.values() ?? [])]
  const entry = entries[pick % Math.max(1, entries.length)]
  if (kind === 'join') writer.write([{ kind: 'put', ref: undefined, topic, key, meta: pick }])
  else if (kind === 'update' && entry)
    writer.write([{ kind: 'put', ref: entry.ref, topic: entry.topic, key: entry.key, meta: pick }])
  else if (kind === 'leave' && entry) writer.write([{ kind: 'remove', ref: entry.ref }])
}

function expectEqualToScan(
  replica: Replica<number>,
  sources: Map<string, Source>,
  visible: Set<string>,
): void {
  const all: Entry<number>[] = []
  for (const owner of visible) {
    const { replica: own } = sources.get(owner)!
    expect(replica.head(owner)).toEqual(own.head(owner))
    all.push(...own.state(owner)!.entries.values())
  }
  const byIdentity = (a: Entry<number>, b: Entry<number>) => a.node.localeCompare(b.node) || a.ref - b.ref
  for (const topic of ['t', '__proto__']) {
    const inTopic = all.filter((entry) => entry.topic === topic)
    expect(replica.list(topic).sort(byIdentity)).toEqual(inTopic.sort(byIdentity))
    for (const key of ['k', 'constructor']) {
      const underKey = inTopic.filter((entry) => entry.key === key)
      expect(replica.getByKey(topic, key).sort(byIdentity)).toEqual(underKey.sort(byIdentity))
    }
  }
  expect(replica.topics().sort()).toEqual([...new Set(all.map((entry) => entry.topic))].sort())
}
