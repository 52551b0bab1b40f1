import type { Random } from '../tracker/ports.ts'
import { AcquiredPick } from './balance/acquired-pick.ts'
import type { Balancer } from './balance/balancer.ts'
import type { CallBook } from './balance/call-book.ts'
import { createBalancer } from './balance/create-balancer.ts'
import { findCandidates, NOBODY } from './candidates.ts'
import { argumentError } from './check.ts'
import { keyFault } from './query.ts'
import type { Query } from './query.ts'
import type { ServiceIndex } from './service-index.ts'
import type { ServiceRecord } from './service-record.ts'
import type { LookupAnswer, LookupHit, LookupMiss, ServicePick, ServiceSelector } from './types.ts'

/** A prepared lookup: what it found stands until the service changes. */
export class Selector implements ServiceSelector {
  readonly query: Query
  readonly #index: ServiceIndex
  readonly #calls: CallBook
  readonly #balancer: Balancer
  #record: ServiceRecord | undefined
  #revision = -1
  #hits: readonly LookupHit[] = []
  #miss: LookupMiss = NOBODY.miss

  constructor(query: Query, index: ServiceIndex, random: Random, calls: CallBook) {
    this.query = query
    this.#index = index
    this.#calls = calls
    this.#balancer = createBalancer(query.balance, random, calls)
  }

  next(key: string | undefined = this.query.key): LookupAnswer {
    // Whether there is an instance or not.
    if (key !== undefined || this.query.balance === 'hash') this.#checkKey(key)
    const record = this.#record
    if (record === undefined || record.revision !== this.#revision) this.#refresh()
    const hits = this.#hits
    return hits.length === 0 ? this.#miss : (hits[this.#balancer.pick(hits, key ?? '')] ?? this.#miss)
  }

  acquire(key?: string): ServicePick {
    return new AcquiredPick(this.next(key), this.#calls)
  }

  #checkKey(key: unknown): void {
    const fault = keyFault(this.query.balance, key)
    if (fault !== undefined) throw argumentError('The key', key, fault)
  }

  #refresh(): void {
    // A record that lost its last instance is gone, and its name may have a new one.
    const record = this.#index.get(this.query.name)
    const { hits, miss } =
      record === undefined ? NOBODY : findCandidates(this.query, record, this.#index.nodes, this.#calls)
    this.#record = record
    this.#revision = record?.revision ?? -1
    this.#hits = hits
    this.#miss = miss
  }
}
