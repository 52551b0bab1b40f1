import { compareHeads, type Frame, type Head, type Write } from './frame.ts'

/** What a frame does to what is held of its owner. */
export type Join<V> =
  /** Nothing new (J2, J4). */
  | { readonly kind: 'stale' }
  /** Writes between `have` and the frame are missing: ask for them (J3). */
  | { readonly kind: 'gap'; readonly have: number }
  /** These writes follow on what is held. */
  | { readonly kind: 'extend'; readonly head: Head; readonly writes: readonly Write<V>[] }
  /** These writes are all there is (J5). */
  | { readonly kind: 'replace'; readonly head: Head; readonly writes: readonly Write<V>[] }

const STALE = { kind: 'stale' } as const

/**
 * Decides what a frame does to what is held of its owner. Pure: the caller applies the result.
 *
 * One writer per owner makes its history a line, so joining is only "take the later head, provided nothing
 * in between is missing" (PROTOCOL.md, J1–J4). Costs at most a binary search in the frame.
 */
export function join<V>(held: Head | undefined, frame: Frame<V>): Join<V> {
  const head: Head = { incarnation: frame.incarnation, version: frame.to }
  if (held !== undefined && compareHeads(head, held) <= 0) return STALE

  // A new incarnation starts from nothing, whatever the old one held (J4).
  const have = held?.incarnation === frame.incarnation ? held.version : 0
  if (frame.from > have) return { kind: 'gap', have }

  // A frame from 0 holds every live entry, so an entry it lacks is an entry that is gone.
  if (frame.from === 0) return { kind: 'replace', head, writes: frame.writes }
  return { kind: 'extend', head, writes: writesAfter(frame.writes, have) }
}

/** The writes above `version`; they stand in rising order. Returns the list itself when none is below. */
function writesAfter<V>(writes: readonly Write<V>[], version: number): readonly Write<V>[] {
  const start = firstAbove(writes.length, (index) => writes[index]?.version ?? 0, version)
  return start === 0 ? writes : writes.slice(start)
}

/** Index of the first of `length` rising numbers that is above `bound`; `length` when none is. */
export function firstAbove(length: number, at: (index: number) => number, bound: number): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (at(middle) > bound) high = middle
    else low = middle + 1
  }
  return low
}
