import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Diff } from '../tracker/types.ts'
import { readEntry, SERVICE_TOPIC } from './instance.ts'
import type { ServiceEntry } from './instance.ts'
import { ServiceRecord } from './service-record.ts'
import type { RecordEdit } from './service-record.ts'
import type { Instance } from './types.ts'

/** What one diff changed for readers, in the order of the diff: leaves, updates, joins. */
export type ServiceChange =
  | { readonly kind: 'up'; readonly entry: ServiceEntry }
  | { readonly kind: 'changed'; readonly entry: ServiceEntry; readonly previous: ServiceEntry }
  | { readonly kind: 'down'; readonly entry: ServiceEntry; readonly replaced: boolean }
  | { readonly kind: 'rejected'; readonly entry: Entry<Json>; readonly fault: string }

/** Sorts out what is no service. An update from or to such a thing is a coming or a going. */
export function classify({ leaves, updates, joins }: Diff): ServiceChange[] {
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
  for (const join of joins) if (join.topic === SERVICE_TOPIC) changes.push(classifyJoin(join))
  return changes
}

/** An entry of the topic of services that is new. */
export function classifyJoin(join: Entry<Json>): ServiceChange {
  const entry = readEntry(join)
  return typeof entry === 'string' ? { kind: 'rejected', entry: join, fault: entry } : { kind: 'up', entry }
}

/** Services by name. A Map, so that `__proto__` is a name like any other. */
export type Records = Map<string, ServiceRecord>

/**
 * Brings records in line with what one node changed: one edit for each service, however much of it changed. Returns the
 * names that have no instance any more.
 */
export function editRecords(
  records: Records,
  node: NodeId,
  changes: readonly ServiceChange[],
  toInstance: (entry: ServiceEntry) => Instance,
  revision: number,
): readonly string[] {
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
  const emptied: string[] = []
  for (const [name, edit] of edits) {
    let record = records.get(name)
    if (record === undefined) {
      record = new ServiceRecord(toInstance)
      records.set(name, record)
    }
    record.edit(node, edit, revision)
    if (record.size > 0) continue
    // Names used once leave nothing behind (C8).
    records.delete(name)
    emptied.push(name)
  }
  return emptied
}
