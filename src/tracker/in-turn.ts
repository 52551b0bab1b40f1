/**
 * Runs things one after the other, in the order they came, also those that come up while one runs: what listeners
 * bring about is told after what they are being told.
 */
export class InTurn {
  readonly #waiting: (() => void)[] = []

  /** Runs it now, or after what runs now. It must not throw. */
  push(run: () => void): void {
    this.#waiting.push(run)
    if (this.#waiting.length > 1) return
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      next()
      this.#waiting.shift()
    }
  }
}
