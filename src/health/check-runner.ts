import type { Clock, Timer } from '../tracker/ports.ts'
import type { Check, ProbeRun } from './types.ts'

/** What came of a run. */
export type Outcome = Pick<ProbeRun, 'result' | 'error'>

interface Run {
  readonly controller: AbortController
  readonly endsAt: number
  readonly timer: Timer
  readonly done: (outcome: Outcome) => void
}

/**
 * Runs a check, never two calls of it at once, each run cut off at its deadline.
 *
 * A call that outlives its run holds the check: the next run begins by waiting for it, and fails at its own deadline
 * when that waits in vain. So a check that never settles reads as failing, and nothing piles up behind it.
 */
export class CheckRunner {
  readonly #check: Check
  readonly #timeoutMs: number
  readonly #clock: Clock
  #run: Run | undefined
  /** The check has been called and has not settled, in this run or in one before. */
  #called = false

  constructor(check: Check, timeoutMs: number, clock: Clock) {
    this.#check = check
    this.#timeoutMs = timeoutMs
    this.#clock = clock
  }

  /** Calls back once, unless it is cancelled: when the check has answered, or at the deadline exactly. One run at a time. */
  start(done: (outcome: Outcome) => void): void {
    const run: Run = {
      controller: new AbortController(),
      endsAt: this.#clock.now() + this.#timeoutMs,
      timer: this.#clock.setTimer(() => this.#expire(run), this.#timeoutMs),
      done,
    }
    this.#run = run
    if (!this.#called) void this.#call(run)
  }

  /** Aborts the run under way; nobody is called back. */
  cancel(): void {
    const run = this.#run
    this.#run = undefined
    run?.timer.cancel()
    run?.controller.abort()
  }

  async #call(run: Run): Promise<void> {
    this.#called = true
    const outcome = await this.#ask(run.controller.signal)
    this.#called = false
    if (this.#run !== run) {
      // Too late for its own run; the present one has waited for it.
      if (this.#run !== undefined) void this.#call(this.#run)
      return
    }
    // A check that blocks the event loop keeps the timer of its deadline from firing.
    if (this.#clock.now() < run.endsAt) this.#end(run, outcome)
    else this.#expire(run)
  }

  async #ask(signal: AbortSignal): Promise<Outcome> {
    try {
      const answer = await this.#check(signal)
      return { result: answer === false ? 'probe-failed' : 'passed', error: undefined }
    } catch (error) {
      return { result: 'probe-failed', error }
    }
  }

  #expire(run: Run): void {
    const error = new DOMException(`no answer within ${this.#timeoutMs} ms`, 'TimeoutError')
    this.#end(run, { result: 'probe-timeout', error })
    run.controller.abort(error)
  }

  #end(run: Run, outcome: Outcome): void {
    this.#run = undefined
    run.timer.cancel()
    run.done(outcome)
  }
}
