import fc from 'fast-check'
import type { Entry, Frame, Head, Put, Write } from '../../src/core/frame.ts'

/** What an owner did, step by step: the plainest thing that can be right. */
export type Step =
  | { kind: 'join'; topic: string; key: string }
  | { kind: 'update'; pick: number }
  | { kind: 'leave'; pick: number }

/** One life of an owner as its writes in order, none left out. */
export interface Life {
  readonly incarnation: number
  readonly writes: readonly Write<number>[]
}

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('join' as const),
      topic: fc.constantFrom('a', 'b'),
      key: fc.constantFrom('x', 'y', 'z'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('update' as const), pick: fc.nat(99) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), pick: fc.nat(99) }) },
)

const steps = (maxLength: number): fc.Arbitrary<Step[]> => fc.array(step, { maxLength, size: 'max' })

/** Lives of one owner in rising incarnation. Metas are unique numbers, so no two writes look alike. */
export const lives = fc
  .array(steps(24), { minLength: 1, maxLength: 3 })
  .map((all) => all.map((each, index) => live((index + 1) * 10, each)))

export function live(incarnation: number, all: readonly Step[]): Life {
  const writes: Write<number>[] = []
  const held = new Map<number, Put<number>>()
  for (const each of all) {
    const version = writes.length + 1
    const meta = incarnation * 1_000 + version
    if (each.kind === 'join') {
      const put: Put<number> = { kind: 'put', version, ref: version, topic: each.topic, key: each.key, meta }
      held.set(version, put)
      writes.push(put)
      continue
    }
    const old = [...held.values()][each.pick % Math.max(1, held.size)]
    if (old === undefined) continue
    if (each.kind === 'update') {
      const put: Put<number> = { ...old, version, meta }
      held.set(old.ref, put)
      writes.push(put)
    } else {
      held.delete(old.ref)
      writes.push({ kind: 'remove', version, ref: old.ref })
    }
  }
  return { incarnation, writes }
}

/** What the owner had at a head: its writes up to there, replayed one by one. By ref. */
export function entriesAt(history: readonly Life[], head: Head): Map<number, Omit<Put<number>, 'kind'>> {
  const entries = new Map<number, Omit<Put<number>, 'kind'>>()
  for (const write of history.find((each) => each.incarnation === head.incarnation)?.writes ?? []) {
    if (write.version > head.version) break
    if (write.kind === 'remove') entries.delete(write.ref)
    else {
      const { version, ref, topic, key, meta } = write
      entries.set(ref, { version, ref, topic, key, meta })
    }
  }
  return entries
}

/** A frame over `(from, to]`: the last write of each ref; from 0 the live entries. */
export function cut(history: readonly Life[], life: Life, from: number, to: number): Frame<number> {
  const { incarnation } = life
  if (from === 0) {
    const live = [...entriesAt(history, { incarnation, version: to }).values()]
    const writes = live
      .map((put): Put<number> => ({ kind: 'put', ...put }))
      .sort((a, b) => a.version - b.version)
    return { incarnation, from, to, writes }
  }
  const range = life.writes.filter((write) => write.version > from && write.version <= to)
  const writes = range.filter(
    (write) => !range.some((later) => later.ref === write.ref && later.version > write.version),
  )
  return { incarnation, from, to, writes }
}

/** A history and frames of it in any order: cut anywhere, late, repeated, or never sent at all. */
export const delivery = lives.chain((history) =>
  fc.record({
    history: fc.constant(history),
    frames: fc.array(
      fc
        .record({
          life: fc.nat(history.length - 1),
          ends: fc.tuple(fc.nat(24), fc.nat(24)),
          whole: fc.boolean(),
        })
        .map(({ life: index, ends, whole }) => {
          const life = history[index] as Life
          const [a, b] = ends.map((end) => end % (life.writes.length + 1)) as [number, number]
          return cut(history, life, whole ? 0 : Math.min(a, b), Math.max(a, b))
        }),
      { maxLength: 30 },
    ),
  }),
)

/** The parts of held entries that the history knows. By ref. */
export const asHistory = (entries: ReadonlyMap<number, Entry<number>>) =>
  new Map(
    [...entries].map(([ref, { version, topic, key, meta }]) => [ref, { version, ref, topic, key, meta }]),
  )
