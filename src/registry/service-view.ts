import type { ServiceEntry } from './instance.ts'
import { judge } from './query.ts'
import type { Query } from './query.ts'
import type { ServiceIndex } from './service-index.ts'
import type { ServiceRecord } from './service-record.ts'
import type { Instance } from './types.ts'
import { versionOf } from './version.ts'
import type { Snapshot } from './watch-types.ts'

/** What one query finds of one service, for as many as ask: put together once per change, and only when asked for. */
export class ServiceView {
  readonly query: Query
  readonly #index: ServiceIndex
  readonly #epoch: () => string
  #snapshot: Snapshot | undefined

  constructor(query: Query, index: ServiceIndex, epoch: () => string) {
    this.query = query
    this.#index = index
    this.#epoch = epoch
  }

  /** The present one. Costs one pass over the service after a change of it, else nothing. */
  snapshot(): Snapshot {
    const { name } = this.query
    const revision = this.#index.revisionOf(name)
    const last = this.#snapshot
    if (last?.revision === revision) return last
    const record = this.#index.get(name)
    const found = record === undefined ? [] : this.#find(record)
    // A change of what the query does not ask for leaves the list as it is, which tells watchers to sleep on.
    const instances =
      last !== undefined && hasSame(last.instances, found) ? last.instances : Object.freeze(found)
    this.#snapshot = Object.freeze({
      service: name,
      epoch: this.#epoch(),
      revision,
      instances,
      stale: false,
      reset: false,
    })
    return this.#snapshot
  }

  #find(record: ServiceRecord): Instance[] {
    const found: Instance[] = []
    for (const [at, entry] of record.entries.entries()) {
      if (this.#admits(entry)) found.push(record.hit(at).service)
    }
    return found
  }

  #admits(entry: ServiceEntry): boolean {
    return judge(this.query, entry, versionOf(entry.meta.version), this.#index.nodes) === 'eligible'
  }
}

const hasSame = (a: readonly Instance[], b: readonly Instance[]): boolean =>
  a.length === b.length && a.every((instance, at) => instance === b[at])
