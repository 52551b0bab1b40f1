import { expect, test, vi } from 'vitest'
import { Happenings } from '../../src/metrics/happenings.ts'
import { read, type Readings } from '../../src/metrics/readings.ts'
import { ServiceLabels } from '../../src/metrics/service-labels.ts'
import type { MetricName } from '../../src/metrics/table.ts'
import type { Registry, RegistryDiagnostics } from '../../src/registry/registry.ts'
import type { RegistryEvents } from '../../src/registry/types.ts'
import { cluster, simulate, type SimNode } from '../../src/testing/index.ts'
import { RollcallError } from '../../src/errors.ts'
import type { NodeDiagnostics } from '../../src/tracker/diagnostics.ts'
import { Emitter } from '../../src/tracker/emitter.ts'
import type { TrackerEvents } from '../../src/tracker/types.ts'

/** An emitter that a test fires. */
class Source<Events extends { [Event in keyof Events]: unknown[] }> extends Emitter<Events> {
  fire(event: keyof Events & string, ...payload: unknown[]): void {
    this.dispatch(event, ...(payload as Events[typeof event]))
  }
}

/** Values by the values of their labels. */
const valuesOf = (readings: Readings, name: MetricName): Record<string, number> =>
  Object.fromEntries(readings[name].map(({ labels, value }) => [Object.values(labels).join(' '), value]))

/** What is read of a node that gives these diagnostics over its own. */
async function readingsOf(
  change: (own: RegistryDiagnostics) => Partial<RegistryDiagnostics>,
): Promise<Readings> {
  let readings: Readings | undefined
  await simulate({ seed: 1 }, async (net) => {
    const [{ registry }] = (await cluster(1, { net })) as [SimNode]
    const own = registry.diagnostics()
    vi.spyOn(registry, 'diagnostics').mockReturnValue({ ...own, ...change(own) })
    readings = read(registry, new Happenings(registry), new ServiceLabels(1))
  })
  return readings!
}

test('syncs: begun, failed and brought, each by cause', async () => {
  const readings = await readingsOf(({ syncs }) => ({
    syncs: { ...syncs, gap: { begun: 7, failed: 2, frames: 5 }, retry: { begun: 11, failed: 10, frames: 0 } },
  }))
  expect(valuesOf(readings, 'syncs_total')).toMatchObject({ gap: 7, retry: 11, connect: 0 })
  expect(valuesOf(readings, 'sync_failures_total')).toMatchObject({ gap: 2, retry: 10, connect: 0 })
  expect(valuesOf(readings, 'sync_frames_received_total')).toMatchObject({ gap: 5, retry: 0, connect: 0 })
})

test('of late ticks the worst counts, in seconds', async () => {
  const readings = await readingsOf(() => ({ lateTicks: { lastMs: 12, worstMs: 340, ticks: 64 } }))
  expect(readings.tick_lateness_seconds).toEqual([{ labels: {}, value: 0.34 }])
})

test('single figures, each of its own field', async () => {
  const readings = await readingsOf(({ self }) => ({
    self: { ...self, beat: 30 },
    awareness: 3,
    traffic: {
      gossip: { sent: { messages: 11, bytes: 12 }, received: { messages: 13, bytes: 14 } },
      sync: { sent: { messages: 22, bytes: 23 }, received: { messages: 24, bytes: 25 } },
    },
    watches: { readers: 26, snapshots: 27, coalesced: 28, lateMs: 2_900 },
    gaps: 15,
    lookups: { found: 16, stale: 17, noservice: 18, noversion: 19, nofunction: 20, noinstance: 21 },
    doubts: { suspected: 4, flapping: 5 },
    services: { offered: 6, rejected: 7, avoided: 8 },
    rejected: { ROLLCALL_FRAME_INVALID: 9, ROLLCALL_MESSAGE_UNKNOWN: 10 },
    dials: [
      { where: 'a', failures: 2, nextInMs: 1, lastFailure: null },
      { where: 'b', failures: 0, nextInMs: null, lastFailure: null },
    ],
  }))
  expect(valuesOf(readings, 'awareness')).toEqual({ '': 3 })
  expect(valuesOf(readings, 'beats_total')).toEqual({ '': 30 })
  expect(valuesOf(readings, 'gossip_messages_total')).toEqual({ sent: 11, received: 13 })
  expect(valuesOf(readings, 'gossip_bytes_total')).toEqual({ sent: 12, received: 14 })
  expect(valuesOf(readings, 'sync_messages_total')).toEqual({ sent: 22, received: 24 })
  expect(valuesOf(readings, 'sync_bytes_total')).toEqual({ sent: 23, received: 25 })
  expect(valuesOf(readings, 'watch_readers')).toEqual({ '': 26 })
  expect(valuesOf(readings, 'watch_snapshots_total')).toEqual({ '': 27 })
  expect(valuesOf(readings, 'watch_coalesced_total')).toEqual({ '': 28 })
  expect(valuesOf(readings, 'watch_lag_seconds')).toEqual({ '': 2.9 })
  expect(valuesOf(readings, 'lookups_total')).toEqual({
    found: 16,
    stale: 17,
    noservice: 18,
    noversion: 19,
    nofunction: 20,
    noinstance: 21,
  })
  expect(valuesOf(readings, 'gaps_total')).toEqual({ '': 15 })
  expect(valuesOf(readings, 'node_doubts_total')).toEqual({ suspected: 4, flapping: 5 })
  expect(valuesOf(readings, 'registrations')).toEqual({ '': 6 })
  expect(valuesOf(readings, 'rejected_services_total')).toEqual({ '': 7 })
  expect(valuesOf(readings, 'instances_avoided')).toEqual({ '': 8 })
  expect(valuesOf(readings, 'rejected_messages_total')).toEqual({
    ROLLCALL_FRAME_INVALID: 9,
    ROLLCALL_MESSAGE_UNKNOWN: 10,
  })
  expect(valuesOf(readings, 'dials_failing')).toEqual({ '': 1 })
})

const node = (fields: Partial<NodeDiagnostics>): NodeDiagnostics => ({
  id: 'x',
  name: 'x',
  status: 'up',
  reason: null,
  silentMs: 0,
  head: { incarnation: 2, version: 5 },
  claimed: { incarnation: 2, version: 5 },
  behind: false,
  behindMs: 0,
  neighbour: false,
  holdsOfUs: null,
  doubt: null,
  probes: null,
  ...fields,
})

test('nodes by status and doubt; this one is up', async () => {
  const readings = await readingsOf(() => ({
    nodes: [
      node({ neighbour: true, doubt: 'flapping', silentMs: 1_500 }),
      node({ neighbour: true, doubt: 'unreachable', silentMs: 2_500 }),
      node({ doubt: 'unreachable' }),
      node({ status: 'down', silentMs: 90_000 }),
      node({ status: 'down' }),
      node({ status: 'joining', silentMs: 90_000 }),
    ],
  }))
  expect(valuesOf(readings, 'nodes')).toEqual({ up: 4, down: 2, joining: 1 })
  expect(valuesOf(readings, 'nodes_doubted')).toEqual({ unanswered: 0, unreachable: 2, flapping: 1 })
  expect(valuesOf(readings, 'neighbours')).toEqual({ '': 2 })
  expect(valuesOf(readings, 'longest_silence_seconds')).toEqual({ '': 2.5 })
})

test('missing writes: those past what is held, and all of a life of which nothing is', async () => {
  const readings = await readingsOf(() => ({
    nodes: [
      node({}),
      node({ behind: true, behindMs: 400, claimed: { incarnation: 2, version: 8 } }),
      node({ behind: true, behindMs: 1_500, claimed: { incarnation: 3, version: 10 } }),
      node({ behind: true, claimed: { incarnation: 3, version: 100 }, head: null }),
    ],
  }))
  expect(valuesOf(readings, 'writes_missing')).toEqual({ '': 3 + 10 + 100 })
  expect(valuesOf(readings, 'nodes_behind')).toEqual({ '': 3 })
  expect(valuesOf(readings, 'convergence_lag_seconds')).toEqual({ '': 1.5 })
})

test('every event is counted, from the first to the stop', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [{ registry }] = (await cluster(1, { net })) as [SimNode]
    const services = new Source<RegistryEvents>()
    const nodes = new Source<TrackerEvents>()
    const happenings = new Happenings(Object.assign(services, { tracker: nodes }) as unknown as Registry)
    const times = (n: number, fire: () => void): void => {
      for (let time = 0; time < n; time++) fire()
    }
    const all = (): void => {
      times(1, () => services.fire('service_up', {}))
      times(2, () => services.fire('service_changed', {}))
      times(3, () => services.fire('service_stale', {}))
      times(4, () => services.fire('service_down', { reason: 'expired' }))
      times(5, () => nodes.fire('node_up'))
      times(6, () => nodes.fire('node_down', {}, 'replaced'))
      times(7, () => nodes.fire('node_purged'))
      times(8, () => nodes.fire('name_conflict'))
      times(9, () => nodes.fire('problem', 'x', new RollcallError('ROLLCALL_PEER_REFUSED')))
      for (const probe of ['startup', 'liveness', 'readiness', 'capabilities.write', 'capabilities.startup'])
        services.fire('service_probed', { run: { probe, result: 'probe-timeout' } })
    }
    all()
    happenings.stop()
    all()
    const readings = read(registry, happenings, new ServiceLabels(1))
    expect(valuesOf(readings, 'instance_ups_total')).toEqual({ '': 1 })
    expect(valuesOf(readings, 'instance_changes_total')).toEqual({ '': 2 })
    expect(valuesOf(readings, 'stale_services_total')).toEqual({ '': 3 })
    expect(valuesOf(readings, 'instance_downs_total')).toMatchObject({ expired: 4, left: 0 })
    expect(valuesOf(readings, 'node_ups_total')).toEqual({ '': 5 })
    expect(valuesOf(readings, 'node_downs_total')).toEqual({ silent: 0, refused: 0, left: 0, replaced: 6 })
    expect(valuesOf(readings, 'node_purges_total')).toEqual({ '': 7 })
    expect(valuesOf(readings, 'name_conflicts_total')).toEqual({ '': 8 })
    expect(valuesOf(readings, 'problems_total')).toEqual({ ROLLCALL_PEER_REFUSED: 9 })
    expect(readings.probe_runs_total.filter(({ value }) => value > 0)).toEqual([
      { labels: { probe: 'startup', result: 'probe-timeout' }, value: 1 },
      { labels: { probe: 'liveness', result: 'probe-timeout' }, value: 1 },
      { labels: { probe: 'readiness', result: 'probe-timeout' }, value: 1 },
      { labels: { probe: 'capability', result: 'probe-timeout' }, value: 2 },
    ])
  })
})
