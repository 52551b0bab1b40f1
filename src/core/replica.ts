import { EntryIndex } from './entry-index.ts'
import type { Entry, Frame, Head, NodeId } from './frame.ts'
import { OwnerState, type Change, type Received } from './owner-state.ts'
import { DEFAULT_LOG_LIMIT } from './write-log.ts'

interface Owner<V> {
  readonly state: OwnerState<V>
  visible: boolean
}

/**
 * This node's copy of every owner's entries. Owners are shown or hidden as a whole; only entries of shown
 * owners are found by `list` and `getByKey`. Applying a frame costs the frame, hiding or showing an owner
 * that owner's entries; neither depends on how much the replica holds.
 */
export class Replica<V> {
  readonly #logLimit: number
  readonly #owners = new Map<NodeId, Owner<V>>()
  readonly #index = new EntryIndex<V>()

  constructor(logLimit: number = DEFAULT_LOG_LIMIT) {
    this.#logLimit = logLimit
  }

  /** Owners of which a state is held, shown or hidden. */
  owners(): IterableIterator<NodeId> {
    return this.#owners.keys()
  }

  get ownerCount(): number {
    return this.#owners.size
  }

  /** Undefined when nothing is held of the owner. */
  state(node: NodeId): OwnerState<V> | undefined {
    return this.#owners.get(node)?.state
  }

  head(node: NodeId): Head | undefined {
    return this.#owners.get(node)?.state.head
  }

  isVisible(node: NodeId): boolean {
    return this.#owners.get(node)?.visible ?? false
  }

  list(topic: string): Entry<V>[] {
    return this.#index.list(topic)
  }

  getByKey(topic: string, key: string): Entry<V>[] {
    return this.#index.getByKey(topic, key)
  }

  /** Entries under a topic and key of hidden owners. Costs all entries of those. */
  hidden(topic: string, key: string): Entry<V>[] {
    const found: Entry<V>[] = []
    for (const { state, visible } of this.#owners.values()) {
      if (visible) continue
      for (const entry of state.entries.values())
        if (entry.topic === topic && entry.key === key) found.push(entry)
    }
    return found
  }

  /** Visible entries of an owner. Costs them. */
  entriesOf(node: NodeId): Entry<V>[] {
    const owner = this.#owners.get(node)
    return owner?.visible === true ? [...owner.state.entries.values()] : []
  }

  topics(): string[] {
    return this.#index.topics()
  }

  /** Goes on with what showing many entries has left to do, for up to `most` of them. True while there is more. */
  settle(most: number): boolean {
    return this.#index.settle(most)
  }

  /** Joins a frame of `node`. A first frame makes the owner known, hidden until `show`. */
  receive(node: NodeId, frame: Frame<V>): Received<V> {
    const owner = this.#owners.get(node) ?? { state: new OwnerState<V>(node, this.#logLimit), visible: false }
    const received = owner.state.receive(frame)
    if (received.kind !== 'applied') return received
    this.#owners.set(node, owner)
    if (owner.visible) this.#reindex(received.change)
    return received
  }

  /** Makes an owner's entries visible. Returns them; none when it was visible or is unknown. */
  show(node: NodeId): Entry<V>[] {
    const owner = this.#owners.get(node)
    if (owner === undefined || owner.visible) return []
    owner.visible = true
    const entries = [...owner.state.entries.values()]
    this.#index.addAll(entries)
    return entries
  }

  /** Hides an owner's entries and keeps them. Returns those that were visible. */
  hide(node: NodeId): Entry<V>[] {
    const owner = this.#owners.get(node)
    if (owner?.visible !== true) return []
    owner.visible = false
    const entries = [...owner.state.entries.values()]
    for (const entry of entries) this.#index.remove(entry)
    return entries
  }

  /** Forgets an owner and its entries. Returns those that were visible. */
  forget(node: NodeId): Entry<V>[] {
    const entries = this.hide(node)
    this.#owners.delete(node)
    return entries
  }

  #reindex({ joins, leaves, updates }: Change<V>): void {
    for (const entry of leaves) this.#index.remove(entry)
    for (const { entry, previous } of updates) this.#index.replace(previous, entry)
    this.#index.addAll(joins)
  }
}
