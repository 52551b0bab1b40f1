/**
 * A bounded memory of what is cheap to make again. Holds the last `capacity` values made, and up to as many older
 * ones that are still asked for; a hit on a recent one costs one `Map.get`, unlike in a least-recently-used list.
 */
export class GenerationCache<K, V> {
  readonly #capacity: number
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  /** @param capacity at least 1 */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) {
      this.#old.delete(key)
      this.set(key, old)
    }
    return old
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
}
