import type { Clock, Random, Timer } from '../tracker/ports.ts'
import { surfaceError } from '../tracker/surface.ts'
import { CheckRunner } from './check-runner.ts'
import type { Outcome } from './check-runner.ts'
import { count, NO_RESULTS } from './hysteresis.ts'
import type { ResolvedProbe } from './options.ts'
import type { ProbeRun } from './types.ts'

export interface ProbePorts {
  readonly clock: Clock
  readonly random: Random
  /** A run is over. `turned`: it changed the verdict, which is now as its result. */
  readonly ran: (run: ProbeRun, turned: boolean) => void
}

/**
 * One probe on the clock. A run starts a period after the former one started, give or take the jitter, or at the
 * end of the former one where that is later.
 */
export class Probe {
  readonly #name: string
  readonly #options: ResolvedProbe
  readonly #ports: ProbePorts
  readonly #runner: CheckRunner
  #streak = NO_RESULTS
  #timer: Timer | undefined

  constructor(name: string, options: ResolvedProbe, ports: ProbePorts) {
    this.#name = name
    this.#options = options
    this.#ports = ports
    this.#runner = new CheckRunner(options.check, options.timeoutMs, ports.clock)
  }

  /** First run after `initialDelayMs`, never before this returns. */
  start(): void {
    this.#wait(this.#options.initialDelayMs)
  }

  /** Ends it: what runs is aborted, what comes later is discarded, the check is disposed of. */
  stop(): void {
    this.#timer?.cancel()
    this.#runner.cancel()
    try {
      this.#options.check[Symbol.dispose]?.()
    } catch (error) {
      surfaceError(error)
    }
  }

  #wait(ms: number): void {
    this.#timer = this.#ports.clock.setTimer(() => this.#run(), ms)
  }

  #run(): void {
    const { clock, random } = this.#ports
    const { periodMs, jitter } = this.#options
    const startedAt = clock.now()
    const nextAt = startedAt + periodMs * (1 + jitter * (2 * random.next() - 1))
    this.#runner.start((outcome) => {
      const endedAt = clock.now()
      this.#wait(Math.max(0, nextAt - endedAt))
      this.#take(outcome, endedAt - startedAt)
    })
  }

  #take(outcome: Outcome, tookMs: number): void {
    const { verdict } = this.#streak
    this.#streak = count(this.#streak, outcome.result === 'passed', this.#options)
    const run = Object.freeze<ProbeRun>({ probe: this.#name, ...outcome, tookMs })
    this.#ports.ran(run, this.#streak.verdict !== verdict)
  }
}
