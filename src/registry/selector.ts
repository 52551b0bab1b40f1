import type { Random } from '../tracker/ports.ts'
import { AcquiredPick } from './balance/acquired-pick.ts'
import type { Balancer } from './balance/balancer.ts'
import type { CallBook } from './balance/call-book.ts'
import { createBalancer } from './balance/create-balancer.ts'
import { findCandidates, findNobody } from './candidates.ts'
import { argumentError } from './check.ts'
import type { LookupTally } from './lookup-tally.ts'
import { keyFault } from './query.ts'
import type { Query } from './query.ts'
import type { ServiceIndex } from './service-index.ts'
import type { ServiceRecord } from './service-record.ts'
import { findStandIns, Standing } from './stand-ins.ts'
import type { LookupAnswer, LookupHit, LookupMiss, ServicePick, ServiceSelector } from './types.ts'

/** A prepared lookup: what it found stands until the service changes. */
export class Selector implements ServiceSelector {
  readonly query: Query
  readonly #index: ServiceIndex
  readonly #calls: CallBook
  readonly #tally: LookupTally
  readonly #balancer: Balancer
  #record: ServiceRecord | undefined
  #revision = -1
  #hits: readonly LookupHit[] = NO_HITS
  #miss: LookupMiss
  #standing: Standing | undefined

  constructor(query: Query, index: ServiceIndex, random: Random, calls: CallBook, tally: LookupTally) {
    this.query = query
    this.#index = index
    this.#calls = calls
    this.#tally = tally
    this.#balancer = createBalancer(query.balance, random, calls)
    this.#miss = findNobody(index.nodes)
  }

  next(key: string | undefined = this.query.key): LookupAnswer {
    // Whether there is an instance or not.
    if (key !== undefined || this.query.balance === 'hash') this.#checkKey(key)
    const record = this.#record
    if (record === undefined || record.revision !== this.#revision) this.#refresh()
    const hits = this.#hits
    if (hits.length === 0) {
      this.#tally[this.#miss.error]++
      return this.#miss
    }
    if (this.#standing === undefined) this.#tally.found++
    else this.#tally.stale++
    return hits[this.#balancer.pick(hits, key ?? '')] ?? this.#miss
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
    if (this.#standing?.holds(record) === true) return
    const { nodes } = this.#index
    const found = record === undefined ? undefined : findCandidates(this.query, record, nodes, this.#calls)
    const hits = found?.hits ?? NO_HITS
    const standing = hits.length === 0 ? this.#standIn() : undefined
    this.#record = record
    // Where others stand in, every call has to look whether they still may.
    this.#revision = standing === undefined ? (record?.revision ?? -1) : -1
    this.#standing = standing
    this.#hits = standing?.hits ?? hits
    this.#miss = found?.miss ?? findNobody(nodes)
  }

  #standIn(): Standing | undefined {
    if (this.query.stale !== 'keep-last') return undefined
    const standIns = findStandIns(this.query, this.#index)
    if (standIns === undefined) return undefined
    this.#index.lapses.serve(this.query.name)
    return new Standing(this.query, this.#index, standIns, this.#calls)
  }
}

const NO_HITS: readonly LookupHit[] = []
