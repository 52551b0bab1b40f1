import { checkOption, print } from './tracker/check.ts'
import { TRACKER_DEFAULTS, type TrackerOptions } from './tracker/options.ts'
import { MESH_DEFAULTS, type MeshOptions } from './transports/libp2p/options.ts'

type TrackerTimes = Pick<
  TrackerOptions,
  | 'broadcastPeriodMs'
  | 'flush'
  | 'flushIntervalMs'
  | 'maxSilentPeriods'
  | 'downPeriodMs'
  | 'permdownPeriodMs'
  | 'probePeriodMs'
  | 'probeTimeoutMs'
  | 'syncPeriodMs'
  | 'syncTimeoutMs'
  | 'leaveTimeoutMs'
>
type MeshTimes = Pick<
  MeshOptions,
  'dialTimeoutMs' | 'maxBackoffMs' | 'memberGraceMs' | 'watchdogMs' | 'channelStallMs'
>

/** Everything about time that depends on the network a cluster lives on. */
export type ProfileOptions = Required<TrackerTimes & MeshTimes>

/**
 * Whole sets of options that fit together, one for each kind of network. A node that hangs, or that nobody reaches, is
 * down after `downPeriodMs` and at most one `broadcastPeriodMs`: the tick that judges comes once a period.
 *
 * All nodes of a cluster should have the same: one that promises its beats more seldom is waited for by the others.
 */
export const PROFILES = {
  /** The options as they are when none is given: Phoenix.Tracker's patience. Why: see `TRACKER_DEFAULTS` and `MESH_DEFAULTS`. */
  default: {
    broadcastPeriodMs: TRACKER_DEFAULTS.broadcastPeriodMs,
    flush: TRACKER_DEFAULTS.flush,
    flushIntervalMs: TRACKER_DEFAULTS.flushIntervalMs,
    maxSilentPeriods: TRACKER_DEFAULTS.maxSilentPeriods,
    downPeriodMs: TRACKER_DEFAULTS.downPeriodMs,
    permdownPeriodMs: TRACKER_DEFAULTS.permdownPeriodMs,
    probePeriodMs: TRACKER_DEFAULTS.probePeriodMs,
    probeTimeoutMs: TRACKER_DEFAULTS.probeTimeoutMs,
    syncPeriodMs: TRACKER_DEFAULTS.syncPeriodMs,
    syncTimeoutMs: TRACKER_DEFAULTS.syncTimeoutMs,
    leaveTimeoutMs: TRACKER_DEFAULTS.leaveTimeoutMs,
    dialTimeoutMs: MESH_DEFAULTS.dialTimeoutMs,
    maxBackoffMs: MESH_DEFAULTS.maxBackoffMs,
    memberGraceMs: MESH_DEFAULTS.memberGraceMs,
    watchdogMs: MESH_DEFAULTS.watchdogMs,
    channelStallMs: MESH_DEFAULTS.channelStallMs,
  },

  /** A handful of processes on one machine, where a message takes a millisecond and only the processor is scarce. */
  local: {
    /** Judges ten times a second, so that a verdict is at most 0.1 s late. */
    broadcastPeriodMs: 100,
    /** A developer watches: writes are shown in the turn in which they are made. */
    flush: 'eager',
    /** 100 messages a second at most: a twentieth of what one core signs. */
    flushIntervalMs: 10,
    /** A beat every 0.4 s: `downPeriodMs` holds two, as in all profiles. */
    maxSilentPeriods: 4,
    /**
     * With the tick below one second, and above what a garbage collection or a synchronous compiler run takes as a rule.
     * A process that blocks its event loop for longer is down until it is back.
     */
    downPeriodMs: 800,
    /** What died on this machine stays dead: a restart is another node. A minute keeps the list short. */
    permdownPeriodMs: 60_000,
    /** Asked after 0.14 to 0.18 s of silence, so that three answers may be late before anybody is down. */
    probePeriodMs: 200,
    /** A busy processor gives a process its turn within 0.1 s or so. Late answers count as signs of life as well. */
    probeTimeoutMs: 200,
    /** A sync without news takes a millisecond here. */
    syncPeriodMs: 5_000,
    /** Nothing on the way can take so long: the peer hangs. */
    syncTimeoutMs: 3_000,
    /** The goodbye is taken within milliseconds; who stops with Ctrl-C waits for no more than this. */
    leaveTimeoutMs: 500,
    /** A handshake takes 20 to 50 ms, more when ten processes start at once on two cores. */
    dialTimeoutMs: 2_000,
    /** A process that is restarted is found again within a second; what refuses costs a tenth of a ms. */
    maxBackoffMs: 1_000,
    /** Who joins does so within a heartbeat of gossipsub (1 s), on a busy machine within a few. */
    memberGraceMs: 3_000,
    /** Two looks in a row find a lost stream within two seconds. */
    watchdogMs: 1_000,
    /** Whose peer hangs is down long before; this only ends what it holds. */
    channelStallMs: 10_000,
  },

  /** One data centre or office: round trips of 1 to 10 ms, seldom a lost packet, which TCP sends again after 0.2 s. */
  lan: {
    /** A third of the default: with a hundred nodes still 200 messages a second. */
    broadcastPeriodMs: 500,
    /** A write is worth a message where one takes a millisecond. */
    flush: 'eager',
    /** 50 messages a second at most, as by default. */
    flushIntervalMs: 20,
    /** A beat every 2 s. */
    maxSilentPeriods: 4,
    /** With the tick 4.5 s: room for a major garbage collection, a live migration, or three retransmissions in a row. */
    downPeriodMs: 4_000,
    /** Longer than a switch or a host takes to start again. */
    permdownPeriodMs: 600_000,
    /** Four questions within `downPeriodMs`, at the pace of memberlist's LAN (1 s). */
    probePeriodMs: 800,
    /** A round trip, and the first two retransmissions (0.2 and 0.4 s). */
    probeTimeoutMs: 800,
    /** Repairs what was missed twice as soon as by default, still at next to no cost. */
    syncPeriodMs: 15_000,
    /** Any progress within five seconds, or the peer hangs. */
    syncTimeoutMs: 5_000,
    /** Some retransmissions. */
    leaveTimeoutMs: 1_000,
    /** Room for two lost SYNs, which are sent again after 1 and 2 s more. */
    dialTimeoutMs: 4_000,
    /** A host that comes back is found within ten seconds, at six dials a minute while it is away. */
    maxBackoffMs: 10_000,
    /** A few heartbeats of gossipsub. */
    memberGraceMs: 5_000,
    /** As by default. */
    watchdogMs: 2_000,
    /** Above every retransmission that still succeeds in time. */
    channelStallMs: 15_000,
  },

  /** Several sites: round trips of 50 to 300 ms, packets lost by the hundred, links that are away for half a minute. */
  wan: {
    /** Traffic is paid for: writes of two seconds share a message. */
    broadcastPeriodMs: 2_000,
    flush: 'period',
    /** Does nothing with `flush: 'period'`; for those who ask for 'eager', about one round trip. */
    flushIntervalMs: 100,
    /** A beat every 20 s. */
    maxSilentPeriods: 10,
    /** Two beats, and above the half minute in which routers agree on another way. */
    downPeriodMs: 40_000,
    /** An hour: a long split is not a death, and whoever is forgotten must send everything again over a slow line. */
    permdownPeriodMs: 3_600_000,
    /** memberlist's WAN asks every 5 s; here half a dozen questions, and more, fit in `downPeriodMs`. */
    probePeriodMs: 5_000,
    /** 300 ms, and four retransmissions in a row (0.3, 0.6, 1.2 and 2.4 s) with the last of them lost as well. */
    probeTimeoutMs: 5_000,
    /** Heads of a hundred nodes are some kilobytes: once a minute. */
    syncPeriodMs: 60_000,
    /** As for a probe, several times over: a snapshot under way is worth waiting for. */
    syncTimeoutMs: 20_000,
    /** A few round trips and a retransmission, so that the goodbye is not cut off. */
    leaveTimeoutMs: 3_000,
    /** Five round trips (TCP, encryption, multiplexing) of 300 ms, and three lost SYNs (1, 2 and 4 s). */
    dialTimeoutMs: 10_000,
    /** As by default: a dial over a long line costs no more than one over a short one. */
    maxBackoffMs: 30_000,
    /** Identify and subscribe are some round trips more after the handshake. */
    memberGraceMs: 20_000,
    /** A stream that is being opened may miss several looks of a shorter period. */
    watchdogMs: 5_000,
    /** Above every retransmission that still succeeds in time. */
    channelStallMs: 60_000,
  },
} as const satisfies Readonly<Record<string, ProfileOptions>>

export type Profile = keyof typeof PROFILES

/** What a profile sets. Throws `ROLLCALL_INVALID_OPTION` for what is none. */
export function profileOptions(profile: Profile = 'default'): ProfileOptions {
  const names = Object.keys(PROFILES)
  const rule = `must be ${names.slice(0, -1).map(print).join(', ')} or ${print(names.at(-1))}`
  checkOption(typeof (profile as unknown) === 'string' && names.includes(profile), 'profile', profile, rule)
  return PROFILES[profile]
}
