import type { Entry } from './frame.ts'

/** One entry by itself, several in a set: most keys have one owner, and a set for each costs 200 bytes. */
type Slot<V> = Entry<V> | Set<Entry<V>>

/** Visible entries by topic and key. Add, remove and replace cost O(1); empty topics and keys leave nothing behind. */
export class EntryIndex<V> {
  readonly #topics = new Map<string, Map<string, Slot<V>>>()

  add(entry: Entry<V>): void {
    let keys = this.#topics.get(entry.topic)
    if (keys === undefined) {
      keys = new Map()
      this.#topics.set(entry.topic, keys)
    }
    const slot = keys.get(entry.key)
    if (slot === undefined) keys.set(entry.key, entry)
    else if (slot instanceof Set) slot.add(entry)
    else keys.set(entry.key, new Set([slot, entry]))
  }

  remove(entry: Entry<V>): void {
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
    const entries: Entry<V>[] = []
    for (const slot of this.#topics.get(topic)?.values() ?? []) {
      if (slot instanceof Set) for (const entry of slot) entries.push(entry)
      else entries.push(slot)
    }
    return entries
  }

  /** Entries under a topic and key. Costs the answer. */
  getByKey(topic: string, key: string): Entry<V>[] {
    const slot = this.#topics.get(topic)?.get(key)
    if (slot === undefined) return []
    return slot instanceof Set ? [...slot] : [slot]
  }

  /** Topics with at least one visible entry. */
  topics(): string[] {
    return [...this.#topics.keys()]
  }
}
