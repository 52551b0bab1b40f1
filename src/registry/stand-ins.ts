import type { CallBook } from './balance/call-book.ts'
import { choose, findCandidates } from './candidates.ts'
import { judge } from './query.ts'
import type { Query } from './query.ts'
import type { ServiceEntry } from './instance.ts'
import type { ServiceIndex } from './service-index.ts'
import type { ServiceRecord } from './service-record.ts'
import type { Instance, LookupHit } from './types.ts'
import { compareVersions, versionOf } from './version.ts'

/** Instances that a query found lately, for when it finds none. What is shown of them is what is known now. */
interface StandIns {
  /** The highest version first. */
  readonly instances: readonly Instance[]
  /** When the first of them may stand in no longer: ms on the clock of the lapses. */
  readonly until: number
}

/**
 * Those that the query would find but for their state, their capabilities, or the silence of their nodes, and did find less than
 * `maxStaleMs` ago. Undefined when there are none. Costs the instances of the service.
 */
export function findStandIns(query: Query, index: ServiceIndex): StandIns | undefined {
  const { lapses, nodes } = index
  const asWas: Query = { ...query, state: 'any', capability: undefined }
  const { now } = lapses
  const degraded = nodes.isDegraded()
  const instances: Instance[] = []
  let until = Infinity
  const consider = (entry: ServiceEntry, show: () => Instance, hiddenAt?: number): void => {
    if (judge(asWas, entry, versionOf(entry.meta.version), nodes) !== 'eligible') return
    const lapsedAt = lapses.lastFoundAt(query, entry, hiddenAt)
    if (lapsedAt === undefined || now >= lapsedAt + query.maxStaleMs) return
    instances.push(show())
    until = Math.min(until, lapsedAt + query.maxStaleMs)
  }
  const record = index.get(query.name)
  if (record !== undefined) {
    for (const [at, entry] of record.entries.entries()) {
      consider(entry, () => record.hit(at, degraded).service)
    }
  }
  for (const [entry, hiddenAt] of lapses.hidden(query.name)) {
    consider(entry, () => index.hiddenInstanceOf(entry), hiddenAt)
  }
  if (instances.length === 0) return undefined
  return { instances: instances.toSorted((a, b) => compareVersions(b.version, a.version)), until }
}

/** Of those, the ones that lookups take turns over: of the highest version, chosen as if they were found. */
function chooseStandIns(
  query: Query,
  { instances }: StandIns,
  degraded: boolean,
  calls: CallBook,
): readonly LookupHit[] {
  const [best] = instances
  const hits = instances
    .filter(({ version }) => best !== undefined && compareVersions(version, best.version) === 0)
    .map((service) => Object.freeze<LookupHit>({ ok: true, service, stale: true, degraded }))
  return choose(query, hits, calls)
}

/** Ids of those that a lookup returns only because it finds nobody. */
export function standInIds(query: Query, index: ServiceIndex, calls: CallBook): ReadonlySet<string> {
  const record = index.get(query.name)
  const finds = record !== undefined && findCandidates(query, record, index.nodes, calls).hits.length > 0
  const standIns = finds || query.stale === 'fail-closed' ? undefined : findStandIns(query, index)
  const hits = standIns === undefined ? [] : chooseStandIns(query, standIns, false, calls)
  return new Set(hits.map(({ service }) => service.id))
}

/** Stand-ins as they were chosen, for as long as that holds. */
export class Standing {
  readonly hits: readonly LookupHit[]
  readonly #index: ServiceIndex
  readonly #record: ServiceRecord | undefined
  readonly #revision: number | undefined
  readonly #lapses: number
  readonly #degraded: boolean
  readonly #until: number

  constructor(query: Query, index: ServiceIndex, standIns: StandIns, calls: CallBook) {
    this.#index = index
    this.#record = index.get(query.name)
    this.#revision = this.#record?.revision
    this.#lapses = index.lapses.revision
    this.#degraded = index.nodes.isDegraded()
    this.#until = standIns.until
    this.hits = chooseStandIns(query, standIns, this.#degraded, calls)
  }

  /** Whether nothing has changed since, where `record` is the present one of the service. Allocates nothing. */
  holds(record: ServiceRecord | undefined): boolean {
    const { lapses, nodes } = this.#index
    return (
      record === this.#record &&
      record?.revision === this.#revision &&
      lapses.revision === this.#lapses &&
      nodes.isDegraded() === this.#degraded &&
      lapses.now < this.#until
    )
  }
}
