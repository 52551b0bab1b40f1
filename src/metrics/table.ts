/** What a metric is, before there is any value of it. */
export interface MetricKind {
  readonly type: 'gauge' | 'counter'
  readonly help: string
  readonly labels: readonly string[]
}

/** Every metric, by its name without the prefix. The values of all labels are closed sets, but for the bounded `service`. */
export const METRICS = {
  services: { type: 'gauge', help: 'Names of services of which an instance can be seen.', labels: [] },
  instances: { type: 'gauge', help: 'Instances that can be seen.', labels: ['service', 'state'] },
  instances_avoided: {
    type: 'gauge',
    help: 'Instances that this process avoids, because calls to them failed.',
    labels: [],
  },
  registrations: { type: 'gauge', help: 'What this process offers.', labels: [] },
  nodes: { type: 'gauge', help: 'Nodes that are known, this one included.', labels: ['status'] },
  nodes_doubted: { type: 'gauge', help: 'Nodes to which lookups prefer others.', labels: ['doubt'] },
  nodes_behind: { type: 'gauge', help: 'Nodes of which this one lacks writes.', labels: [] },
  writes_missing: { type: 'gauge', help: 'Writes of other nodes that this one lacks.', labels: [] },
  convergence_lag_seconds: {
    type: 'gauge',
    help: 'For how long this node has known of writes that it lacks: the longest of all nodes.',
    labels: [],
  },
  neighbours: { type: 'gauge', help: 'Nodes that this one is connected to.', labels: [] },
  longest_silence_seconds: {
    type: 'gauge',
    help: 'Since this node last heard of the node, among those that are up, that it has not heard of for longest.',
    labels: [],
  },
  degraded: { type: 'gauge', help: '1 while all that is known here may be old.', labels: ['reason'] },
  awareness: {
    type: 'gauge',
    help: 'How much of what goes wrong may be the fault of this node: 0, none, to 8.',
    labels: [],
  },
  tick_lateness_seconds: {
    type: 'gauge',
    help: 'How late the latest of the last 64 ticks was: what the event loop was blocked for.',
    labels: [],
  },
  dials_failing: { type: 'gauge', help: 'Nodes and addresses that are dialled in vain.', labels: [] },
  instance_ups_total: { type: 'counter', help: 'Instances that came.', labels: [] },
  instance_downs_total: { type: 'counter', help: 'Instances that went.', labels: ['reason'] },
  instance_changes_total: { type: 'counter', help: 'Changes of instances.', labels: [] },
  probe_runs_total: {
    type: 'counter',
    help: 'Runs of the health probes of this process.',
    labels: ['probe', 'result'],
  },
  stale_services_total: {
    type: 'counter',
    help: 'Times that a service began to be answered by what was.',
    labels: [],
  },
  lookups_total: {
    type: 'counter',
    help: 'Lookups, those of selectors and of waits included.',
    labels: ['result'],
  },
  watch_readers: { type: 'gauge', help: 'Loops and listeners of watches.', labels: [] },
  watch_lag_seconds: {
    type: 'gauge',
    help: 'For how long the slowest reader of a watch has had a snapshot to take, and has not.',
    labels: [],
  },
  watch_snapshots_total: {
    type: 'counter',
    help: 'Snapshots that readers of watches were given.',
    labels: [],
  },
  watch_coalesced_total: {
    type: 'counter',
    help: 'Changes that a reader of a watch was shown together with a later one.',
    labels: [],
  },
  node_ups_total: { type: 'counter', help: 'Nodes that came up.', labels: [] },
  node_downs_total: { type: 'counter', help: 'Nodes that went down.', labels: ['reason'] },
  node_purges_total: { type: 'counter', help: 'Nodes that were forgotten.', labels: [] },
  node_doubts_total: { type: 'counter', help: 'Times that a node began to be doubted.', labels: ['doubt'] },
  name_conflicts_total: {
    type: 'counter',
    help: 'Times that two nodes were seen to use one name.',
    labels: [],
  },
  problems_total: {
    type: 'counter',
    help: 'Problems with peers, seeds or the state file.',
    labels: ['code'],
  },
  beats_total: { type: 'counter', help: 'Beats that this node has published.', labels: [] },
  gossip_messages_total: {
    type: 'counter',
    help: 'Messages of the gossip topic: beats and hints.',
    labels: ['direction'],
  },
  gossip_bytes_total: {
    type: 'counter',
    help: 'Bytes of those messages, without what the transport adds.',
    labels: ['direction'],
  },
  sync_messages_total: { type: 'counter', help: 'Messages of syncs.', labels: ['direction'] },
  sync_bytes_total: {
    type: 'counter',
    help: 'Bytes of those messages, without what the transport adds.',
    labels: ['direction'],
  },
  gaps_total: {
    type: 'counter',
    help: 'Frames that did not follow what was held of their owner.',
    labels: [],
  },
  syncs_total: { type: 'counter', help: 'Syncs that were begun.', labels: ['cause'] },
  sync_failures_total: { type: 'counter', help: 'Syncs that broke off.', labels: ['cause'] },
  sync_frames_received_total: { type: 'counter', help: 'Frames that syncs brought.', labels: ['cause'] },
  rejected_messages_total: {
    type: 'counter',
    help: 'Messages of peers that were dropped.',
    labels: ['code'],
  },
  rejected_services_total: {
    type: 'counter',
    help: 'Entries of peers that were no service.',
    labels: [],
  },
} as const satisfies Record<string, MetricKind>

export type MetricName = keyof typeof METRICS
