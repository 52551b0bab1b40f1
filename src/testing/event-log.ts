/** The last so many things that happened, in words made only when they are read. */
export class EventLog {
  readonly #limit: number
  readonly #entries: { readonly atMs: number; readonly text: () => string }[] = []
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(atMs: number, text: () => string): void {
    this.#entries[this.#count % this.#limit] = { atMs, text }
    this.#count += 1
  }

  /** Oldest first: `   1234.567 what happened`. `last`: only so many. */
  lines(last = this.#limit): string[] {
    const from = Math.max(0, this.#count - Math.min(last, this.#limit))
    const lines: string[] = []
    for (let index = from; index < this.#count; index += 1) {
      const entry = this.#entries[index % this.#limit]
      if (entry !== undefined) lines.push(`${entry.atMs.toFixed(3).padStart(12)} ${entry.text()}`)
    }
    return lines
  }
}
