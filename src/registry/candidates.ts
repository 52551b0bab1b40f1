import type { CallBook } from './balance/call-book.ts'
import { judge } from './query.ts'
import type { NodeView, Query, Verdict } from './query.ts'
import type { ServiceRecord } from './service-record.ts'
import type { Instance, LookupError, LookupHit, LookupMiss } from './types.ts'
import { versionOf } from './version.ts'
import type { SemVer } from './version.ts'

/** A miss as it is told, and as it is told while degraded: asking allocates nothing. */
interface Miss {
  readonly usual: LookupMiss
  readonly degraded: LookupMiss
}

const miss = (error: LookupError): Miss => ({
  usual: Object.freeze({ ok: false, error, degraded: false }),
  degraded: Object.freeze({ ok: false, error, degraded: true }),
})

const tell = ({ usual, degraded }: Miss, nodes: NodeView): LookupMiss =>
  nodes.isDegraded() ? degraded : usual

/** The miss when this is the furthest that any instance got. */
const MISSES: Record<Exclude<Verdict, 'eligible'>, { readonly rank: number; readonly miss: Miss }> = {
  version: { rank: 1, miss: miss('noversion') },
  function: { rank: 2, miss: miss('nofunction') },
  node: { rank: 3, miss: miss('noinstance') },
  state: { rank: 3, miss: miss('noinstance') },
  capability: { rank: 3, miss: miss('noinstance') },
}

/** The instances that lookups of a query take turns over, and the answer when there are none. */
export interface Candidates {
  readonly hits: readonly LookupHit[]
  readonly miss: LookupMiss
}

const NOBODY = miss('noservice')

/** The answer for a name without instances. */
export const findNobody = (nodes: NodeView): LookupMiss => tell(NOBODY, nodes)

/**
 * The highest version of which any instance may be returned, and of that the instances in the zone, if they are enough, or else
 * all. Instances on nodes in doubt count only when there are no others, of whatever version: an answer comes before a newer one.
 * Those that this process avoids count only when there are no others of that version and a weight: they are not there for the zone.
 */
export function findCandidates(
  query: Query,
  record: ServiceRecord,
  nodes: NodeView,
  calls: CallBook,
): Candidates {
  const trusted = new Best()
  const doubted = new Best()
  const degraded = nodes.isDegraded()
  let furthest = MISSES.version
  for (const [at, entry] of record.entries.entries()) {
    const version = versionOf(entry.meta.version)
    if (trusted.isBelow(version)) break
    const verdict = judge(query, entry, version, nodes)
    if (verdict !== 'eligible') {
      if (MISSES[verdict].rank > furthest.rank) furthest = MISSES[verdict]
    } else if (nodes.doubtOf(entry.node) === undefined) trusted.add(version, record.hit(at, degraded))
    else if (!doubted.isBelow(version)) doubted.add(version, record.hit(at, degraded))
  }
  const hits = trusted.hits.length > 0 ? trusted.hits : doubted.hits
  return { hits: choose(query, hits, calls), miss: tell(furthest.miss, nodes) }
}

/** Those of one version that are preferred to the others. */
export const choose = (query: Query, hits: readonly LookupHit[], calls: CallBook): readonly LookupHit[] =>
  inZone(query, notAvoided(calls, withWeight(query, hits)))

/** The instances of the highest version, out of those added from the highest version down. */
class Best {
  readonly hits: LookupHit[] = []
  #version: SemVer | undefined

  /** Whether this version is lower than the highest one here. */
  isBelow(version: SemVer): boolean {
    return this.#version !== undefined && version.compare(this.#version) !== 0
  }

  add(version: SemVer, hit: LookupHit): void {
    this.#version = version
    this.hits.push(hit)
  }
}

/** Those of a weight above 0, where weights count, or all when there are none. */
function withWeight({ balance }: Query, hits: readonly LookupHit[]): readonly LookupHit[] {
  if (balance !== 'weighted' && balance !== 'hash') return hits
  const weighty = hits.filter(({ service }) => service.weight > 0)
  return weighty.length > 0 ? weighty : hits
}

/** Those that this process does not avoid, or all when it avoids every one. */
function notAvoided(calls: CallBook, hits: readonly LookupHit[]): readonly LookupHit[] {
  if (calls.avoided === 0) return hits
  const others = hits.filter(({ service }) => !calls.avoids(service.id))
  return others.length > 0 ? others : hits
}

/** Those in the zone that is preferred, or all when they are too few. */
function inZone({ zone, minZoneInstances }: Query, hits: readonly LookupHit[]): readonly LookupHit[] {
  if (zone === undefined) return hits
  const near = hits.filter(({ service }) => service.zone === zone)
  return near.length >= minZoneInstances ? near : hits
}

/** Every instance of every version that may be returned, in the order of the record. */
export const findEligible = (query: Query, record: ServiceRecord, nodes: NodeView): Instance[] =>
  record.entries.flatMap((entry, at) =>
    judge(query, entry, versionOf(entry.meta.version), nodes) === 'eligible' ? [record.instance(at)] : [],
  )
