import { RollcallError } from './errors.ts'
import { profileOptions, type Profile } from './profiles.ts'
import { REGISTRY_DEFAULTS, type RegistryOptions } from './registry/options.ts'
import { createRegistry as startRegistry, type Registry } from './registry/registry.ts'
import { checkOption, print } from './tracker/check.ts'
import { TRACKER_DEFAULTS, type TrackerOptions } from './tracker/options.ts'
import type { Transport } from './tracker/ports.ts'
import { createTracker as startTracker, type Tracker } from './tracker/tracker.ts'
import { libp2pTransport } from './transports/libp2p/create.ts'
import { MESH_DEFAULTS, NODE_DEFAULTS, type Libp2pTransportOptions } from './transports/libp2p/options.ts'

/** The network a node lives on: a libp2p node made by these options, or the transport that is brought. */
export interface NetworkOptions extends Libp2pTransportOptions {
  /** In place of the default libp2p node: `await fromLibp2p(node)`, or one of your own. */
  readonly transport?: Transport
}

export interface ProfileOption {
  /**
   * The kind of network, which sets all periods and time-outs that are not given: see `PROFILES`. Default: `'default'`.
   * With a `transport` that is brought, those of the tracker: the transport was made with its own.
   */
  readonly profile?: Profile
}

/** An option may be given as undefined, as `name: process.env['NAME']` does: it is then one that is not given. */
type Loose<T> = { readonly [K in keyof T]: T[K] | undefined }

export type CreateTrackerOptions = Loose<Omit<TrackerOptions, 'transport'> & NetworkOptions & ProfileOption>

export type CreateRegistryOptions = Loose<Omit<RegistryOptions, 'transport'> & NetworkOptions & ProfileOption>

/**
 * Starts a registry, by default on a libp2p node of its own. Resolves once it listens; others appear as they are met.
 *
 * Rejects with `ROLLCALL_INVALID_OPTION`, `ROLLCALL_INVALID_ADDRESS`, `ROLLCALL_IDENTITY_FILE` or
 * `ROLLCALL_START_FAILED`.
 */
export async function createRegistry(options: CreateRegistryOptions = {}): Promise<Registry> {
  const { network, rest } = split<Omit<RegistryOptions, 'transport'>>(options, REGISTRY_OPTIONS)
  return startRegistry({ ...rest, transport: options.transport ?? (await libp2pTransport(network)) })
}

/** Starts a tracker without the registry on top: presence under topics of your own. Rejects as `createRegistry`. */
export async function createTracker(options: CreateTrackerOptions = {}): Promise<Tracker> {
  const { network, rest } = split<Omit<TrackerOptions, 'transport'>>(options, TRACKER_OPTIONS)
  return startTracker({ ...rest, transport: options.transport ?? (await libp2pTransport(network)) })
}

const NETWORK_OPTIONS = [
  ...Object.keys(MESH_DEFAULTS),
  ...Object.keys(NODE_DEFAULTS),
  'identityFile',
  'secret',
  'stateFile',
]
const TRACKER_OPTIONS = [...Object.keys(TRACKER_DEFAULTS), 'transport', 'name', 'zone', 'clock', 'random']
const REGISTRY_OPTIONS = [...TRACKER_OPTIONS, ...Object.keys(REGISTRY_DEFAULTS), 'logger']

/** Parts what makes the network from the rest, and refuses what is neither: an option misspelt would be one ignored. */
function split<Rest>(options: Loose<NetworkOptions & ProfileOption & Rest>, known: readonly string[]) {
  checkOption(
    typeof (options as unknown) === 'object' && (options as unknown) !== null && !Array.isArray(options),
    'options',
    options,
    'must be an object',
  )
  const network: Record<string, unknown> = {}
  const rest: Record<string, unknown> = {}
  const { profile, ...given } = options as Record<string, unknown>
  for (const [option, value] of Object.entries(profileOptions(profile as Profile | undefined))) {
    if (option in TRACKER_DEFAULTS) rest[option] = value
    else network[option] = value
  }
  for (const [option, value] of Object.entries(given)) {
    if (value === undefined) continue
    const isNetwork = NETWORK_OPTIONS.includes(option)
    if (!isNetwork && !known.includes(option)) {
      throw new RollcallError('ROLLCALL_INVALID_OPTION', `there is no option ${print(option)}`)
    }
    checkOption(
      !isNetwork || options.transport === undefined,
      option,
      value,
      'must not be given together with transport',
    )
    if (isNetwork) network[option] = value
    else rest[option] = value
  }
  for (const [option, carrier] of CARRIERS) makeRoom(network, carrier, option, rest[option])
  return { network: network as Libp2pTransportOptions, rest: rest as Rest }
}

/** What the node sends at most, and what its network carries at most. */
const CARRIERS = [
  ['maxFrameBytes', 'maxGossipBytes'],
  ['maxSyncChunkBytes', 'maxMessageBytes'],
] as const

const ENVELOPE_BYTES = 4_096

/** What the node takes, its network must carry, and its envelope with it. */
function makeRoom(
  network: Record<string, unknown>,
  carrier: (typeof CARRIERS)[number][1],
  option: (typeof CARRIERS)[number][0],
  value: unknown = TRACKER_DEFAULTS[option],
): void {
  // What is no size is refused by the tracker, under its own name.
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0) return
  const least = value + ENVELOPE_BYTES
  if (value !== TRACKER_DEFAULTS[option]) network[carrier] ??= least
  const carried = network[carrier]
  if (typeof carried !== 'number') return
  checkOption(carried >= least, carrier, carried, `must be at least ${least}, to carry ${option} (${value})`)
}
