import { RollcallError, type RollcallErrorCode } from '../../errors.ts'

/** Places remembered at once; the oldest gives way. A stranger may come from any number of addresses. */
const MOST_PLACES = 1_000

/** Says each thing that is wrong once: what is tried for ever would otherwise be reported for ever. */
export class Reports {
  readonly #said = new Map<string, string>()
  readonly #say: (where: string, error: RollcallError) => void

  constructor(say: (where: string, error: RollcallError) => void) {
    this.#say = say
  }

  /** @param cause - what is wrong in one word; the message may vary without being news */
  report(where: string, cause: string, code: RollcallErrorCode, message: string): void {
    const news = `${code} ${cause}`
    if (this.#said.get(where) === news) return
    this.#said.delete(where)
    this.#said.set(where, news)
    const [oldest] = this.#said.keys()
    if (this.#said.size > MOST_PLACES && oldest !== undefined) this.#said.delete(oldest)
    this.#say(where, new RollcallError(code, message))
  }

  /** It is over: the next time is news. */
  clear(where: string): void {
    this.#said.delete(where)
  }
}
