import type { Entry, NodeId } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { SERVICE_TOPIC } from '../../src/registry/instance.ts'
import { CallBook } from '../../src/registry/balance/call-book.ts'
import { REGISTRY_DEFAULTS } from '../../src/registry/options.ts'
import { Requirements } from '../../src/registry/requirement.ts'
import { noLookups } from '../../src/registry/lookup-tally.ts'
import { SelectorPool } from '../../src/registry/selector-pool.ts'
import { ServiceIndex } from '../../src/registry/service-index.ts'
import type { ServiceChange } from '../../src/registry/service-changes.ts'
import type { Compat } from '../../src/registry/requirement.ts'
import type { PrereleasePolicy } from '../../src/registry/types.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { Random } from '../../src/tracker/ports.ts'
import type { Diff, Doubt } from '../../src/tracker/types.ts'

/** A meta with the fields that a test names. */
export type Meta = { readonly [field: string]: Json }

export interface Place {
  readonly node?: string
  readonly incarnation?: number
  readonly ref?: number
  readonly topic?: string
}

/** An entry of a service, on `n1` with ref 1 unless said otherwise. */
export const entry = (
  key: string,
  meta: Json,
  { node = 'n1', incarnation = 1, ref = 1, topic = SERVICE_TOPIC }: Place = {},
): Entry<Json> => ({ node, incarnation, ref, version: ref, topic, key, meta })

/** What the registry is told of, without a tracker: an index fed by hand, and lookups on it. */
export class Fed {
  readonly index: ServiceIndex
  readonly pool: SelectorPool
  readonly clock = new VirtualClock()
  readonly calls: CallBook
  readonly lookups = noLookups()
  /** Why other nodes are preferred to a node. */
  readonly doubts = new Map<NodeId, Doubt>()
  degraded = false
  /** Services of which what was began to be given. */
  readonly servedStale: string[] = []
  #chance = 0

  constructor({
    compat = 'semver',
    prerelease = 'include',
    random = { next: () => this.#chance },
  }: { compat?: Compat; prerelease?: PrereleasePolicy; random?: Random } = {}) {
    this.index = new ServiceIndex(
      {
        nameOf: (node) => `name-of-${node}`,
        doubtOf: (node) => this.doubts.get(node),
        isDegraded: () => this.degraded,
      },
      { now: () => this.clock.now(), served: (name) => this.servedStale.push(name) },
    )
    const queries = { ...REGISTRY_DEFAULTS, requirements: new Requirements(compat), prerelease }
    this.calls = new CallBook({
      clock: this.clock,
      rules: REGISTRY_DEFAULTS,
      changed: (service) => this.index.get(service)?.retire(),
    })
    this.pool = new SelectorPool(this.index, queries, random, this.calls, this.lookups)
  }

  /** Unless chance was given: what its next call gives, in [0, 1). */
  set chance(value: number) {
    this.#chance = value
  }

  apply(diff: Partial<Diff>): readonly ServiceChange[] {
    const node = diff.node ?? [...(diff.joins ?? []), ...(diff.leaves ?? [])][0]?.node ?? 'n1'
    const changes = this.index.apply({ node, joins: [], leaves: [], updates: [], reason: undefined, ...diff })
    this.pool.forget(changes)
    return changes
  }

  /** Adds instances of a service, each on a node of its own: n1, n2, … */
  add(key: string, metas: readonly Meta[]): Entry<Json>[] {
    const entries = metas.map((meta, at) => entry(key, meta, { node: `n${at + 1}` }))
    for (const each of entries) this.apply({ joins: [each] })
    return entries
  }
}
