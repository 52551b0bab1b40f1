import { firstAbove } from './join.ts'

/** Writes remembered per owner. At two numbers a write, 4,096 cost 64 KiB; more lets a peer be away longer before it needs a snapshot. */
export const DEFAULT_LOG_LIMIT = 4_096

/**
 * The recent writes of one owner as numbers only: which ref was written at which version.
 *
 * Metas stay with the live entries, so neither updates nor removals keep a dead meta in memory; a put that
 * was superseded is recognised by the entry's later version. Append costs O(1) amortised, `since` the answer.
 */
export class WriteLog {
  readonly #limit: number
  readonly #versions: number[] = []
  /** Positive: a put of this ref. Negative: its removal. */
  readonly #refs: number[] = []
  #horizon: number

  /** @param horizon - version up to which nothing is remembered: the log can tell what came after it. */
  constructor(limit: number, horizon: number) {
    this.#limit = limit
    this.#horizon = horizon
  }

  /** The oldest version since which this log knows every write. */
  get horizon(): number {
    return this.#horizon
  }

  get length(): number {
    return this.#versions.length
  }

  append(version: number, ref: number, removed: boolean): void {
    this.#versions.push(version)
    this.#refs.push(removed ? -ref : ref)
    // Cutting only at twice the limit makes the cut O(1) per write.
    if (this.#versions.length >= 2 * this.#limit) this.#cut(this.#versions.length - this.#limit)
  }

  /** Count of the writes after `version`, superseded ones included. */
  countSince(version: number): number {
    return this.#versions.length - this.#indexAfter(version)
  }

  /** Calls back for each write after `version`, in order. */
  forEachSince(version: number, callback: (version: number, ref: number, removed: boolean) => void): void {
    for (let index = this.#indexAfter(version); index < this.#versions.length; index++) {
      const ref = this.#refs[index] ?? 0
      callback(this.#versions[index] ?? 0, Math.abs(ref), ref < 0)
    }
  }

  #indexAfter(version: number): number {
    return firstAbove(this.#versions.length, (index) => this.#versions[index] ?? 0, version)
  }

  #cut(count: number): void {
    this.#horizon = this.#versions[count - 1] ?? this.#horizon
    this.#versions.splice(0, count)
    this.#refs.splice(0, count)
  }
}
