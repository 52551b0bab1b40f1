import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Intake } from '../../src/core/intake.ts'
import type { Frame } from '../../src/core/frame.ts'
import { OwnerState } from '../../src/core/owner-state.ts'
import { Replica } from '../../src/core/replica.ts'
import { delivery } from './history.ts'

/** The snapshot as it is when it came in parts of so many writes. */
function drafted(frame: Frame<number>, size: number): Frame<number> {
  const intake = new Intake<number>('owner', frame.incarnation)
  const parts = []
  for (let at = 0; at < frame.writes.length; at += size) {
    const part = intake.add(frame.writes.slice(at, at + size))
    parts.push(...part)
    expect(intake.first).toBe(parts[0])
  }
  expect([...intake.entries.values()]).toEqual(parts)
  return { ...frame, entries: intake.entries }
}

test('J1 J5: a snapshot that was made ready part by part does what the same one does at once', () => {
  fc.assert(
    fc.property(delivery, fc.integer({ min: 1, max: 5 }), ({ frames }, size) => {
      const [one, other] = [new OwnerState<number>('owner', 4), new OwnerState<number>('owner', 4)]
      for (const frame of frames) {
        const held = new Map(other.entries)
        const received = other.receive(frame.from === 0 ? drafted(frame, size) : frame)
        expect(received).toEqual(one.receive(frame))
        expect(other.head).toEqual(one.head)
        expect([...other.entries]).toEqual([...one.entries])
        // J6: readers keep the object they have.
        for (const [ref, entry] of other.entries) {
          const before = held.get(ref)
          if (before?.incarnation === entry.incarnation && before.version === entry.version) {
            expect(entry).toBe(before)
          }
        }
      }
    }),
    { numRuns: 1_000 },
  )
})

const MANY = 2_500

const many = (incarnation: number): Frame<number> => ({
  incarnation,
  from: 0,
  to: MANY,
  writes: Array.from({ length: MANY }, (_, index) => ({
    kind: 'put' as const,
    version: index + 1,
    ref: index + 1,
    topic: index % 10 === 0 ? 'rare' : 'common',
    key: `key-${index % 2_000}`,
    meta: index,
  })),
})

/** What may be asked or done while of two owners' entries only some are in their places. */
test.each<[string, (replica: Replica<number>) => void]>([
  ['nothing', () => undefined],
  ['a key is asked for', (replica) => void replica.getByKey('common', 'key-7')],
  ['a topic is listed', (replica) => void replica.list('rare')],
  ['all is settled', (replica) => void replica.settle(Infinity)],
  ['another is shown', (replica) => void (replica.receive('c', many(1)), replica.show('c'))],
  ['one goes and comes back', (replica) => void (replica.hide('a'), replica.show('a'))],
  ['one is forgotten', (replica) => void replica.forget('b')],
  [
    'one changes',
    (replica) => {
      const put = { kind: 'put' as const, version: MANY + 1, ref: 8, topic: 'new', key: 'key-7', meta: 0 }
      const remove = { kind: 'remove' as const, version: MANY + 2, ref: 9 }
      replica.receive('a', { incarnation: 1, from: MANY, to: MANY + 2, writes: [put, remove] })
    },
  ],
])(
  'J5: many that are shown at once are all found at once, before they have settled and after: %s',
  (_, act) => {
    for (const steps of [0, 1, 3, 100]) {
      const replica = new Replica<number>()
      for (const owner of ['a', 'b']) {
        replica.receive(owner, many(1))
        replica.show(owner)
      }
      for (let step = 0; step < steps; step++) replica.settle(300)
      act(replica)
      const all = [...replica.owners()].flatMap((owner) => [...replica.state(owner)!.entries.values()])
      const topics = new Set(all.map(({ topic }) => topic))
      expect(new Set(replica.topics())).toEqual(topics)
      for (const topic of topics) {
        const expected = all.filter((entry) => entry.topic === topic)
        const listed = steps % 2 === 0 ? replica.list(topic) : undefined
        expect(new Set(replica.getByKey(topic, 'key-7'))).toEqual(
          new Set(expected.filter(({ key }) => key === 'key-7')),
        )
        const list = listed ?? replica.list(topic)
        expect(new Set(list)).toEqual(new Set(expected))
        expect(list).toHaveLength(expected.length)
      }
      while (replica.settle(1_000));
      expect(replica.list('common')).toHaveLength(all.filter(({ topic }) => topic === 'common').length)
      for (const owner of [...replica.owners()]) replica.forget(owner)
      expect(replica.topics()).toEqual([])
    }
  },
)
