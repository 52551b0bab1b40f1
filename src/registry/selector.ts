import type { Random } from '../tracker/ports.ts'
import { createBalancer } from './balance.ts'
import type { Balancer } from './balance.ts'
import { judge } from './query.ts'
import type { Query, Verdict } from './query.ts'
import type { ServiceIndex } from './service-index.ts'
import type { ServiceRecord } from './service-record.ts'
import type { Instance, LookupAnswer, LookupError, LookupHit, LookupMiss, ServiceSelector } from './types.ts'
import { versionOf } from './version.ts'
import type { SemVer } from './version.ts'

const miss = (error: LookupError): LookupMiss => Object.freeze({ ok: false, error })

const NO_SERVICE = miss('noservice')

/** The miss when this is the furthest that any instance got. */
const MISSES: Record<Exclude<Verdict, 'eligible'>, { readonly rank: number; readonly answer: LookupMiss }> = {
  version: { rank: 1, answer: miss('noversion') },
  function: { rank: 2, answer: miss('nofunction') },
  node: { rank: 3, answer: miss('noinstance') },
  state: { rank: 3, answer: miss('noinstance') },
}

/** The instances that lookups of a query take turns over, and the answer when there are none. */
export interface Candidates {
  readonly hits: readonly LookupHit[]
  readonly miss: LookupMiss
}

const NOBODY: Candidates = { hits: [], miss: NO_SERVICE }

/** The highest version of which any instance may be returned, and of that the instances in the zone, or else all. */
export function findCandidates(
  query: Query,
  record: ServiceRecord,
  nodeName: (node: string) => string,
): Candidates {
  const hits: LookupHit[] = []
  let inZone: LookupHit[] = []
  let best: SemVer | undefined
  let furthest = MISSES.version
  for (const [at, entry] of record.entries.entries()) {
    const version = versionOf(entry.meta.version)
    if (best !== undefined && version.compare(best) !== 0) break
    const verdict = judge(query, entry, version, nodeName)
    if (verdict === 'eligible') {
      best = version
      const hit = record.hit(at)
      hits.push(hit)
      if (query.zone !== undefined && entry.meta.zone === query.zone) inZone.push(hit)
    } else if (MISSES[verdict].rank > furthest.rank) furthest = MISSES[verdict]
  }
  if (inZone.length === 0) inZone = hits
  return { hits: inZone, miss: furthest.answer }
}

/** Every instance of every version that may be returned, in the order of the record. */
export const findEligible = (
  query: Query,
  record: ServiceRecord,
  nodeName: (node: string) => string,
): Instance[] =>
  record.entries.flatMap((entry, at) =>
    judge(query, entry, versionOf(entry.meta.version), nodeName) === 'eligible' ? [record.instance(at)] : [],
  )

/** A prepared lookup: what it found stands until the service changes. */
export class Selector implements ServiceSelector {
  readonly query: Query
  readonly #index: ServiceIndex
  readonly #balancer: Balancer
  #record: ServiceRecord | undefined
  #revision = -1
  #hits: readonly LookupHit[] = []
  #miss: LookupMiss = NO_SERVICE

  constructor(query: Query, index: ServiceIndex, random: Random) {
    this.query = query
    this.#index = index
    this.#balancer = createBalancer(query.balance, random)
  }

  next(): LookupAnswer {
    const record = this.#record
    if (record === undefined || record.revision !== this.#revision) this.#refresh()
    const hits = this.#hits
    return hits.length === 0 ? this.#miss : (hits[this.#balancer.pick(hits)] ?? this.#miss)
  }

  #refresh(): void {
    // A record that lost its last instance is gone, and its name may have a new one.
    const record = this.#index.get(this.query.name)
    const { hits, miss } =
      record === undefined ? NOBODY : findCandidates(this.query, record, this.#index.nodeName)
    this.#record = record
    this.#revision = record?.revision ?? -1
    this.#hits = hits
    this.#miss = miss
  }
}
