/** Ticks looked back on: with the default period a minute and a half. */
const WINDOW_TICKS = 64

/** How late the last ticks came. Costs one number a tick. */
export class Lateness {
  readonly #lateMs: number[] = []
  #next = 0

  note(lateMs: number): void {
    this.#lateMs[this.#next] = Math.max(0, lateMs)
    this.#next = (this.#next + 1) % WINDOW_TICKS
  }

  /** Ticks in the window. */
  get ticks(): number {
    return this.#lateMs.length
  }

  get lastMs(): number {
    return this.#lateMs.at(this.#next - 1) ?? 0
  }

  get worstMs(): number {
    return Math.max(0, ...this.#lateMs)
  }
}
