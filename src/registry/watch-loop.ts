import { Viewer } from './viewer.ts'
import type { Snapshot } from './watch-types.ts'

type Result = IteratorResult<Snapshot, undefined>

const DONE: Result = Object.freeze({ done: true, value: undefined })

/** A watch as `for await` reads it. */
export class WatchLoop extends Viewer implements AsyncIterator<Snapshot, undefined> {
  readonly #asked: ((answer: Result | Promise<Result>) => void)[] = []
  /** What is still to be said after the end. */
  #parting: (() => Promise<Result>) | undefined
  #ended = false

  next(): Promise<Result> {
    const parting = this.#parting
    this.#parting = undefined
    if (parting !== undefined) return parting()
    if (this.#ended) return Promise.resolve(DONE)
    // Those who asked before are answered before.
    const snapshot = this.#asked.length === 0 ? this.take() : undefined
    if (snapshot !== undefined) return Promise.resolve({ done: false, value: snapshot })
    return new Promise((resolve) => {
      this.#asked.push(resolve)
      this.await()
    })
  }

  return(): Promise<Result> {
    this.leave()
    this.#finish(undefined)
    return Promise.resolve(DONE)
  }

  wake(): boolean {
    const snapshot = this.take()
    if (snapshot !== undefined) this.#asked.shift()?.({ done: false, value: snapshot })
    return this.#asked.length > 0
  }

  protected end(last: Snapshot | undefined): void {
    this.#finish(last && (() => Promise.resolve({ done: false, value: last })))
  }

  protected fail(reason: unknown): void {
    // As it was given: what aborts need not be an Error.
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    this.#finish(() => Promise.reject(reason))
  }

  #finish(parting: (() => Promise<Result>) | undefined): void {
    this.#ended = true
    this.#parting = parting
    for (const answer of this.#asked.splice(0)) answer(this.next())
  }
}
