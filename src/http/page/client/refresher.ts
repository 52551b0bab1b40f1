import type { Clock, Timer } from '../../../tracker/ports.ts'

export interface RefresherParts {
  readonly read: () => Promise<void>
  /** What `read` rejected with. It is tried again. */
  readonly failed: (error: unknown) => void
  readonly clock: Clock
  /** Least time between the starts of two reads, however much changes. */
  readonly leastMs: number
  /** Time after which it reads though nobody says that anything changed; also after a failure. */
  readonly mostMs: number
}

/** Reads again when something has changed: at once, but never two at a time, nor more often than `leastMs`. */
export class Refresher {
  readonly #parts: RefresherParts
  #wanted = false
  #reading = false
  #startedAt = -Infinity
  #timer: Timer | undefined

  constructor(parts: RefresherParts) {
    this.#parts = parts
  }

  /** Something has changed. The next read starts after this call. */
  poke(): void {
    this.#wanted = true
    if (!this.#reading) this.#plan(this.#parts.leastMs)
  }

  /** Reads as soon as the last start is `afterMs` ago. */
  #plan(afterMs: number): void {
    const { clock } = this.#parts
    this.#timer?.cancel()
    this.#timer = undefined
    const waitMs = this.#startedAt + afterMs - clock.now()
    if (waitMs <= 0) void this.#read()
    else this.#timer = clock.setTimer(() => void this.#read(), waitMs)
  }

  async #read(): Promise<void> {
    const { read, failed, clock } = this.#parts
    this.#wanted = false
    this.#reading = true
    this.#startedAt = clock.now()
    await read().catch(failed)
    this.#rest()
  }

  #rest(): void {
    const { leastMs, mostMs } = this.#parts
    this.#reading = false
    this.#plan(this.#wanted ? leastMs : mostMs)
  }
}
