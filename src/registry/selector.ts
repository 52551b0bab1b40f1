import type { Random } from '../tracker/ports.ts'
import { createBalancer } from './balance.ts'
import type { Balancer } from './balance.ts'
import type { ServiceEntry } from './instance.ts'
import { judge } from './query.ts'
import type { NodeView, Query, Verdict } from './query.ts'
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

/**
 * The highest version of which any instance may be returned, and of that the instances in the zone, or else all. Instances on
 * nodes in doubt count only when there are no others, of whatever version: an answer comes before a newer one.
 */
export function findCandidates(query: Query, record: ServiceRecord, nodes: NodeView): Candidates {
  const trusted = new Best(query)
  const doubted = new Best(query)
  let furthest = MISSES.version
  for (const [at, entry] of record.entries.entries()) {
    const version = versionOf(entry.meta.version)
    if (trusted.isBelow(version)) break
    const verdict = judge(query, entry, version, nodes)
    if (verdict !== 'eligible') {
      if (MISSES[verdict].rank > furthest.rank) furthest = MISSES[verdict]
    } else if (nodes.doubtOf(entry.node) === undefined) trusted.add(version, record.hit(at), entry)
    else if (!doubted.isBelow(version)) doubted.add(version, record.hit(at), entry)
  }
  return { hits: trusted.hits ?? doubted.hits ?? [], miss: furthest.answer }
}

/** The instances of the highest version, out of those added from the highest version down. */
class Best {
  readonly #zone: string | undefined
  readonly #all: LookupHit[] = []
  readonly #inZone: LookupHit[] = []
  #version: SemVer | undefined

  constructor({ zone }: Query) {
    this.#zone = zone
  }

  /** Whether this version is lower than the highest one here. */
  isBelow(version: SemVer): boolean {
    return this.#version !== undefined && version.compare(this.#version) !== 0
  }

  add(version: SemVer, hit: LookupHit, { meta }: ServiceEntry): void {
    this.#version = version
    this.#all.push(hit)
    if (this.#zone !== undefined && meta.zone === this.#zone) this.#inZone.push(hit)
  }

  /** Those in the zone, or else all; undefined when there are none. */
  get hits(): readonly LookupHit[] | undefined {
    if (this.#inZone.length > 0) return this.#inZone
    return this.#all.length > 0 ? this.#all : undefined
  }
}

/** Every instance of every version that may be returned, in the order of the record. */
export const findEligible = (query: Query, record: ServiceRecord, nodes: NodeView): Instance[] =>
  record.entries.flatMap((entry, at) =>
    judge(query, entry, versionOf(entry.meta.version), nodes) === 'eligible' ? [record.instance(at)] : [],
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
      record === undefined ? NOBODY : findCandidates(this.query, record, this.#index.nodes)
    this.#record = record
    this.#revision = record?.revision ?? -1
    this.#hits = hits
    this.#miss = miss
  }
}
