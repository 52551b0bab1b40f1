import { Lateness } from './lateness.ts'
import type { Clock, Timer } from './ports.ts'

/** A tick up to this late is ordinary timer slack, ms. */
const SLACK_MS = 50

/**
 * The one regular timer of a tracker. It tells each tick how late it came: a late tick means that this process
 * was away (blocked loop, SIGSTOP, laptop lid), and what others did meanwhile is unknown, not silence.
 */
export class Ticker {
  readonly lateness = new Lateness()
  readonly #clock: Clock
  readonly #periodMs: number
  readonly #tick: (lateMs: number) => void
  #timer: Timer | undefined
  #dueAt = 0

  /** @param tick - told by how many ms it is late: 0 within ordinary slack, Infinity when by more than two periods. */
  constructor(clock: Clock, periodMs: number, tick: (lateMs: number) => void) {
    this.#clock = clock
    this.#periodMs = periodMs
    this.#tick = tick
  }

  /** First tick in `delayMs`, then every period. */
  start(delayMs: number): void {
    this.#schedule(this.#clock.now() + delayMs)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #schedule(dueAt: number): void {
    this.#dueAt = dueAt
    this.#timer = this.#clock.setTimer(() => this.#fire(), Math.max(0, dueAt - this.#clock.now()))
  }

  #fire(): void {
    const lateMs = this.#clock.now() - this.#dueAt
    this.lateness.note(lateMs)
    // Due times keep their rhythm under ordinary slack; after a stall a new one begins, without catching up.
    this.#schedule(
      lateMs < this.#periodMs ? this.#dueAt + this.#periodMs : this.#clock.now() + this.#periodMs,
    )
    this.#tick(lateMs > 2 * this.#periodMs ? Infinity : lateMs > SLACK_MS ? lateMs : 0)
  }
}
