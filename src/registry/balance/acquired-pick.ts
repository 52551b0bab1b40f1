import { argumentError } from '../check.ts'
import type { CallOutcome, Instance, LookupAnswer, ServicePick } from '../types.ts'
import type { Account, CallBook } from './call-book.ts'

const OUTCOMES: readonly CallOutcome[] = ['ok', 'error']

/** A call in flight, from when it is made until it is released. */
export class AcquiredPick implements ServicePick {
  readonly answer: LookupAnswer
  readonly #calls: CallBook
  /** Undefined once released, and for a miss. */
  #account: Account | undefined

  constructor(answer: LookupAnswer, calls: CallBook) {
    this.answer = answer
    this.#calls = calls
    this.#account = answer.ok ? calls.begin(answer.service) : undefined
  }

  get service(): Instance | undefined {
    return this.answer.ok ? this.answer.service : undefined
  }

  report(outcome: CallOutcome): void {
    if (!OUTCOMES.includes(outcome)) {
      throw argumentError('The outcome', outcome, `must be one of ${OUTCOMES.join(', ')}`)
    }
    this.#end(outcome)
  }

  release(): void {
    this.#end(undefined)
  }

  [Symbol.dispose](): void {
    this.release()
  }

  #end(outcome: CallOutcome | undefined): void {
    const account = this.#account
    this.#account = undefined
    if (account !== undefined) this.#calls.end(account, outcome)
  }
}
