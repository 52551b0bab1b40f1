import type { ServiceEntry } from './instance.ts'
import { judge } from './query.ts'
import type { Query } from './query.ts'
import type { ServiceIndex } from './service-index.ts'
import type { ServiceRecord } from './service-record.ts'
import { findStandIns } from './stand-ins.ts'
import type { Instance } from './types.ts'
import { versionOf } from './version.ts'
import type { Snapshot } from './watch-types.ts'

/** What one query finds of one service, for as many as ask: put together once per change, and only when asked for. */
export class ServiceView {
  readonly query: Query
  readonly #index: ServiceIndex
  readonly #epoch: () => string
  #snapshot: Snapshot | undefined
  /** When those who stand in have to be looked at again: at this time, or past this revision of the lapses. */
  #until = Infinity
  #lapses = 0

  constructor(query: Query, index: ServiceIndex, epoch: () => string) {
    this.query = query
    this.#index = index
    this.#epoch = epoch
  }

  /** Ms until the last snapshot changes by itself, because who stands in may no longer. Infinity: it does not. */
  get leftMs(): number {
    return this.#until === Infinity ? Infinity : this.#until - this.#index.lapses.now
  }

  /** The present one. Costs one pass over the service after a change of it, else nothing. */
  snapshot(): Snapshot {
    const { name } = this.query
    const { nodes, lapses } = this.#index
    const degraded = nodes.isDegraded()
    const revision = this.#index.revisionOf(name)
    const last = this.#snapshot
    const isOver = last?.stale === true && (lapses.revision !== this.#lapses || this.leftMs <= 0)
    if (last?.revision === revision && last.degraded === degraded && !isOver) return last
    const { found, stale } = this.#find()
    // A change of what the query does not ask for leaves the list as it is, which tells watchers to sleep on.
    const instances =
      last !== undefined && hasSame(last.instances, found) ? last.instances : Object.freeze(found)
    this.#snapshot = Object.freeze({
      service: name,
      epoch: this.#epoch(),
      revision,
      instances,
      stale,
      degraded,
      reset: false,
    })
    return this.#snapshot
  }

  #find(): { readonly found: readonly Instance[]; readonly stale: boolean } {
    const record = this.#index.get(this.query.name)
    const found = record === undefined ? [] : this.#findIn(record)
    const { lapses } = this.#index
    const keepsLast = found.length === 0 && this.query.stale === 'keep-last'
    const standIns = keepsLast ? findStandIns(this.query, this.#index) : undefined
    this.#until = standIns?.until ?? Infinity
    this.#lapses = lapses.revision
    if (standIns === undefined) return { found, stale: false }
    lapses.serve(this.query.name)
    return { found: standIns.instances, stale: true }
  }

  #findIn(record: ServiceRecord): Instance[] {
    const degraded = this.#index.nodes.isDegraded()
    const found: Instance[] = []
    for (const [at, entry] of record.entries.entries()) {
      if (this.#admits(entry)) found.push(record.hit(at, degraded).service)
    }
    return found
  }

  #admits(entry: ServiceEntry): boolean {
    return judge(this.query, entry, versionOf(entry.meta.version), this.#index.nodes) === 'eligible'
  }
}

const hasSame = (a: readonly Instance[], b: readonly Instance[]): boolean =>
  a.length === b.length && a.every((instance, at) => instance === b[at])
