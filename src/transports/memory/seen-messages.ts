/** Gossip of a few minutes in a busy cluster; older repeats are judged by the node itself. */
const GENERATION = 4_096

/** Remembers which messages came by. Bounded: two generations, the older one is dropped when the newer is full. */
export class SeenMessages {
  #recent = new Set<number>()
  #older = new Set<number>()

  /** False when it was seen before. */
  add(serial: number): boolean {
    if (this.#recent.has(serial) || this.#older.has(serial)) return false
    if (this.#recent.size >= GENERATION) {
      this.#older = this.#recent
      this.#recent = new Set()
    }
    this.#recent.add(serial)
    return true
  }
}
