import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { SERVICE_TOPIC } from './instance.ts'
import type { ServiceEntry } from './instance.ts'
import { classifyJoin, editRecords } from './service-changes.ts'
import type { Records, ServiceChange } from './service-changes.ts'
import type { Instance } from './types.ts'

/** The revision of what no reader finds yet. */
const NOT_SHOWN = 0

/**
 * The services of a snapshot, read and put together part by part as it comes in. Nobody finds them before a diff shows
 * the whole, in one turn of the event loop: 30,000 services then take a tenth of what it takes to read them.
 */
export class Arrival {
  readonly #toInstance: (entry: ServiceEntry) => Instance
  readonly #records: Records = new Map()
  #changes: ServiceChange[] = []

  constructor(toInstance: (entry: ServiceEntry) => Instance) {
    this.#toInstance = toInstance
  }

  /** By name, as if nobody else offered any. */
  get records(): Records {
    return this.#records
  }

  add(part: readonly Entry<Json>[]): void {
    const [first] = part
    if (first === undefined) return
    const changes = readAll(part)
    editRecords(this.#records, first.node, changes, this.#toInstance, NOT_SHOWN)
    for (const change of changes) this.#changes.push(change)
  }

  /**
   * Brings the records in line with what joins in the end: what its owner wrote since may have changed the snapshot
   * before it is shown. Returns what that changes for readers. Costs a comparison per join, and what differs.
   */
  settle(node: NodeId, joins: readonly Entry<Json>[]): readonly ServiceChange[] {
    const arrived = this.#changes
    let same = 0
    let at = 0
    for (; at < joins.length; at++) {
      const join = joins[at]
      if (join !== undefined && join === arrived[same]?.entry) same++
      else if (join?.topic === SERVICE_TOPIC) break
    }
    if (at < joins.length || same < arrived.length) this.#rewrite(node, same, joins.slice(at))
    return this.#changes
  }

  /** Has `joins` in the place of what arrived from `start` on. */
  #rewrite(node: NodeId, start: number, joins: readonly Entry<Json>[]): void {
    const known = new Map<Entry<Json>, ServiceChange>()
    for (const change of this.#changes.splice(start)) known.set(change.entry, change)
    const edits: ServiceChange[] = []
    for (const join of joins) {
      if (join.topic !== SERVICE_TOPIC) continue
      const read = known.get(join)
      const change = read ?? classifyJoin(join)
      this.#changes.push(change)
      if (read === undefined) edits.push(change)
      else known.delete(join)
    }
    for (const { kind, entry } of known.values()) {
      if (kind === 'up') edits.push({ kind: 'down', entry, replaced: false })
    }
    editRecords(this.#records, node, edits, this.#toInstance, NOT_SHOWN)
  }
}

function readAll(entries: readonly Entry<Json>[]): ServiceChange[] {
  const changes: ServiceChange[] = []
  for (const entry of entries) if (entry.topic === SERVICE_TOPIC) changes.push(classifyJoin(entry))
  return changes
}
