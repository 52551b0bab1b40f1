import type { Since } from './watch-types.ts'

/** Names without instances of which the last revision is remembered: at most 300 KB of them. */
const MAX_KEPT = 1_024

/**
 * The count of changes of one registry. What is shown of a service last changed at one of them, its revision. The
 * records know theirs; here are those of names that have none any more, as many as memory is to be had for.
 */
export class Revisions {
  readonly #kept = new Map<string, number>()
  #latest = 0
  #oldest = 0

  /** The highest revision that a name may have had and that is not remembered; so it is that of any other name. */
  get oldest(): number {
    return this.#oldest
  }

  /** Begins a change. */
  next(): number {
    return ++this.#latest
  }

  /** A name lost its last instance. */
  keep(name: string, revision: number): void {
    // To the end, whatever it was before: the first is to be the oldest.
    this.#kept.delete(name)
    this.#kept.set(name, revision)
    if (this.#kept.size <= MAX_KEPT) return
    for (const [oldest, last] of this.#kept) {
      this.#kept.delete(oldest)
      this.#oldest = last
      return
    }
  }

  /** Of a name without instances. */
  lastOf(name: string): number {
    return this.#kept.get(name) ?? this.#oldest
  }
}

/** What is known of one service at present. */
export interface Present {
  readonly epoch: string
  readonly revision: number
  /** Below it nothing is remembered. */
  readonly oldest: number
}

/**
 * Where a watcher left off: at the `present`; at a revision before it, `past`; or it is `unknown`, of another life
 * of the registry, or not one that can be placed (C60). Pure.
 */
export function place(since: Since, { epoch, revision, oldest }: Present): 'present' | 'past' | 'unknown' {
  if (since.epoch !== epoch || since.revision > revision) return 'unknown'
  if (since.revision === revision) return 'present'
  return since.revision < oldest ? 'unknown' : 'past'
}
