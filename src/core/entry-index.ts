import type { Entry } from './frame.ts'

/** One entry by itself, several in a set: most keys have one owner, and a set for each costs 200 bytes. */
type Slot<V> = Entry<V> | Set<Entry<V>>

/** Entries that are added and not in their places yet, from `at` on. */
interface Waiting<V> {
  readonly entries: Entry<V>[]
  at: number
}

/** So many added at once wait for their places: to put one there takes up to half a µs, most of it a map that grows. */
const MANY = 1_000

/**
 * Visible entries by topic and key. Add, remove and replace cost O(1); empty topics and keys leave nothing behind.
 *
 * Many that are added at once are found at once, but they are put in their places by and by (`settle`), so that no one
 * turn of the event loop bears it all. Who asks for their topic before has them all put there first.
 */
export class EntryIndex<V> {
  readonly #topics = new Map<string, Map<string, Slot<V>>>()
  readonly #waiting = new Map<string, Waiting<V>>()

  add(entry: Entry<V>): void {
    this.#settleTopic(entry.topic)
    this.#place(this.#keysOf(entry.topic), entry)
  }

  addAll(entries: readonly Entry<V>[]): void {
    if (entries.length < MANY) {
      for (const entry of entries) this.add(entry)
      return
    }
    let topic: string | undefined
    let waiting: Waiting<V> | undefined
    for (const entry of entries) {
      if (waiting === undefined || entry.topic !== topic) {
        topic = entry.topic
        waiting = this.#waiting.get(topic) ?? { entries: [], at: 0 }
        this.#waiting.set(topic, waiting)
      }
      waiting.entries.push(entry)
    }
  }

  /** Puts up to `most` of those that wait in their places. True while others wait. */
  settle(most: number): boolean {
    const [next] = this.#waiting
    if (next === undefined) return false
    const [topic, waiting] = next
    const keys = this.#keysOf(topic)
    const end = Math.min(waiting.at + most, waiting.entries.length)
    for (const entry of waiting.entries.slice(waiting.at, end)) this.#place(keys, entry)
    waiting.at = end
    if (end === waiting.entries.length) this.#waiting.delete(topic)
    return this.#waiting.size > 0
  }

  #settleTopic(topic: string): void {
    const waiting = this.#waiting.get(topic)
    if (waiting === undefined) return
    this.#waiting.delete(topic)
    const keys = this.#keysOf(topic)
    for (const entry of waiting.entries.slice(waiting.at)) this.#place(keys, entry)
  }

  #keysOf(topic: string): Map<string, Slot<V>> {
    const known = this.#topics.get(topic)
    if (known !== undefined) return known
    const keys = new Map<string, Slot<V>>()
    this.#topics.set(topic, keys)
    return keys
  }

  #place(keys: Map<string, Slot<V>>, entry: Entry<V>): void {
    const slot = keys.get(entry.key)
    if (slot === undefined) keys.set(entry.key, entry)
    else if (slot instanceof Set) slot.add(entry)
    else keys.set(entry.key, new Set([slot, entry]))
  }

  remove(entry: Entry<V>): void {
    this.#settleTopic(entry.topic)
    const keys = this.#topics.get(entry.topic)
    const slot = keys?.get(entry.key)
    if (keys === undefined || slot === undefined) return
    if (slot instanceof Set) {
      slot.delete(entry)
      const [only] = slot
      if (slot.size === 1 && only !== undefined) keys.set(entry.key, only)
    } else if (slot === entry) {
      keys.delete(entry.key)
      if (keys.size === 0) this.#topics.delete(entry.topic)
    }
  }

  /** Puts an entry in the place of its previous version; under the same topic and key nothing is moved. */
  replace(previous: Entry<V>, entry: Entry<V>): void {
    const keys = previous.topic === entry.topic ? this.#topics.get(entry.topic) : undefined
    if (keys?.get(entry.key) === previous) {
      keys.set(entry.key, entry)
      return
    }
    this.remove(previous)
    this.add(entry)
  }

  /** Entries of a topic. Costs the answer. */
  list(topic: string): Entry<V>[] {
    this.#settleTopic(topic)
    const entries: Entry<V>[] = []
    for (const slot of this.#topics.get(topic)?.values() ?? []) {
      if (slot instanceof Set) for (const entry of slot) entries.push(entry)
      else entries.push(slot)
    }
    return entries
  }

  /** Entries under a topic and key. Costs the answer. */
  getByKey(topic: string, key: string): Entry<V>[] {
    this.#settleTopic(topic)
    const slot = this.#topics.get(topic)?.get(key)
    if (slot === undefined) return []
    return slot instanceof Set ? [...slot] : [slot]
  }

  /** Topics with at least one visible entry. */
  topics(): string[] {
    return [...new Set([...this.#topics.keys(), ...this.#waiting.keys()])]
  }
}
