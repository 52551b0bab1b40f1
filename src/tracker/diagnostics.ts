import type { NodeId } from '../core/frame.ts'
import type { DownReason, Member } from '../core/membership.ts'
import type { RollcallErrorCode } from '../errors.ts'
import type { TrafficTally } from './traffic-tally.ts'
import type { HeardOf } from './heard-of.ts'
import type { Lateness } from './lateness.ts'
import type { DialState, Transport } from './ports.ts'
import type { ProbeTally } from './probe-line.ts'
import { SYNC_CAUSES, type SyncCause, type SyncTally } from './sync-tally.ts'
import type { Doubt } from './types.ts'

/** How far a life of a node has come: `version` counts its writes. */
export interface HeadDiagnostics {
  readonly incarnation: number
  readonly version: number
}

/** This node. */
export interface SelfDiagnostics extends HeadDiagnostics {
  readonly id: NodeId
  readonly name: string
  /** Number of the newest beat of this incarnation. */
  readonly beat: number
  /** Entries owned, that of the topic `$node` included. */
  readonly entries: number
}

/** Another node, as this one sees it. */
export interface NodeDiagnostics {
  readonly id: NodeId
  /** '' until the node has said it. */
  readonly name: string
  /** `joining`: heard of and not shown, because its state is not here yet, or there is doubt that it lives. */
  readonly status: Member['status']
  /** Why it is not up; null when it is, or never was. */
  readonly reason: DownReason | null
  /** Ms since it was last heard, by whatever sign of life. */
  readonly silentMs: number
  /** What is held of it here; null: nothing. */
  readonly head: HeadDiagnostics | null
  /** What it is known to have written. */
  readonly claimed: HeadDiagnostics
  /** Whether `head` is less than `claimed`. */
  readonly behind: boolean
  /** For how many ms frames or beats have told of writes of it that are not here yet. 0: there are none. */
  readonly behindMs: number
  /** Whether there is a connection over which gossip and syncs reach it. */
  readonly neighbour: boolean
  /**
   * What it held of this node when the two last began a sync, and how many ms ago that was. `head: null`: it did not
   * show this node. Less than this node's own: it lacked writes then, and that sync brought them. Null: no sync yet.
   */
  readonly holdsOfUs: { readonly head: HeadDiagnostics | null; readonly agoMs: number } | null
  /** Why lookups prefer others; null when they do not. */
  readonly doubt: Doubt | null
  /** Since it became a neighbour. Null: it is none. */
  readonly probes: {
    /** Times that it was asked for a sign of life. */
    readonly asked: number
    /** Questions in a row that it left unanswered, up to now. */
    readonly unanswered: number
    /** From the last question that was answered to its answer, ms. Null: none was answered. */
    readonly roundTripMs: number | null
  } | null
}

/** Messages, without what the transport adds. Of gossip each counts once, to however many neighbours it goes. */
export interface TrafficDiagnostics {
  readonly sent: { readonly messages: number; readonly bytes: number }
  readonly received: { readonly messages: number; readonly bytes: number }
}

export interface SyncDiagnostics {
  readonly begun: number
  readonly failed: number
  /** Frames that these syncs brought: deltas and snapshots of one node each. */
  readonly frames: number
}

export interface SyncFailureDiagnostics {
  readonly peer: NodeId
  readonly cause: SyncCause
  readonly code: RollcallErrorCode
  readonly message: string
  readonly agoMs: number
}

export interface DialDiagnostics {
  /** Node id or address. */
  readonly where: string
  /** Dials in a row that failed. */
  readonly failures: number
  /** Ms until the next dial. Null: one is under way, or something else must happen first. */
  readonly nextInMs: number | null
  /** Why the last one failed, in words; null: unknown. */
  readonly lastFailure: string | null
}

/** What a node knows of its own work: plain frozen data, for people and for JSON. Ms are rounded to a tenth. */
export interface TrackerDiagnostics {
  readonly closed: boolean
  readonly self: SelfDiagnostics
  /** Every other node that is known, in no order. */
  readonly nodes: readonly NodeDiagnostics[]
  /** Since the start. `gossip`: beats, and hints at nodes that may be dead. */
  readonly traffic: { readonly gossip: TrafficDiagnostics; readonly sync: TrafficDiagnostics }
  /** Frames that came, since the start, and did not follow what was held of their owner, so that a sync had to bring what lay between. */
  readonly gaps: number
  /** By what brought them about: see `SyncCause`. */
  readonly syncs: Readonly<Record<SyncCause, SyncDiagnostics>>
  /** The last eight that failed, oldest first. */
  readonly syncFailures: readonly SyncFailureDiagnostics[]
  /** Messages of peers that were dropped, by code. */
  readonly rejected: Readonly<Partial<Record<RollcallErrorCode, number>>>
  /** By how many ms the tick came late that should come every `broadcastPeriodMs`: what the event loop was blocked for. */
  readonly lateTicks: {
    readonly lastMs: number
    /** Of the last `ticks` ticks. */
    readonly worstMs: number
    /** 64 at most. */
    readonly ticks: number
  }
  /** Since the start, how often any node began to be suspected, and to be flapping. */
  readonly doubts: { readonly suspected: number; readonly flapping: number }
  /**
   * How much of what goes wrong may be this node's own fault: 0, none, to 8. So many times more
   * probes must stay unanswered before another node is suspected.
   */
  readonly awareness: number
  /** Whom the transport dials without success: seeds, nodes, and those of a state file. Empty if it does not tell. */
  readonly dials: readonly DialDiagnostics[]
}

/** Where the numbers come from. */
export interface DiagnosticSources {
  readonly now: number
  readonly closed: boolean
  readonly self: SelfDiagnostics
  readonly members: Iterable<Member>
  readonly nameOf: (node: NodeId) => string
  readonly headOf: (node: NodeId) => HeadDiagnostics | undefined
  readonly isBehind: (node: NodeId) => boolean
  /** Since when it has been known that writes of a node are missing. */
  readonly behindSince: (node: NodeId) => number | undefined
  readonly heardOf: HeardOf
  readonly doubtOf: (node: NodeId) => Doubt | undefined
  readonly doubts: TrackerDiagnostics['doubts']
  readonly awareness: number
  readonly probesOf: (node: NodeId) => ProbeTally | undefined
  readonly gossip: TrafficTally
  readonly gaps: number
  readonly syncs: SyncTally
  readonly rejected: ReadonlyMap<RollcallErrorCode, number>
  readonly lateness: Lateness
  readonly transport: Transport
}

/** Puts together what there is. Costs the number of known nodes. */
export function diagnose(sources: DiagnosticSources): TrackerDiagnostics {
  const { now, closed, self, gossip, syncs, lateness, transport } = sources
  const neighbours = new Set(transport.neighbours())
  return freeze({
    closed,
    self,
    nodes: [...sources.members].map((member) => nodeOf(sources, member, neighbours)),
    traffic: { gossip: trafficOf(gossip), sync: trafficOf(syncs.traffic) },
    gaps: sources.gaps,
    syncs: Object.fromEntries(SYNC_CAUSES.map((cause) => [cause, { ...syncs.counts[cause] }])) as Record<
      SyncCause,
      SyncDiagnostics
    >,
    syncFailures: syncs.failures.map(({ at, ...failure }) => ({ ...failure, agoMs: tenth(now - at) })),
    rejected: Object.fromEntries(sources.rejected),
    lateTicks: {
      lastMs: tenth(lateness.lastMs),
      worstMs: tenth(lateness.worstMs),
      ticks: lateness.ticks,
    },
    doubts: { ...sources.doubts },
    awareness: sources.awareness,
    dials: (transport.dials?.() ?? []).map(dialOf),
  })
}

function nodeOf(
  { now, nameOf, headOf, isBehind, behindSince, heardOf, doubtOf, probesOf }: DiagnosticSources,
  { node, status, reason, pulse, latest }: Member,
  neighbours: ReadonlySet<NodeId>,
): NodeDiagnostics {
  const word = heardOf.get(node)
  return {
    id: node,
    name: nameOf(node),
    status,
    reason: reason ?? null,
    silentMs: tenth(now - pulse.heardAt),
    head: headDiagnostics(headOf(node)),
    claimed: { incarnation: pulse.incarnation, version: latest },
    behind: isBehind(node),
    behindMs: tenth(now - (behindSince(node) ?? now)),
    neighbour: neighbours.has(node),
    holdsOfUs: word === undefined ? null : { head: headDiagnostics(word.head), agoMs: tenth(now - word.at) },
    doubt: doubtOf(node) ?? null,
    probes: probeDiagnostics(probesOf(node)),
  }
}

const headDiagnostics = (head: HeadDiagnostics | undefined): HeadDiagnostics | null =>
  head === undefined ? null : { incarnation: head.incarnation, version: head.version }

function probeDiagnostics(tally: ProbeTally | undefined): NodeDiagnostics['probes'] {
  if (tally === undefined) return null
  const { asked, unanswered, roundTripMs } = tally
  return { asked, unanswered, roundTripMs: roundTripMs === undefined ? null : tenth(roundTripMs) }
}

const trafficOf = ({ sent, received }: TrafficTally): TrafficDiagnostics => ({
  sent: { ...sent },
  received: { ...received },
})

const dialOf = ({ where, failures, nextInMs, lastFailure }: DialState): DialDiagnostics => ({
  where,
  failures,
  nextInMs: Number.isFinite(nextInMs) ? tenth(Math.max(0, nextInMs)) : null,
  lastFailure: lastFailure ?? null,
})

const tenth = (ms: number): number => Math.round(ms * 10) / 10

/** Plain data, to its last level. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
