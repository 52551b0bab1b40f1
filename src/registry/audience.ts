import type { Clock, Timer } from '../tracker/ports.ts'
import type { ServiceView } from './service-view.ts'
import type { WatchTally } from './watch-tally.ts'

/** One who follows a view. */
export interface Spectator {
  /** There may be something new to take. Returns whether it waits for more. Never throws. */
  wake(): boolean
  /** The registry closes: what is shown now is the last. Never throws. */
  close(): void
}

/**
 * All who follow one view. Each waits for a change, or is busy with what it has taken, or is late: something has changed
 * since. A change costs those who turn late by it, and a look whether anyone waits.
 */
export class Audience {
  readonly view: ServiceView
  readonly #clock: Clock
  readonly #tally: WatchTally
  readonly #emptied: () => void
  readonly #all = new Set<Spectator>()
  readonly #waiting = new Set<Spectator>()
  readonly #busy = new Set<Spectator>()
  /** Since when there has been something to take. Oldest first. */
  readonly #late = new Map<Spectator, number>()
  #called = false
  /** Runs while some wait and others stand in. */
  #timer: Timer | undefined

  /** @param emptied - the last one has left. */
  constructor(view: ServiceView, clock: Clock, tally: WatchTally, emptied: () => void) {
    this.view = view
    this.#clock = clock
    this.#tally = tally
    this.#emptied = emptied
  }

  get size(): number {
    return this.#all.size
  }

  has(spectator: Spectator): boolean {
    return this.#all.has(spectator)
  }

  /** Since when the slowest has had something to take; Infinity when none is late. */
  get lateSince(): number {
    for (const since of this.#late.values()) return since
    return Infinity
  }

  enter(spectator: Spectator): void {
    this.#all.add(spectator)
    this.#busy.add(spectator)
  }

  /** It has taken what is shown now. */
  took(spectator: Spectator): void {
    this.#tally.snapshots++
    if (this.#late.delete(spectator)) this.#busy.add(spectator)
  }

  /** Wakes it from the next change on, if it is here. */
  await(spectator: Spectator): void {
    if (!this.has(spectator)) return
    this.#busy.delete(spectator)
    this.#late.delete(spectator)
    this.#waiting.add(spectator)
    this.#setTimer()
  }

  leave(spectator: Spectator): void {
    this.#waiting.delete(spectator)
    this.#busy.delete(spectator)
    this.#late.delete(spectator)
    if (this.#waiting.size === 0) this.#timer?.cancel()
    if (this.#all.delete(spectator) && this.#all.size === 0) this.#emptied()
  }

  /** The service changed. Those who wait are woken after the events of the change, once for all changes of this turn. */
  changed(): void {
    this.#passOver()
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

  /** A change that those who do not wait do not take now. */
  #passOver(): void {
    this.#tally.coalesced += this.#late.size
    for (const spectator of this.#busy) this.#late.set(spectator, this.#clock.now())
    this.#busy.clear()
  }

  #wake(): void {
    for (const spectator of [...this.#waiting]) {
      // One who was called before may have sent it away.
      if (!this.#waiting.has(spectator) || spectator.wake()) continue
      this.#waiting.delete(spectator)
      this.#busy.add(spectator)
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
