import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Diff } from '../tracker/types.ts'
import { readEntry, SERVICE_TOPIC, toInstance } from './instance.ts'
import type { ServiceEntry } from './instance.ts'
import type { NodeView } from './query.ts'
import { ServiceRecord } from './service-record.ts'
import type { RecordEdit } from './service-record.ts'
import type { Instance } from './types.ts'

/** What one diff changed for readers, in the order of the diff: leaves, updates, joins. */
export type ServiceChange =
  | { readonly kind: 'up'; readonly entry: ServiceEntry }
  | { readonly kind: 'changed'; readonly entry: ServiceEntry; readonly previous: ServiceEntry }
  | { readonly kind: 'down'; readonly entry: ServiceEntry; readonly replaced: boolean }
  | { readonly kind: 'rejected'; readonly entry: Entry<Json>; readonly fault: string }

/**
 * Who offers what: a record per service name, fed by the tracker's diffs. What is not a service is kept out, so
 * it never hides what is.
 *
 * A replica may hold a million entries, most of which this node never asks for. So an entry costs a reference here
 * (plus some 140 B per name), and what readers see is made when first asked for.
 */
export class ServiceIndex {
  // A Map, so that `__proto__` is a name like any other.
  readonly #records = new Map<string, ServiceRecord>()
  // One function for all records: one each would cost as much as a record.
  readonly #toInstance = (entry: ServiceEntry): Instance => this.instanceOf(entry)
  readonly nodes: NodeView

  constructor(nodes: NodeView) {
    this.nodes = nodes
  }

  /** Undefined for a name without instances: names used once leave nothing behind (C8). */
  get(name: string): ServiceRecord | undefined {
    return this.#records.get(name)
  }

  /** All records, in no order to rely on. */
  records(): IterableIterator<ServiceRecord> {
    return this.#records.values()
  }

  /** Doubt about the owner of these entries came or went: what was prepared from their services is old. */
  reconsider(entries: readonly Entry<Json>[]): void {
    for (const { topic, key } of entries) if (topic === SERVICE_TOPIC) this.#records.get(key)?.retire()
  }

  clear(): void {
    for (const record of this.#records.values()) record.retire()
    this.#records.clear()
  }

  instanceOf(entry: ServiceEntry): Instance {
    return toInstance(entry, this.nodes.nameOf(entry.node))
  }

  /** Costs the size of the diff, and one pass over the list of each service that loses or changes an instance. */
  apply(diff: Diff): ServiceChange[] {
    const changes = classify(diff)
    const edits = new Map<string, RecordEdit>()
    for (const change of changes) {
      const { kind, entry } = change
      if (kind === 'rejected') continue
      let edit = edits.get(entry.key)
      if (edit === undefined) {
        edit = { replaced: undefined, added: [] }
        edits.set(entry.key, edit)
      }
      if (kind === 'up') edit.added.push(entry)
      else {
        edit.replaced ??= new Map()
        edit.replaced.set(entry.ref, kind === 'down' ? undefined : entry)
      }
    }
    for (const [name, edit] of edits) this.#edit(name, diff.node, edit)
    return changes
  }

  #edit(name: string, node: NodeId, edit: RecordEdit): void {
    let record = this.#records.get(name)
    if (record === undefined) {
      record = new ServiceRecord(this.#toInstance)
      this.#records.set(name, record)
    }
    record.edit(node, edit)
    if (record.size === 0) this.#records.delete(name)
  }
}

/** Sorts out what is no service. An update from or to such a thing is a coming or a going. */
function classify({ leaves, updates, joins }: Diff): ServiceChange[] {
  const changes: ServiceChange[] = []
  for (const leave of leaves) {
    if (leave.topic !== SERVICE_TOPIC) continue
    const entry = readEntry(leave)
    if (typeof entry !== 'string') changes.push({ kind: 'down', entry, replaced: false })
  }
  for (const update of updates) {
    if (update.entry.topic !== SERVICE_TOPIC) continue
    const entry = readEntry(update.entry)
    const previous = readEntry(update.previous)
    if (typeof entry === 'string') {
      changes.push({ kind: 'rejected', entry: update.entry, fault: entry })
      if (typeof previous !== 'string') changes.push({ kind: 'down', entry: previous, replaced: true })
    } else if (typeof previous === 'string') changes.push({ kind: 'up', entry })
    else changes.push({ kind: 'changed', entry, previous })
  }
  for (const join of joins) {
    if (join.topic !== SERVICE_TOPIC) continue
    const entry = readEntry(join)
    if (typeof entry === 'string') changes.push({ kind: 'rejected', entry: join, fault: entry })
    else changes.push({ kind: 'up', entry })
  }
  return changes
}
