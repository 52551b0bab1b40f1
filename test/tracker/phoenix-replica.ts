import type { Entry, Frame, NodeId } from '../../src/core/frame.ts'
import { NO_HEAD, type Change } from '../../src/core/owner-state.ts'
import { Replica } from '../../src/core/replica.ts'
import { Writer } from '../../src/core/writer.ts'

/** What an observer reports: keys of its joins, leaves and updates. */
export interface Reported {
  readonly joins: string[]
  readonly leaves: string[]
  readonly updates: string[]
}

export const NOTHING: Reported = { joins: [], leaves: [], updates: [] }

const keysOf = (entries: readonly Entry<string>[]): string[] => entries.map(({ key }) => key).sort()

/** One node as a replica and the writer of its own entries, without time and network. */
export class Node {
  readonly id: NodeId
  readonly replica = new Replica<string>()
  readonly writer: Writer<string>
  readonly #refs = new Map<string, number>()

  constructor(id: NodeId) {
    this.id = id
    this.writer = new Writer(this.replica, id, 1)
  }

  join(key: string, meta = '', topic = 'lobby'): number {
    const [ref = 0] = this.writer.write([{ kind: 'put', ref: undefined, topic, key, meta }]).refs
    this.#refs.set(key, ref)
    return ref
  }

  update(key: string, meta: string): Change<string> {
    return this.writer.write([{ kind: 'put', ref: this.refOf(key), topic: 'lobby', key, meta }]).change
  }

  leave(key: string): Change<string> {
    return this.writer.write([{ kind: 'remove', ref: this.refOf(key) }]).change
  }

  refOf(key: string): number {
    return this.#refs.get(key) ?? -1
  }

  /** Makes these nodes known and shown here, without any entry. */
  up(...others: readonly Node[]): void {
    for (const { id, writer } of others) {
      this.replica.receive(id, { incarnation: writer.incarnation, from: 0, to: 0, writes: [] })
      this.replica.show(id)
    }
  }

  /** What this node has of an owner that another one lacks. */
  frameFor(other: Node, owner: Node = this): Frame<string> {
    const state = this.replica.state(owner.id)
    if (state === undefined) throw new Error(`${this.id} holds nothing of ${owner.id}`)
    return state.since(other.replica.head(owner.id) ?? NO_HEAD)
  }

  /** Takes all that `from` holds of owners other than this one. Returns what readers here see change. */
  sync(from: Node): Reported {
    const reported = { joins: [] as string[], leaves: [] as string[], updates: [] as string[] }
    for (const owner of [...from.replica.owners()]) {
      if (owner === this.id) continue
      const frame = from.replica.state(owner)?.since(this.replica.head(owner) ?? NO_HEAD)
      const received = frame === undefined ? undefined : this.replica.receive(owner, frame)
      if (received?.kind !== 'applied' || !this.replica.isVisible(owner)) continue
      reported.joins.push(...keysOf(received.change.joins))
      reported.leaves.push(...keysOf(received.change.leaves))
      reported.updates.push(...keysOf(received.change.updates.map(({ entry }) => entry)))
    }
    return reported
  }

  /** Keys that a reader sees under a topic. */
  list(topic = 'lobby'): string[] {
    return keysOf(this.replica.list(topic))
  }

  /** All that is held, hidden or shown, down to the objects: equal only if nothing at all was touched. */
  held(): readonly (readonly [NodeId, boolean, readonly Entry<string>[]])[] {
    return [...this.replica.owners()].map((owner) => [
      owner,
      this.replica.isVisible(owner),
      [...(this.replica.state(owner)?.entries.values() ?? [])],
    ])
  }
}

/** Nodes that know each other up. */
export function meet<Nodes extends readonly Node[]>(...nodes: Nodes): Nodes {
  for (const node of nodes) node.up(...nodes.filter((other) => other !== node))
  return nodes
}
