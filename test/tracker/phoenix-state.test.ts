import { describe, expect, test } from 'vitest'
import type { Frame } from '../../src/core/frame.ts'
import { OwnerState } from '../../src/core/owner-state.ts'
import { meet, Node, NOTHING } from './phoenix-replica.ts'

const keys = (frame: Frame<string>): string[] =>
  frame.writes.map((write) => (write.kind === 'put' ? write.key : `-${write.ref}`))

test('S1: an empty replica has nothing to tell of itself', () => {
  const a = new Node('a')
  expect(a.frameFor(new Node('b'))).toEqual({ incarnation: 1, from: 0, to: 0, writes: [] })
  expect(a.replica.topics()).toEqual([])
})

test('S2: a join is listed, a leave is not', () => {
  const a = new Node('a')
  a.join('john')
  expect(a.list()).toEqual(['john'])
  expect(a.leave('john').leaves.map(({ key }) => key)).toEqual(['john'])
  expect(a.list()).toEqual([])
  expect(a.replica.topics()).toEqual([])
})

describe('two nodes that know each other', () => {
  function pair() {
    const [a, b] = meet(new Node('a'), new Node('b'))
    a.join('alice')
    b.join('bob')
    return { a, b }
  }

  test('S3: a sync brings what the other has, and only this is reported', () => {
    const { a, b } = pair()
    expect(a.sync(b)).toEqual({ ...NOTHING, joins: ['bob'] })
    expect(a.list()).toEqual(['alice', 'bob'])
    expect(b.list()).toEqual(['bob'])
  })

  test('S4: the same sync again changes and reports nothing, on either side', () => {
    const { a, b } = pair()
    a.sync(b)
    const held = a.held()
    expect(a.sync(b)).toEqual(NOTHING)
    expect(a.held()).toEqual(held)
    expect(a.frameFor(b, b).writes).toEqual([])
    expect(b.sync(a)).toEqual({ ...NOTHING, joins: ['alice'] })
    expect(b.sync(a)).toEqual(NOTHING)
  })

  test('S4: the same frames delivered again, as they are', () => {
    const { a, b } = pair()
    const frame = b.frameFor(a)
    expect(a.replica.receive('b', frame).kind).toBe('applied')
    const held = a.held()
    expect(a.replica.receive('b', frame)).toEqual({ kind: 'stale' })
    expect(a.held()).toEqual(held)
    for (const [index, [, , entries]] of a.held().entries()) {
      entries.forEach((entry, at) => expect(entry).toBe(held[index]?.[2][at]))
    }
  })

  test('S5: a leave drops exactly the one that left, here and there', () => {
    const { a, b } = pair()
    a.join('anna')
    b.sync(a)
    a.leave('alice')
    expect([...(a.replica.state('a')?.entries.values() ?? [])].map(({ key }) => key)).toEqual(['anna'])
    expect(b.sync(a)).toEqual({ ...NOTHING, leaves: ['alice'] })
    expect(b.list()).toEqual(['anna', 'bob'])
    const held = b.held()
    expect(b.sync(a)).toEqual(NOTHING)
    expect(b.held()).toEqual(held)
  })

  test('S6: what joins later arrives later, and both end with the same entries, versions and all', () => {
    const { a, b } = pair()
    a.sync(b)
    b.sync(a)
    b.join('carol')
    expect(a.sync(b)).toEqual({ ...NOTHING, joins: ['carol'] })
    expect(a.sync(b)).toEqual(NOTHING)
    const all = (node: Node) => node.replica.list('lobby').sort((x, y) => (x.key < y.key ? -1 : 1))
    expect(all(a)).toEqual(all(b))
    expect(a.list()).toEqual(['alice', 'bob', 'carol'])
  })

  test('S7 (ours): an update is one update, never leave + join, and leaves no second row', () => {
    const { a, b } = pair()
    b.join('carol', 'first')
    a.sync(b)
    const ref = b.refOf('carol')
    b.update('carol', 'second')
    expect(a.sync(b)).toEqual({ ...NOTHING, updates: ['carol'] })
    expect(a.sync(b)).toEqual(NOTHING)
    expect(a.replica.getByKey('lobby', 'carol')).toMatchObject([{ ref, meta: 'second' }])
    expect(a.replica.state('b')?.entries.size).toBe(2)
  })

  test('S8: a split hides the other, keeps what comes meanwhile, and shows it when it is over', () => {
    const { a, b } = pair()
    a.sync(b)
    a.join('carol')
    a.leave('alice')
    a.join('david')
    expect(a.replica.hide('b').map(({ key }) => key)).toEqual(['bob'])
    expect(a.list()).toEqual(['carol', 'david'])
    b.join('beth')
    expect(a.sync(b)).toEqual(NOTHING)
    expect(a.list()).toEqual(['carol', 'david'])
    expect(a.replica.show('b').map(({ key }) => key)).toEqual(['bob', 'beth'])
    expect(a.list()).toEqual(['beth', 'bob', 'carol', 'david'])
  })
})

test('S11 (ours): entries are found by their ref, the version of their first write', () => {
  const a = new Node('a')
  expect(a.replica.state('a')?.entries.size).toBe(0)
  const ref = a.join('alice', 'meta')
  expect(ref).toBe(1)
  expect(a.replica.state('a')?.entries.get(ref)).toEqual({
    node: 'a',
    incarnation: 1,
    ref,
    version: 1,
    topic: 'lobby',
    key: 'alice',
    meta: 'meta',
  })
  expect(a.replica.state('a')?.entries.get(ref + 1)).toBeUndefined()
  expect(a.replica.state('b')).toBeUndefined()
})

test('S12: one key twice gives both, another key or topic none', () => {
  const a = new Node('a')
  a.join('alice', 'one')
  a.join('alice', 'two')
  expect(a.replica.getByKey('lobby', 'alice').map(({ meta }) => meta)).toEqual(['one', 'two'])
  expect(a.replica.getByKey('lobby', 'bob')).toEqual([])
  expect(a.replica.getByKey('hall', 'alice')).toEqual([])
})

test('S13: a topic lists who is up: local ones, then all, then without those that went down', () => {
  const [a, b, c] = meet(new Node('a'), new Node('b'), new Node('c'))
  for (const node of [a, b, c]) {
    expect([a, b, c].map(({ id }) => node.replica.head(id))).toEqual(
      Array(3).fill({ incarnation: 1, version: 0 }),
    )
  }
  a.join('a1')
  a.join('a2')
  b.join('b1')
  c.join('c1')
  expect(a.list()).toEqual(['a1', 'a2'])
  a.sync(b)
  a.sync(c)
  expect(a.list()).toEqual(['a1', 'a2', 'b1', 'c1'])
  a.replica.hide('b')
  expect(a.list()).toEqual(['a1', 'a2', 'c1'])
  a.replica.hide('c')
  expect(a.list()).toEqual(['a1', 'a2'])
  expect(a.list('hall')).toEqual([])
})

test('S14 (ours): a node that is down is hidden everywhere; once it is forgotten, being up again brings nothing back', () => {
  const [a, b] = meet(new Node('a'), new Node('b'))
  a.join('alice')
  b.join('bob')
  b.sync(a)
  b.replica.hide('a')
  expect(b.list()).toEqual(['bob'])
  expect(b.replica.getByKey('lobby', 'alice')).toEqual([])
  expect(b.replica.state('a')?.entries.size).toBe(1)
  expect(b.replica.forget('a')).toEqual([])
  expect([...b.replica.owners()]).toEqual(['b'])
  expect(b.replica.show('a')).toEqual([])
  // Nor does a delta that follows on what was forgotten.
  const known = a.writer.version
  a.join('anna')
  const delta = a.replica.state('a')!.since({ incarnation: 1, version: known })
  expect(delta.from).toBe(known)
  expect(b.replica.receive('a', delta)).toEqual({ kind: 'gap', have: 0 })
  expect(b.list()).toEqual(['bob'])
  b.up(a)
  expect(b.list()).toEqual(['bob'])
})

describe('deltas', () => {
  test('S15: each brings what its owner did since, also when it overlaps the one before', () => {
    const [a, b] = meet(new Node('a'), new Node('b'))
    a.join('alice')
    const first = a.frameFor(b)
    expect(b.replica.receive('a', first)).toMatchObject({ change: { joins: [{ key: 'alice' }], leaves: [] } })
    expect(b.replica.head('a')).toEqual({ incarnation: 1, version: 1 })
    const sinceFirst = { incarnation: 1, version: 1 }
    a.leave('alice')
    expect(b.replica.receive('a', a.replica.state('a')!.since(sinceFirst))).toMatchObject({
      change: { joins: [], leaves: [{ key: 'alice' }] },
    })
    expect(b.replica.head('a')?.version).toBe(2)
    a.join('alice')
    const overlapping = {
      incarnation: 1,
      from: 1,
      to: 3,
      writes: [
        { kind: 'remove', version: 2, ref: 1 },
        { kind: 'put', version: 3, ref: 3, topic: 'lobby', key: 'alice', meta: '' },
      ],
    } as const satisfies Frame<string>
    expect(b.replica.receive('a', overlapping)).toMatchObject({
      kind: 'applied',
      change: { joins: [{ key: 'alice', ref: 3 }], leaves: [], updates: [] },
    })
    expect(b.replica.head('a')?.version).toBe(3)
    // No clouds: what is remembered is the entry, and a log of numbers.
    expect(b.replica.state('a')?.entries.size).toBe(1)
    expect(b.replica.state('a')?.logLength).toBeLessThanOrEqual(3)
  })

  test('S16 (ours): across a hole between two of them is a gap, in either order, and nothing is applied', () => {
    const a = new Node('a')
    for (const key of ['one', 'two', 'three']) a.join(key)
    const part = (from: number, to: number): Frame<string> => ({
      incarnation: 1,
      from,
      to,
      writes: a.replica
        .state('a')!
        .since({ incarnation: 1, version: from })
        .writes.filter(({ version }) => version > from && version <= to),
    })
    const [b] = meet(new Node('b'), a)
    expect(b.replica.receive('a', part(2, 3))).toEqual({ kind: 'gap', have: 0 })
    expect(b.list()).toEqual([])
    expect(b.replica.receive('a', part(0, 1)).kind).toBe('applied')
    expect(b.replica.receive('a', part(2, 3))).toEqual({ kind: 'gap', have: 1 })
    expect(b.list()).toEqual(['one'])
    expect(b.replica.receive('a', part(1, 2)).kind).toBe('applied')
    expect(b.replica.receive('a', part(2, 3)).kind).toBe('applied')
    expect(b.list()).toEqual(['one', 'three', 'two'])
  })

  test('S17 (ours): an answer is about the owner that was asked for and nobody else', () => {
    const [a, b, c] = meet(new Node('a'), new Node('b'), new Node('c'))
    a.join('alice')
    b.join('bob')
    a.sync(b)
    expect(keys(a.frameFor(c))).toEqual(['alice'])
    expect(keys(a.frameFor(c, b))).toEqual(['bob'])
    expect(() => b.frameFor(c, new Node('z'))).toThrow('b holds nothing of z')
  })

  test('S18 (ours): frames of two owners stay two, and neither changes what is held of the other', () => {
    const [a, b, c] = meet(new Node('a'), new Node('b'), new Node('c'))
    for (const node of [a, b]) for (const n of [1, 2]) node.join(`${node.id}${n}`)
    c.replica.receive('a', a.frameFor(c))
    expect(c.replica.head('b')).toEqual({ incarnation: 1, version: 0 })
    c.replica.receive('b', b.frameFor(c))
    expect(c.list()).toEqual(['a1', 'a2', 'b1', 'b2'])
    expect(['a', 'b'].map((id) => c.replica.head(id)?.version)).toEqual([2, 2])
  })

  test('S19 (ours): the same topic and key of two owners is two entries; one owner’s removal is only of its own', () => {
    const arrivals: ((c: Node, a: Node, b: Node) => void)[] = [
      (c, a, b) => {
        c.sync(a)
        c.sync(b)
      },
      (c, a, b) => {
        c.sync(b)
        c.sync(a)
      },
    ]
    for (const arrive of arrivals) {
      const [a, b, c] = meet(new Node('a'), new Node('b'), new Node('c'))
      // Same refs and versions at both owners, as it happens with two that do the same.
      expect(a.join('shared', 'of a')).toBe(b.join('shared', 'of b'))
      arrive(c, a, b)
      expect(
        c.replica
          .getByKey('lobby', 'shared')
          .map(({ meta }) => meta)
          .sort(),
      ).toEqual(['of a', 'of b'])
      b.leave('shared')
      expect(c.sync(b)).toEqual({ ...NOTHING, leaves: ['shared'] })
      expect(c.replica.getByKey('lobby', 'shared')).toMatchObject([{ node: 'a', meta: 'of a' }])
      a.sync(b)
      expect(a.replica.getByKey('lobby', 'shared')).toMatchObject([{ node: 'a' }])
      a.update('shared', 'of a again')
      c.sync(a)
      expect(c.replica.getByKey('lobby', 'shared')).toMatchObject([{ node: 'a', meta: 'of a again' }])
    }
  })

  test('S20 (ours): the same delta twice is stale the second time', () => {
    const [a, b] = meet(new Node('a'), new Node('b'))
    a.join('alice')
    b.sync(a)
    a.join('anna')
    const delta = a.frameFor(b)
    expect(delta.from).toBe(1)
    expect(b.replica.receive('a', delta).kind).toBe('applied')
    expect(b.replica.receive('a', delta)).toEqual({ kind: 'stale' })
    expect(b.list()).toEqual(['alice', 'anna'])
    expect(a.replica.state('a')!.since({ incarnation: 1, version: 1 })).toEqual(delta)
  })

  test('S21 (ours): a delta over a join and its leave keeps only the removal, so it is right from every version', () => {
    const a = new Node('a')
    for (const key of ['l1', 'l2', 'l3', 'private', 'l4', 'l5']) a.join(key)
    const state = a.replica.state('a')!
    const readers = [3, 4, 5, 6].map((version) => {
      const reader = new OwnerState<string>('a', 100)
      const writes = state.since({ incarnation: 0, version: 0 }).writes.slice(0, version)
      reader.receive({ incarnation: 1, from: 0, to: version, writes })
      return reader
    })
    a.leave('private')
    const delta = state.since({ incarnation: 1, version: 3 })
    expect(keys(delta)).toEqual(['l4', 'l5', `-${a.refOf('private')}`])
    for (const reader of readers) {
      expect(reader.receive(delta).kind).toBe('applied')
      expect([...reader.entries.values()].map(({ key }) => key)).toEqual(['l1', 'l2', 'l3', 'l4', 'l5'])
    }
  })
})

test('C1 W4: an old full state that comes after a newer delta undoes nothing', () => {
  const [a, b, c] = meet(new Node('a'), new Node('b'), new Node('c'))
  a.join('alice', 'v1')
  b.sync(a)
  c.sync(a)
  a.update('alice', 'v2')
  a.update('alice', 'v3')
  c.sync(a)
  const late = b.replica.state('a')!.since({ incarnation: 0, version: 0 })
  expect(late).toMatchObject({ from: 0, to: 1, writes: [{ meta: 'v1' }] })
  expect(c.replica.receive('a', late)).toEqual({ kind: 'stale' })
  expect(c.replica.getByKey('lobby', 'alice')).toMatchObject([{ meta: 'v3' }])
  a.leave('alice')
  c.sync(a)
  expect(c.replica.receive('a', late)).toEqual({ kind: 'stale' })
  expect(c.list()).toEqual([])
  expect(b.sync(c)).toEqual({ ...NOTHING, leaves: ['alice'] })
})
