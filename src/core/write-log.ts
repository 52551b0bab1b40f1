import type { Put, Remove, Write } from './frame.ts'
import { firstAbove } from './join.ts'

/** What is remembered of a write. Of a put the entry has the rest. */
export type Logged = Pick<Put<unknown>, 'kind' | 'version' | 'ref'> | Remove

/** Writes remembered per owner. At two numbers a write, 4,096 cost 64 KiB; more lets a peer be away longer before it needs a snapshot. */
export const DEFAULT_LOG_LIMIT = 4_096

/**
 * The recent writes of one owner, as numbers: which ref was written at which version.
 *
 * Metas stay with the live entries, so neither updates nor removals keep a dead meta in memory; a put that
 * was superseded is recognised by the entry's later version. Append costs O(1) amortised, `since` the answer.
 */
export class WriteLog {
  readonly #limit: number
  readonly #versions: number[] = []
  /** Positive: a put of this ref. Negative: its removal. */
  readonly #refs: number[] = []
  /** Why entries were removed, by version, where that was said. In rising order. */
  readonly #reasons = new Map<number, string>()
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

  /** How many reasons are remembered: no more than there are removals. */
  get reasons(): number {
    return this.#reasons.size
  }

  append(write: Write<unknown>): void {
    const { kind, version, ref } = write
    this.#versions.push(version)
    this.#refs.push(kind === 'remove' ? -ref : ref)
    if (kind === 'remove' && write.reason !== undefined) this.#reasons.set(version, write.reason)
    // Cutting only at twice the limit makes the cut O(1) per write.
    if (this.#versions.length >= 2 * this.#limit) this.#cut(this.#versions.length - this.#limit)
  }

  /** Count of the writes after `version`, superseded ones included. */
  countSince(version: number): number {
    return this.#versions.length - this.#indexAfter(version)
  }

  /** Calls back for each write after `version`, in order. */
  forEachSince(from: number, callback: (write: Logged) => void): void {
    for (let index = this.#indexAfter(from); index < this.#versions.length; index++) {
      const version = this.#versions[index] ?? 0
      const ref = this.#refs[index] ?? 0
      if (ref > 0) callback({ kind: 'put', version, ref })
      else callback({ kind: 'remove', version, ref: -ref, reason: this.#reasons.get(version) })
    }
  }

  #indexAfter(version: number): number {
    return firstAbove(this.#versions.length, (index) => this.#versions[index] ?? 0, version)
  }

  #cut(count: number): void {
    this.#horizon = this.#versions[count - 1] ?? this.#horizon
    for (const version of this.#reasons.keys()) {
      if (version > this.#horizon) break
      this.#reasons.delete(version)
    }
    this.#versions.splice(0, count)
    this.#refs.splice(0, count)
  }
}
