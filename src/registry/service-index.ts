import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Diff } from '../tracker/types.ts'
import { Arrival } from './arrival.ts'
import { SERVICE_TOPIC, toInstance } from './instance.ts'
import type { ServiceEntry } from './instance.ts'
import { Lapses } from './lapses.ts'
import type { LapsesPorts } from './lapses.ts'
import type { NodeView } from './query.ts'
import { Revisions } from './revisions.ts'
import { classify, editRecords } from './service-changes.ts'
import type { Records, ServiceChange } from './service-changes.ts'
import type { ServiceRecord } from './service-record.ts'
import type { Instance } from './types.ts'

/**
 * Who offers what: a record per service name, fed by the tracker's diffs. What is not a service is kept out, so
 * it never hides what is.
 *
 * A replica may hold a million entries, most of which this node never asks for. So an entry costs a reference here
 * (plus some 140 B per name), and what readers see is made when first asked for.
 */
export class ServiceIndex {
  readonly #records: Records = new Map()
  readonly #revisions = new Revisions()
  /** Snapshots that are coming in, by the first entry of each. Who forgets that entry forgets what was prepared of it. */
  readonly #arrivals = new WeakMap<Entry<Json>, Arrival>()
  // One function for all records: one each would cost as much as a record.
  readonly #toInstance = (entry: ServiceEntry): Instance => this.instanceOf(entry)
  readonly #hidden = new WeakMap<ServiceEntry, Instance>()
  readonly nodes: NodeView
  /** Who was found lately, and may live all the same. */
  readonly lapses: Lapses

  constructor(nodes: NodeView, ports: LapsesPorts) {
    this.nodes = nodes
    this.lapses = new Lapses(ports)
  }

  /** Undefined for a name without instances: names used once leave nothing behind (C8). */
  get(name: string): ServiceRecord | undefined {
    return this.#records.get(name)
  }

  /** When the service last changed here. Never goes back, whatever becomes of the name. */
  revisionOf(name: string): number {
    return this.#records.get(name)?.changedAt ?? this.#revisions.lastOf(name)
  }

  /** Below it a revision may be one that is not remembered any more. */
  get oldestRevision(): number {
    return this.#revisions.oldest
  }

  /** All records, in no order to rely on. */
  records(): IterableIterator<ServiceRecord> {
    return this.#records.values()
  }

  /** Doubt about the owner of these entries came or went: what was prepared from their services is old. */
  reconsider(entries: readonly Entry<Json>[]): void {
    for (const { topic, key } of entries) if (topic === SERVICE_TOPIC) this.#records.get(key)?.retire()
  }

  /** Something about all answers changed: what was prepared from any service is old. */
  retire(): void {
    for (const record of this.#records.values()) record.retire()
  }

  clear(): void {
    this.retire()
    this.#records.clear()
    this.lapses.clear()
  }

  instanceOf(entry: ServiceEntry): Instance {
    return toInstance(entry, this.nodes.nameOf(entry.node))
  }

  /** The same for as long as the entry is hidden. */
  hiddenInstanceOf(entry: ServiceEntry): Instance {
    let instance = this.#hidden.get(entry)
    if (instance === undefined) {
      instance = this.instanceOf(entry)
      this.#hidden.set(entry, instance)
    }
    return instance
  }

  /** Does ahead what `apply` would have to do for a snapshot at once. `first` is the first entry of the whole. */
  prepare(part: readonly Entry<Json>[], first: Entry<Json>): void {
    let arrival = this.#arrivals.get(first)
    if (arrival === undefined) {
      arrival = new Arrival(this.#toInstance)
      this.#arrivals.set(first, arrival)
    }
    arrival.add(part)
  }

  /** Costs the size of the diff, and one pass over the list of each service that loses or changes an instance. */
  apply(diff: Diff): readonly ServiceChange[] {
    const changes = this.#apply(diff)
    this.lapses.apply(diff, changes)
    return changes
  }

  #apply(diff: Diff): readonly ServiceChange[] {
    const { node, joins, leaves, updates } = diff
    const revision = this.#revisions.next()
    const arrival = this.#takeArrival(joins[0]) ?? this.#takeArrival(updates[0]?.entry)
    // What stands in the place of something else could not be prepared.
    if (arrival !== undefined && leaves.length === 0 && updates.length === 0) {
      const changes = arrival.settle(node, joins)
      for (const [name, record] of arrival.records) this.#link(name, node, record, revision)
      return changes
    }
    const changes = classify(diff)
    const emptied = editRecords(this.#records, node, changes, this.#toInstance, revision)
    for (const name of emptied) this.#revisions.keep(name, revision)
    return changes
  }

  #takeArrival(first: Entry<Json> | undefined): Arrival | undefined {
    const arrival = first && this.#arrivals.get(first)
    if (first !== undefined && arrival !== undefined) this.#arrivals.delete(first)
    return arrival
  }

  #link(name: string, node: NodeId, record: ServiceRecord, revision: number): void {
    const known = this.#records.get(name)
    if (known !== undefined) {
      known.edit(node, { replaced: undefined, added: record.entries.slice() }, revision)
      return
    }
    record.show(revision)
    this.#records.set(name, record)
  }
}
