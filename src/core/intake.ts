import type { Entry, NodeId, Write } from './frame.ts'

/**
 * The entries of a snapshot, made part by part as it comes in, so that the whole has only to be put in its place. Until
 * then nobody sees them (J5).
 */
export class Intake<V> {
  readonly #node: NodeId
  readonly #incarnation: number
  readonly #entries = new Map<number, Entry<V>>()
  #first: Entry<V> | undefined
  #topic = ''

  constructor(node: NodeId, incarnation: number) {
    this.#node = node
    this.#incarnation = incarnation
  }

  /** By ref, in the order of the writes. */
  get entries(): Map<number, Entry<V>> {
    return this.#entries
  }

  /** Stands for the whole intake where it is told of in parts. Undefined until there is an entry. */
  get first(): Entry<V> | undefined {
    return this.#first
  }

  /** Takes the writes of the next part. Returns the entries that it makes of them. */
  add(writes: readonly Write<V>[]): Entry<V>[] {
    const made: Entry<V>[] = []
    for (const write of writes) {
      if (write.kind === 'remove') continue
      const { ref, version, topic, key, meta } = write
      // An owner's entries mostly share a topic: one string for all of them instead of one from every decoded write.
      if (topic !== this.#topic) this.#topic = topic
      const entry = {
        node: this.#node,
        incarnation: this.#incarnation,
        ref,
        version,
        topic: this.#topic,
        key,
        meta,
      }
      this.#first ??= entry
      this.#entries.set(ref, entry)
      made.push(entry)
    }
    return made
  }
}
