import { find, setText } from './dom.ts'
import { timeOfDay } from './moment.ts'

/** Says whether what is shown is what is. */
export class StatusLine {
  readonly #line = find('status', HTMLElement)
  readonly #why = find('status-why', HTMLElement)
  readonly #problem = find('problem', HTMLElement)
  readonly #degraded = find('degraded', HTMLElement)
  /** When the stream broke off, ms since the epoch. */
  #since: number | undefined

  live(): void {
    this.#since = undefined
    this.#say('live', 'Live', '')
  }

  /** The stream broke off, or cannot be opened still. */
  reconnecting(why: string, nowMs: number): void {
    this.#since ??= nowMs
    this.#say('lost', `Reconnecting since ${timeOfDay(this.#since)}`, why)
  }

  wantsToken(): void {
    this.#since = undefined
    this.#say('lost', 'A token is needed', '')
  }

  /** Why nothing newer can be shown, though the stream may be open; '' when it can again. */
  problem(why: string): void {
    setText(this.#problem, why)
  }

  /** Whether the node that answers says that all it knows may be old. */
  degraded(isDegraded: boolean): void {
    this.#degraded.hidden = !isDegraded
  }

  #say(kind: 'live' | 'lost', text: string, why: string): void {
    this.#line.dataset['kind'] = kind
    setText(this.#line, text)
    setText(this.#why, why)
  }
}
