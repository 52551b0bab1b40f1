import type { Entry } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { CallBook } from './balance/call-book.ts'
import { findCandidates } from './candidates.ts'
import { readEntry } from './instance.ts'
import { judge } from './query.ts'
import type { NodeView, Query } from './query.ts'
import type { ServiceRecord } from './service-record.ts'
import type { Balance, ExplainReason, Explanation, Instance } from './types.ts'
import { compareVersions, versionOf } from './version.ts'

/** What can be said of a visible instance. */
type VisibleReason = Exclude<ExplainReason, 'down' | 'invalid'>

const NOBODY: ReadonlySet<string> = new Set()

/**
 * Why each instance of a service is or is not returned, where `standIns` are the ids of those that only stand in, in the
 * order in which lookups consider them. Pure.
 */
export function explainInstances(
  query: Query,
  record: ServiceRecord,
  nodes: NodeView,
  calls: CallBook,
  standIns: ReadonlySet<string> = NOBODY,
): Explanation[] {
  const { hits } = findCandidates(query, record, nodes, calls)
  const chosen = new Set(hits.map(({ service }) => service.id))
  const best = hits[0]?.service
  return record.entries.map((entry, at) => {
    const instance = record.instance(at)
    const verdict = judge(query, entry, versionOf(entry.meta.version), nodes)
    const doubt = nodes.doubtOf(entry.node)
    let reason: VisibleReason
    if (verdict !== 'eligible') reason = standIns.has(instance.id) ? 'stale' : verdict
    else if (chosen.has(instance.id)) reason = 'returned'
    else if (doubt !== undefined && best !== undefined && nodes.doubtOf(best.node) === undefined) {
      reason = doubt === 'flapping' ? 'flapping' : 'suspect'
    } else
      reason = best !== undefined && sameVersion(best, instance) ? behind(instance, best, calls) : 'older'
    return {
      instance,
      node: entry.node,
      returned: reason === 'returned' || reason === 'stale',
      reason,
      text: say(reason, instance, query, best),
    }
  })
}

/** Entries that bear the name of a service and are none. */
export function explainInvalid(entries: readonly Entry<Json>[]): Explanation[] {
  return entries.flatMap((entry) => {
    const fault = readEntry(entry)
    if (typeof fault !== 'string') return []
    const text = `what ${entry.node} published is not a service: ${fault}`
    return [{ instance: undefined, node: entry.node, returned: false, reason: 'invalid', text }]
  })
}

/** Instances on nodes that are not up here. */
export const explainHidden = (
  instances: readonly Instance[],
  standIns: ReadonlySet<string> = NOBODY,
): Explanation[] =>
  instances.map((instance) => {
    const returned = standIns.has(instance.id)
    const { name, version, node, nodeName } = instance
    const text = `${name} ${version} is on ${nodeName || node}, which is not up here${returned ? ALL_THE_SAME : ''}`
    return { instance, node, returned, reason: returned ? 'stale' : 'down', text }
  })

const ALL_THE_SAME = ': returned all the same, as stale, for it was found lately, and nothing is found now'

/** How it shares what is asked for with the others. */
const HOW: Readonly<Record<Balance, string>> = {
  'round-robin': ', in turn with its like',
  random: ', in turn with its like',
  weighted: ', in turn with its like, by its weight',
  'least-pending': ', in turn with its like, while others have more calls in flight',
  hash: ' for its share of the keys',
  first: ' unless another is known for longer',
}

/** What speaks for another of the same version. */
function behind(instance: Instance, best: Instance, calls: CallBook): VisibleReason {
  if (instance.weight === 0 && best.weight > 0) return 'weight'
  return calls.avoids(instance.id) ? 'outlier' : 'zone'
}

const sameVersion = (a: Instance, b: Instance): boolean => compareVersions(a.version, b.version) === 0

function say(reason: VisibleReason, instance: Instance, query: Query, best: Instance | undefined): string {
  const { name, version, node, nodeName, zone, state } = instance
  const who = `${name} ${version} on ${nodeName || node}`
  switch (reason) {
    case 'returned':
      return `${who} is returned${HOW[query.balance]}`
    case 'stale':
      return `${who} is ${state === query.state ? 'not ready for all that is asked' : state}${ALL_THE_SAME}`
    case 'version':
      return `${who} is of a version that ${JSON.stringify(query.requirement.text)} does not admit`
    case 'function':
      return `${who} does not offer ${query.function ?? ''}`
    case 'node':
      return `${who} is not on ${query.node ?? ''}`
    case 'state':
      return `${who} is ${state}, not ${query.state}`
    case 'capability':
      return `${who} is not ready for ${query.capability ?? ''}`
    case 'older':
      return `${who} would do, but ${best?.version ?? 'another version'} is newer`
    case 'suspect':
      return `${who} would do, but its node does not answer, and others do`
    case 'flapping':
      return `${who} would do, but its node keeps going down, and others do not`
    case 'weight':
      return `${who} would do, but its weight is 0, and others have more`
    case 'outlier':
      return `${who} would do, but calls to it failed, so that this process avoids it for a while`
    case 'zone':
      return `${who} would do, but it is in ${zone === undefined ? 'no zone' : `zone ${zone}`}, and others are in ${query.zone ?? ''}`
  }
}
