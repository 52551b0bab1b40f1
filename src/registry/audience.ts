import type { Clock, Timer } from '../tracker/ports.ts'
import type { ServiceView } from './service-view.ts'

/** One who follows a view. */
export interface Spectator {
  /** There may be something new to take. Returns whether it waits for more. Never throws. */
  wake(): boolean
  /** The registry closes: what is shown now is the last. Never throws. */
  close(): void
}

/** All who follow one view. A change costs it nothing but a look whether anyone waits. */
export class Audience {
  readonly view: ServiceView
  readonly #clock: Clock
  readonly #emptied: () => void
  readonly #all = new Set<Spectator>()
  readonly #waiting = new Set<Spectator>()
  #called = false
  /** Runs while some wait and others stand in. */
  #timer: Timer | undefined

  /** @param emptied - the last one has left. */
  constructor(view: ServiceView, clock: Clock, emptied: () => void) {
    this.view = view
    this.#clock = clock
    this.#emptied = emptied
  }

  get size(): number {
    return this.#all.size
  }

  has(spectator: Spectator): boolean {
    return this.#all.has(spectator)
  }

  enter(spectator: Spectator): void {
    this.#all.add(spectator)
  }

  /** Wakes it from the next change on, if it is here. */
  await(spectator: Spectator): void {
    if (!this.has(spectator)) return
    this.#waiting.add(spectator)
    this.#setTimer()
  }

  leave(spectator: Spectator): void {
    this.#waiting.delete(spectator)
    if (this.#waiting.size === 0) this.#timer?.cancel()
    if (this.#all.delete(spectator) && this.#all.size === 0) this.#emptied()
  }

  /** The service changed. Those who wait are woken after the events of the change, once for all changes of this turn. */
  changed(): void {
    if (this.#called || this.#waiting.size === 0) return
    this.#called = true
    queueMicrotask(() => {
      this.#called = false
      this.#wake()
    })
  }

  close(): void {
    for (const spectator of [...this.#all]) spectator.close()
  }

  #wake(): void {
    for (const spectator of [...this.#waiting]) {
      // One who was called before may have sent it away.
      if (this.#waiting.has(spectator) && !spectator.wake()) this.#waiting.delete(spectator)
    }
    this.#setTimer()
  }

  /** To look again when the first of those who stand in may no longer. */
  #setTimer(): void {
    this.#timer?.cancel()
    const { leftMs } = this.view
    if (this.#waiting.size > 0 && leftMs !== Infinity) {
      this.#timer = this.#clock.setTimer(() => this.changed(), leftMs)
    }
  }
}
