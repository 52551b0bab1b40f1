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
  readonly #emptied: () => void
  readonly #all = new Set<Spectator>()
  readonly #waiting = new Set<Spectator>()
  #called = false

  /** @param emptied - the last one has left. */
  constructor(view: ServiceView, emptied: () => void) {
    this.view = view
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
    if (this.has(spectator)) this.#waiting.add(spectator)
  }

  leave(spectator: Spectator): void {
    this.#waiting.delete(spectator)
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
  }
}
