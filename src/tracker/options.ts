import { nameFault } from '../core/name.ts'
import { DEFAULT_LOG_LIMIT } from '../core/write-log.ts'
import { WIRE_LIMITS, type WireLimits } from '../wire/limits.ts'
import { checkOption } from './check.ts'
import type { Clock, Random, Transport } from './ports.ts'
import { systemClock, systemRandom } from './system.ts'

/** How a tracker behaves. Only `transport` must be given. */
export interface TrackerOptions {
  /** The network it lives on. Started and stopped by the tracker. */
  readonly transport: Transport
  /** The label people read. Default: the last eight characters of the node id. */
  readonly name?: string
  /** Where it runs, for lookups that prefer their own zone. Default: none. */
  readonly zone?: string
  /** Time between two broadcasts of pending writes, ms. Lower shows writes sooner, at one message each. */
  readonly broadcastPeriodMs?: number
  /**
   * When writes are sent. `'period'`: with the next broadcast, so that many writes make one message.
   * `'eager'`: at the next turn of the event loop, later ones coalesced within `flushIntervalMs`.
   */
  readonly flush?: 'period' | 'eager'
  /** Least time between two eager frames, ms. Lower shows a burst's end sooner, at one message each. */
  readonly flushIntervalMs?: number
  /** Broadcast periods that an idle node may keep silent. Higher saves messages, and finds lost ones later. */
  readonly maxSilentPeriods?: number
  /** Silence after which a node is hidden, ms. Lower hides a hung node sooner, and a slow one wrongly. */
  readonly downPeriodMs?: number
  /** Silence after which a node is forgotten, ms. Higher remembers more that is dead; lower resends what a long split hid. */
  readonly permdownPeriodMs?: number
  /**
   * Longest time without a sign of life of a neighbour before it is asked for one, ms. Lower notices a hung process
   * sooner, at one small message and its answer for each neighbour.
   */
  readonly probePeriodMs?: number
  /** How long a probe waits for its answer, ms. Above the worst round trip, or busy nodes count as hung. */
  readonly probeTimeoutMs?: number
  /** Downs within `flapWindowMs` above which lookups avoid a node until it has been steady. Lower trusts less. */
  readonly flapLimit?: number
  /** Time in which downs are counted, and in which their weight is halved, ms. Higher distrusts for longer. */
  readonly flapWindowMs?: number
  /** Time between two syncs with a random neighbour, ms. Lower repairs what nothing else noticed sooner, at two small messages each. */
  readonly syncPeriodMs?: number
  /** Time without progress after which a sync is broken off, ms. */
  readonly syncTimeoutMs?: number
  /** Syncs under way at once, as many again for those that peers began. More fill a newcomer from more sides, and hold more in memory. */
  readonly maxConcurrentSyncs?: number
  /** Longest wait for the last word to be handed to the neighbours when closing, ms. */
  readonly leaveTimeoutMs?: number
  /** Entries a node may own, here and at every peer. A peer's frame that exceeds it is rejected. */
  readonly maxEntriesPerNode?: number
  /** Nodes known at once; as many that are gone are remembered. */
  readonly maxNodes?: number
  /** A meta as JSON, bytes. What peers send is taken up to the default at least: more must be the same on every node. */
  readonly maxMetaBytes?: number
  /** A topic, a key and a node's name, bytes each. Must be the same on every node. */
  readonly maxKeyBytes?: number
  /** A gossip message, bytes. Larger frames travel by sync. Must be the same on every node. */
  readonly maxFrameBytes?: number
  /** A message of a sync, bytes. Must be the same on every node. */
  readonly maxSyncChunkBytes?: number
  /** Recent writes remembered per owner. More let a peer be away longer before it needs a snapshot. */
  readonly maxLogWrites?: number
  /** The time it lives by. For tests. */
  readonly clock?: Clock
  /** The chance it uses. For tests. */
  readonly random?: Random
}

/**
 * The periods are Phoenix.Tracker's own defaults (1.5 s, 10 silent periods, 30 s, 20 min). Probes go at the pace of
 * SWIM's and memberlist's (1 s), with room for one lost packet that TCP sends again. 20 ms of coalescing
 * keeps an eager burst at 50 messages a second, far below the 2,600 that one core signs. Sizes: see `WIRE_LIMITS`.
 */
export const TRACKER_DEFAULTS = {
  broadcastPeriodMs: 1_500,
  flush: 'period',
  flushIntervalMs: 20,
  maxSilentPeriods: 10,
  downPeriodMs: 30_000,
  permdownPeriodMs: 1_200_000,
  probePeriodMs: 1_000,
  probeTimeoutMs: 1_000,
  flapLimit: 5,
  flapWindowMs: 60_000,
  syncPeriodMs: 30_000,
  syncTimeoutMs: 10_000,
  maxConcurrentSyncs: 4,
  leaveTimeoutMs: 1_000,
  maxEntriesPerNode: 10_000,
  maxNodes: 10_000,
  maxMetaBytes: WIRE_LIMITS.maxMetaBytes,
  maxKeyBytes: WIRE_LIMITS.maxKeyBytes,
  maxFrameBytes: WIRE_LIMITS.maxFrameBytes,
  maxSyncChunkBytes: WIRE_LIMITS.maxChunkBytes,
  maxLogWrites: DEFAULT_LOG_LIMIT,
} as const satisfies Omit<Required<TrackerOptions>, 'transport' | 'name' | 'zone' | 'clock' | 'random'>

type Defaulted = 'name' | 'zone'

/** Every option with its value; `name` is set, `zone` may be absent. */
export type ResolvedTrackerOptions = Required<Omit<TrackerOptions, Defaulted>> & {
  readonly name: string
  readonly zone: string | undefined
}

/** Fills in the defaults. Throws `ROLLCALL_INVALID_OPTION` naming the option, the value and the rule. */
export function resolveTrackerOptions(options: TrackerOptions): ResolvedTrackerOptions {
  checkOption(isObject(options), 'options', options, 'must be an object')
  const { transport } = options
  checkOption(
    hasMethods(transport, TRANSPORT_METHODS) &&
      nameFault(transport.id, WIRE_LIMITS.maxOwnerBytes) === undefined,
    'transport',
    transport,
    'must be a Transport',
  )
  const resolved: ResolvedTrackerOptions = {
    ...TRACKER_DEFAULTS,
    clock: systemClock,
    random: systemRandom,
    ...defined(options),
    name: options.name === undefined ? transport.id.slice(-DEFAULT_NAME_UNITS) : options.name,
    zone: options.zone,
  }
  checkNumbers(resolved)
  checkRelations(resolved)
  const { clock, random, flush, maxKeyBytes } = resolved
  checkOption(hasMethods(clock, ['now', 'wallNow', 'setTimer']), 'clock', clock, 'must be a Clock')
  checkOption(hasMethods(random, ['next']), 'random', random, 'must be a Random')
  checkOption(['period', 'eager'].includes(flush), 'flush', flush, "must be 'period' or 'eager'")
  for (const option of ['name', 'zone'] as const) {
    const value = resolved[option]
    const fault = value === undefined ? undefined : nameFault(value, maxKeyBytes)
    checkOption(fault === undefined, option, value, fault ?? '')
  }
  return resolved
}

/** What the codec believes at most under these options. */
export const wireLimits = (options: ResolvedTrackerOptions): WireLimits => ({
  ...WIRE_LIMITS,
  maxFrameBytes: options.maxFrameBytes,
  maxChunkBytes: options.maxSyncChunkBytes,
  // What a node says of itself takes as much as it takes, whatever applications may say here.
  maxMetaBytes: Math.max(options.maxMetaBytes, WIRE_LIMITS.maxMetaBytes),
  maxKeyBytes: options.maxKeyBytes,
  // A snapshot holds every entry, a delta at most what the log remembers before it is cut.
  maxFrameWrites: Math.max(options.maxEntriesPerNode + 1, 2 * options.maxLogWrites),
})

/**
 * Periods between two heartbeats of an idle node: never more than half of `downPeriodMs` apart, so that a
 * legal but short one cannot flap it, nor than the longest promise that peers believe.
 */
export const heartbeatPeriods = (
  options: Pick<ResolvedTrackerOptions, 'maxSilentPeriods' | 'downPeriodMs' | 'broadcastPeriodMs'>,
): number => {
  const longestMs = Math.min(options.downPeriodMs / 2, WIRE_LIMITS.maxPromiseMs)
  return Math.max(1, Math.min(options.maxSilentPeriods, Math.floor(longestMs / options.broadcastPeriodMs)))
}

/** Longest time a timer can wait, ms; also keeps every sum of periods a safe integer. */
const MAX_PERIOD_MS = 2 ** 31 - 1

/** Heartbeats are promised, and no promise above this is believed. */
const MAX_BROADCAST_PERIOD_MS = WIRE_LIMITS.maxPromiseMs

const DEFAULT_NAME_UNITS = 8

/** Bytes that the topic `$node` and a default name take, and, with room to spare, a heartbeat. */
const LEAST_KEY_BYTES = DEFAULT_NAME_UNITS
const LEAST_FRAME_BYTES = 128

const TRANSPORT_METHODS = [
  'start',
  'publish',
  'open',
  'neighbours',
  'addresses',
  'learn',
  'forget',
  'examine',
  'hangUp',
  'stop',
] as const satisfies readonly (keyof Transport)[]

function checkNumbers(options: ResolvedTrackerOptions): void {
  for (const option of [
    'broadcastPeriodMs',
    'flushIntervalMs',
    'downPeriodMs',
    'permdownPeriodMs',
    'probePeriodMs',
    'probeTimeoutMs',
    'flapWindowMs',
    'syncPeriodMs',
    'syncTimeoutMs',
    'leaveTimeoutMs',
  ] as const) {
    const value: unknown = options[option]
    const most = option === 'broadcastPeriodMs' ? MAX_BROADCAST_PERIOD_MS : MAX_PERIOD_MS
    const holds = typeof value === 'number' && value > 0 && value <= most
    checkOption(holds, option, value, `must be a number above 0 and at most ${most}`)
  }
  for (const [option, least] of [
    ['maxSilentPeriods', 1],
    ['flapLimit', 1],
    ['maxConcurrentSyncs', 1],
    ['maxEntriesPerNode', 1],
    ['maxNodes', 1],
    ['maxMetaBytes', 1],
    ['maxKeyBytes', LEAST_KEY_BYTES],
    ['maxFrameBytes', LEAST_FRAME_BYTES],
    ['maxSyncChunkBytes', 1],
    ['maxLogWrites', 1],
  ] as const) {
    const value = options[option]
    checkOption(
      Number.isSafeInteger(value) && value >= least,
      option,
      value,
      `must be a whole number of at least ${least}`,
    )
  }
}

function checkRelations(options: ResolvedTrackerOptions): void {
  const { broadcastPeriodMs, downPeriodMs, permdownPeriodMs, maxSyncChunkBytes } = options
  const { maxMetaBytes, maxKeyBytes } = wireLimits(options)
  checkOption(
    downPeriodMs >= 2 * broadcastPeriodMs,
    'downPeriodMs',
    downPeriodMs,
    'must be at least 2 broadcastPeriodMs',
  )
  checkOption(
    permdownPeriodMs > downPeriodMs,
    'permdownPeriodMs',
    permdownPeriodMs,
    'must be above downPeriodMs',
  )
  // One write must fit into one message of a sync, or it could never travel.
  const leastChunk = maxMetaBytes + 2 * maxKeyBytes + WRITE_OVERHEAD_BYTES
  checkOption(
    maxSyncChunkBytes >= leastChunk,
    'maxSyncChunkBytes',
    maxSyncChunkBytes,
    `must be at least ${leastChunk}, to hold a write of maxMetaBytes and 2 maxKeyBytes`,
  )
}

/** Room for the numbers and tags of a chunk with one write, and for the owner's id. */
const WRITE_OVERHEAD_BYTES = 512

/** Whether these are methods of a value. */
function hasMethods(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof Reflect.get(value, name) === 'function')
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** An option given as undefined is one that was not given. */
function defined(options: TrackerOptions): TrackerOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as TrackerOptions
}
