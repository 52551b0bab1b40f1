import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareHeads, type Entry, type Head, type Write } from '../../src/core/frame.ts'
import { NO_HEAD, OwnerState, type Change } from '../../src/core/owner-state.ts'
import { WriteLog } from '../../src/core/write-log.ts'
import { asHistory, cut, delivery, entriesAt, live, lives } from './history.ts'

const RUNS = { numRuns: 2_000 }

// Frames arrive cut, late, twice, out of order or never.
test('J1 J2 J3 J4: what is held is always some moment the owner lived, and never goes back', () => {
  fc.assert(
    fc.property(delivery, ({ history, frames }) => {
      const state = new OwnerState<number>('owner', 4)
      for (const frame of frames) {
        const before = state.head
        const had = asHistory(state.entries)
        const received = state.receive(frame)
        if (received.kind !== 'applied') {
          expect(state.head).toEqual(before)
          expect(asHistory(state.entries)).toEqual(had)
        }
        if (received.kind === 'gap') expect(frame.from).toBeGreaterThan(received.have)
        const after: Head | undefined = state.head
        if (before && after) expect(compareHeads(after, before)).toBeGreaterThanOrEqual(0)
        if (state.head) expect(asHistory(state.entries)).toEqual(entriesAt(history, state.head))
      }
    }),
    RUNS,
  )
})

test('J2: joining is idempotent, and any order that leaves no gap ends in the same state', () => {
  fc.assert(
    fc.property(delivery, fc.integer(), ({ history, frames }, seed) => {
      const last = history.at(-1)!
      const whole = cut(history, last, 0, last.writes.length)
      const shuffled = [...frames].sort((a, b) => ((a.to * 31 + b.from * 17) ^ seed) % 7)
      for (const order of [
        [...frames, whole],
        [whole, ...frames],
        [...shuffled, whole, ...frames],
      ]) {
        const state = new OwnerState<number>('owner', 4)
        for (const frame of order) state.receive(frame)
        expect(state.head).toEqual({ incarnation: last.incarnation, version: last.writes.length })
        expect(asHistory(state.entries)).toEqual(entriesAt(history, state.head!))
        for (const frame of order) expect(state.receive(frame).kind).toBe('stale')
      }
    }),
    RUNS,
  )
})

test('J3 J5: an answer to "since" brings a reader at any head to the head it was given at, through any relay', () => {
  fc.assert(
    fc.property(delivery, fc.nat(24), fc.nat(2), ({ history, frames }, version, index) => {
      const relay = new OwnerState<number>('owner', 4)
      for (const frame of frames) relay.receive(frame)
      if (!relay.head) return
      const reader = new OwnerState<number>('owner', 4)
      const life = history[index % history.length]!
      reader.receive(cut(history, life, 0, version % (life.writes.length + 1)))
      const behind = compareHeads(reader.head ?? NO_HEAD, relay.head) < 0
      const answer = relay.since(reader.head ?? NO_HEAD)
      expect(reader.receive(answer).kind).toBe(behind ? 'applied' : 'stale')
      if (behind) expect(asHistory(reader.entries)).toEqual(entriesAt(history, relay.head))
      const known = answer.writes.map((write) => write.version)
      expect(known).toEqual([...known].sort((a, b) => a - b))
      expect(new Set(answer.writes.map((write) => write.ref)).size).toBe(answer.writes.length)
    }),
    RUNS,
  )
})

test('J3: a log that was cut still answers right, from every version', () => {
  fc.assert(
    fc.property(lives, ([life]) => {
      const history = [life!]
      const relay = new OwnerState<number>('owner', 2)
      const { incarnation, writes } = life!
      relay.receive(cut(history, life!, 0, 0))
      for (let to = 1; to <= writes.length; to++) relay.receive(cut(history, life!, to - 1, to))
      for (let version = 0; version <= writes.length; version++) {
        const reader = new OwnerState<number>('owner', 2)
        reader.receive(cut(history, life!, 0, version))
        reader.receive(relay.since({ incarnation, version }))
        expect(asHistory(reader.entries)).toEqual(entriesAt(history, relay.head!))
      }
    }),
  )
})

test('the reported change is exactly the difference between before and after', () => {
  fc.assert(
    fc.property(delivery, ({ frames }) => {
      const state = new OwnerState<number>('owner', 4)
      for (const frame of frames) {
        const before = new Map(state.entries)
        const incarnation = state.head?.incarnation
        const received = state.receive(frame)
        if (received.kind === 'applied') {
          expect(sorted(received.change)).toEqual(
            difference(before, state.entries, incarnation === frame.incarnation),
          )
        }
      }
    }),
    RUNS,
  )
})

test('J6: an entry that a snapshot finds unchanged stays the same object', () => {
  const life = live(10, [
    { kind: 'join', topic: 'a', key: 'x' },
    { kind: 'join', topic: 'a', key: 'y' },
    { kind: 'update', pick: 1 },
  ])
  const state = new OwnerState<number>('owner', 4)
  state.receive(cut([life], life, 0, 2))
  const kept = state.entries.get(1)
  const received = state.receive(cut([life], life, 0, 3))
  expect(state.entries.get(1)).toBe(kept)
  expect(received.kind === 'applied' && received.change.updates.map(({ entry }) => entry.ref)).toEqual([2])
})

describe('the log', () => {
  const many = live(10, [
    { kind: 'join', topic: 'a', key: 'x' },
    ...Array.from({ length: 50 }, () => ({ kind: 'join' as const, topic: 'a', key: 'y' })),
  ])
  const upTo = (limit: number) => {
    const state = new OwnerState<number>('owner', limit)
    state.receive(cut([many], many, 0, 1))
    for (let to = 2; to <= many.writes.length; to++) state.receive(cut([many], many, to - 1, to))
    return state
  }

  test('answers with a delta down to its horizon, with a snapshot below, and is bounded', () => {
    const state = upTo(8)
    expect(state.logLength).toBeLessThan(16)
    const { horizon } = state
    expect(horizon).toBeGreaterThan(1)
    expect(state.since({ incarnation: 10, version: horizon }).from).toBe(horizon)
    expect(state.since({ incarnation: 10, version: horizon - 1 }).from).toBe(0)
    expect(state.since({ incarnation: 9, version: 51 }).from).toBe(0)
    expect(state.since({ incarnation: 10, version: 51 })).toEqual({
      incarnation: 10,
      from: 51,
      to: 51,
      writes: [],
    })
  })

  test('gives the shorter answer when much more was written than is left', () => {
    const life = live(10, [
      { kind: 'join', topic: 'a', key: 'x' },
      ...Array.from({ length: 129 }, () => ({ kind: 'update' as const, pick: 0 })),
    ])
    const state = new OwnerState<number>('owner', 1_000)
    state.receive(cut([life], life, 0, 1))
    for (let to = 2; to <= 130; to++) state.receive(cut([life], life, to - 1, to))
    expect(state.since({ incarnation: 10, version: 1 })).toMatchObject({
      from: 0,
      writes: [{ version: 130 }],
    })
    expect(state.since({ incarnation: 10, version: 2 })).toMatchObject({
      from: 2,
      writes: [{ version: 130 }],
    })
  })

  test('tells why an entry was removed, in every delta that tells of it, and forgets it with the write', () => {
    const state = new OwnerState<number>('owner', 4)
    const put = (version: number) =>
      ({ kind: 'put', version, ref: version, topic: 't', key: 'k', meta: 0 }) as const
    const receive = (to: number, write: Write<number>) =>
      state.receive({ incarnation: 1, from: to === 1 ? 0 : to - 1, to, writes: [write] })
    for (let version = 1; version <= 6; version++) receive(version, put(version))
    const expired = { kind: 'remove', version: 7, ref: 1, reason: 'expired' } as const
    expect(receive(7, expired)).toMatchObject({ change: { reasons: new Map([[1, 'expired']]) } })
    expect(receive(8, { kind: 'remove', version: 8, ref: 2 })).toMatchObject({
      change: { leaves: [{ ref: 2 }], reasons: undefined },
    })
    expect(state.since({ incarnation: 1, version: 6 }).writes).toEqual([
      expired,
      { kind: 'remove', version: 8, ref: 2 },
    ])
    const held = new WriteLog(2, 0)
    for (let version = 1; version <= 1_000; version++) {
      held.append({ kind: 'remove', version: 2 * version, ref: 1, reason: 'expired' })
    }
    let told = 0
    held.forEachSince(held.horizon, (logged) => (told += Number('reason' in logged)))
    expect(told).toBe(held.length)
    expect(held.reasons).toBe(held.length)
  })

  test('C4: entries, logs and their metas are gone after any number of registrations', () => {
    const state = new OwnerState<number>('owner', 16)
    let version = 0
    const write = (kind: 'put' | 'remove', ref: number) => {
      const from = version++
      const put = { kind: 'put' as const, version, ref, topic: 't', key: 'k', meta: version }
      state.receive({
        incarnation: 1,
        from,
        to: version,
        writes: [kind === 'put' ? put : { kind, version, ref }],
      })
    }
    for (let round = 0; round < 10_000; round++) {
      const ref = version + 1
      for (let update = 0; update < 6; update++) write('put', ref)
      write('remove', ref)
    }
    expect(state.entries.size).toBe(0)
    expect(state.logLength).toBeLessThan(32)
  })
})

test('sizeAfter tells how many entries there would be', () => {
  fc.assert(
    fc.property(delivery, ({ frames }) => {
      const state = new OwnerState<number>('owner', 4)
      for (const frame of frames) {
        const expected = state.sizeAfter({
          ...frame,
          writes: frame.writes.filter(
            (write) =>
              write.version > (state.head?.version ?? 0) ||
              frame.from === 0 ||
              frame.incarnation !== state.head?.incarnation,
          ),
        })
        if (state.receive(frame).kind === 'applied') expect(state.entries.size).toBe(expected)
      }
    }),
    RUNS,
  )
})

test('lives in this test are not all empty', () => {
  const sizes = fc.sample(lives, 200).flatMap((all) => all.map((each) => each.writes.length))
  expect(Math.max(...sizes)).toBeGreaterThan(10)
})

const byRef = (a: Entry<number>, b: Entry<number>) => a.ref - b.ref

const sorted = ({ joins, leaves, updates }: Change<number>) => ({
  joins: [...joins].sort(byRef),
  leaves: [...leaves].sort(byRef),
  updates: [...updates].sort((a, b) => byRef(a.entry, b.entry)),
})

function difference(
  before: ReadonlyMap<number, Entry<number>>,
  after: ReadonlyMap<number, Entry<number>>,
  sameLife: boolean,
) {
  const kept = (ref: number) => sameLife && before.has(ref) && after.has(ref)
  return sorted({
    joins: [...after.values()].filter(({ ref }) => !kept(ref)),
    leaves: [...before.values()].filter(({ ref }) => !kept(ref)),
    updates: [...after.values()].flatMap((entry) => {
      const previous = before.get(entry.ref)
      return kept(entry.ref) && previous && previous.version !== entry.version ? [{ entry, previous }] : []
    }),
  })
}
