import type { Registry } from '../registry/registry.ts'
import type { Instance, InstanceState } from '../registry/types.ts'
import type { NodeDiagnostics, TrafficDiagnostics } from '../tracker/diagnostics.ts'
import type { SyncCause } from '../tracker/sync-tally.ts'
import type { Doubt } from '../tracker/types.ts'
import type { Happenings } from './happenings.ts'
import type { ServiceLabels } from './service-labels.ts'
import type { MetricName } from './table.ts'

/** One series of a metric, at one moment. */
interface Reading {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type Readings = Readonly<Record<MetricName, readonly Reading[]>>

/** Reads every metric at one moment. Costs the number of instances and of nodes that are known. */
export function read(registry: Registry, happenings: Happenings, serviceLabels: ServiceLabels): Readings {
  const instances = registry.services()
  const diagnostics = registry.diagnostics()
  const { nodes, services, watches, traffic, syncs, doubts } = diagnostics
  const up = nodes.filter(({ status }) => status === 'up')
  const silences = up.map(({ silentMs }) => silentMs)
  return {
    services: one(new Set(instances.map(({ name }) => name)).size),
    instances: instanceReadings(instances, serviceLabels),
    instances_avoided: one(services.avoided),
    registrations: one(services.offered),
    nodes: by('status', {
      up: up.length + 1,
      down: count(nodes, ({ status }) => status === 'down'),
      joining: count(nodes, ({ status }) => status === 'joining'),
    }),
    nodes_doubted: by('doubt', doubtCounts(nodes)),
    nodes_behind: one(count(nodes, ({ behind }) => behind)),
    writes_missing: one(sum(nodes.map(missing))),
    convergence_lag_seconds: one(longest(nodes.map(({ behindMs }) => behindMs)) / 1_000),
    neighbours: one(count(nodes, ({ neighbour }) => neighbour)),
    longest_silence_seconds: one(longest(silences) / 1_000),
    degraded: by('reason', { isolated: Number(registry.tracker.isolated), frozen: Number(registry.frozen) }),
    awareness: one(diagnostics.awareness),
    tick_lateness_seconds: one(diagnostics.lateTicks.worstMs / 1_000),
    dials_failing: one(count(diagnostics.dials, ({ failures }) => failures > 0)),
    instance_ups_total: one(happenings.instanceUps),
    instance_downs_total: by('reason', happenings.instanceDowns),
    instance_changes_total: one(happenings.instanceChanges),
    probe_runs_total: Object.entries(happenings.probeRuns).flatMap(([probe, counts]) =>
      by('result', counts).map(({ labels, value }) => ({ labels: { probe, ...labels }, value })),
    ),
    stale_services_total: one(happenings.staleServices),
    lookups_total: by('result', diagnostics.lookups),
    watch_readers: one(watches.readers),
    watch_lag_seconds: one(watches.lateMs / 1_000),
    watch_snapshots_total: one(watches.snapshots),
    watch_coalesced_total: one(watches.coalesced),
    node_ups_total: one(happenings.nodeUps),
    node_downs_total: by('reason', happenings.nodeDowns),
    node_purges_total: one(happenings.nodePurges),
    node_doubts_total: by('doubt', doubts),
    name_conflicts_total: one(happenings.nameConflicts),
    problems_total: by('code', happenings.problems),
    beats_total: one(diagnostics.self.beat),
    gossip_messages_total: byDirection(traffic.gossip, 'messages'),
    gossip_bytes_total: byDirection(traffic.gossip, 'bytes'),
    sync_messages_total: byDirection(traffic.sync, 'messages'),
    sync_bytes_total: byDirection(traffic.sync, 'bytes'),
    gaps_total: one(diagnostics.gaps),
    syncs_total: bySync(syncs, 'begun'),
    sync_failures_total: bySync(syncs, 'failed'),
    sync_frames_received_total: bySync(syncs, 'frames'),
    rejected_messages_total: by('code', diagnostics.rejected),
    rejected_services_total: one(services.rejected),
  }
}

const one = (value: number): Reading[] => [{ labels: {}, value }]

const by = (label: string, counts: Readonly<Record<string, number>>): Reading[] =>
  Object.entries(counts).map(([key, value]) => ({ labels: { [label]: key }, value }))

const byDirection = ({ sent, received }: TrafficDiagnostics, part: 'messages' | 'bytes'): Reading[] =>
  by('direction', { sent: sent[part], received: received[part] })

const bySync = <Part extends string>(
  syncs: Readonly<Record<SyncCause, Readonly<Record<Part, number>>>>,
  part: Part,
): Reading[] => Object.entries(syncs).map(([cause, counts]) => ({ labels: { cause }, value: counts[part] }))

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

const longest = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0)

const count = <T>(things: readonly T[], holds: (thing: T) => boolean): number => things.filter(holds).length

/** Of a life of which nothing is held, all of it. */
function missing({ behind, claimed, head }: NodeDiagnostics): number {
  if (!behind) return 0
  return claimed.version - (head?.incarnation === claimed.incarnation ? head.version : 0)
}

function doubtCounts(nodes: readonly NodeDiagnostics[]): Record<Doubt, number> {
  const counts: Record<Doubt, number> = { unanswered: 0, unreachable: 0, flapping: 0 }
  for (const { doubt } of nodes) if (doubt !== null) counts[doubt]++
  return counts
}

type StateCounts = Record<InstanceState | 'other', number>

function instanceReadings(instances: readonly Instance[], serviceLabels: ServiceLabels): Reading[] {
  const table = new Map<string, StateCounts>()
  const countsOf = (label: string): StateCounts => {
    const known = table.get(label)
    if (known !== undefined) return known
    const counts = { starting: 0, ready: 0, unready: 0, draining: 0, other: 0 }
    table.set(label, counts)
    return counts
  }
  for (const { name, state } of instances) {
    const counts = countsOf(serviceLabels.of(name))
    counts[isKnown(state) ? state : 'other']++
  }
  for (const label of serviceLabels.own) countsOf(label)
  return [...table].flatMap(([service, { other, ...known }]) =>
    by('state', other === 0 ? known : { ...known, other }).map(({ labels, value }) => ({
      labels: { service, ...labels },
      value,
    })),
  )
}

/** A later version may send states that this one does not know. */
const isKnown = (state: string): state is InstanceState =>
  ['starting', 'ready', 'unready', 'draining'].includes(state)
