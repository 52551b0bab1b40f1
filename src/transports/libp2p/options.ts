import { resolve } from 'node:path'
import { RollcallError } from '../../errors.ts'
import { parseAddress, parseJoin, type JoinAddress } from './addresses.ts'
import { isOccupied } from './state-file.ts'

/** What a node of either making takes. */
export interface MeshOptions {
  /** Name of the cluster; part of the gossip topic and of the sync protocol, so clusters never mix. */
  readonly cluster?: string
  /**
   * Nodes to find the cluster by: 'host:port', a TCP multiaddr, or 'dns:name:port', each address of which is a
   * node. Names are resolved at every attempt. Dialled for as long as the node runs; more cost one dial per
   * `maxBackoffMs` each while dead, fewer leave a lone node lone when they are gone.
   */
  readonly join?: string | readonly string[]
  /** Addresses to tell others, in place of the listening ones: behind NAT or in a container. */
  readonly advertise?: string | readonly string[]
  /**
   * A file in which the addresses of other nodes are kept, so that a node that restarts finds its cluster though no
   * seed lives. Written at most every 10 s, and when the node stops, if it would say anything new. No secret is in it.
   * None: nothing is kept. A file that cannot be used is set aside and reported.
   */
  readonly stateFile?: string
  /** How long a dial may take, ms. Lower gives up on a slow network, higher holds a slot for a dead one. */
  readonly dialTimeoutMs?: number
  /** Longest wait between two dials of what does not answer, ms. Lower finds it sooner, at one dial each. */
  readonly maxBackoffMs?: number
  /** How long a connection may stand without its peer subscribing before it is hung up, ms. */
  readonly memberGraceMs?: number
  /** Time between two looks at each neighbour's gossip streams, ms. Lower heals sooner, at more CPU. */
  readonly watchdogMs?: number
  /** Up to this many nodes, each keeps a connection to every other; above, to `largeDegree` of them. */
  readonly fullMeshNodes?: number
  /** Connections a node of a large cluster keeps of its own choice. Others choose it as well. */
  readonly largeDegree?: number
  /** Largest gossip message, bytes, sent or accepted. */
  readonly maxGossipBytes?: number
  /** Largest message on a channel, bytes; known before memory is taken for it. */
  readonly maxMessageBytes?: number
  /** How long a channel waits for its peer before it breaks, ms. */
  readonly channelStallMs?: number
}

/** What the node that this package builds takes besides. */
export interface Libp2pTransportOptions extends MeshOptions {
  /**
   * Where to listen: 'host:port' or a TCP multiaddr, one or many; port 0 is any free one. The default is
   * loopback: a node that nobody configured opens no port to the network. '0.0.0.0:7400' for other hosts.
   */
  readonly listen?: string | readonly string[]
  /** Where the node's key is kept, so that it is the same node after a restart. None: a new id each start. */
  readonly identityFile?: string
  /** Pre-shared key of the cluster, 16 bytes or more. Whoever lacks it is refused. Costs a second encryption. */
  readonly secret?: string | Uint8Array
  /** Ids of the peers to speak to; all others are refused. None: whoever reaches the port. */
  readonly allow?: readonly string[]
  /** How many nodes are expected. Sets gossip: up to 32, publishers flood; above, messages travel the mesh. */
  readonly expectedNodes?: number
}

export interface FromLibp2pOptions extends MeshOptions {
  /** Name of the gossipsub service among `node.services`. */
  readonly pubsub?: string
}

export const MESH_DEFAULTS = {
  cluster: 'rollcall',
  join: [],
  advertise: [],
  /** On loopback and in a data centre a handshake takes 20–50 ms; five seconds leave room for three retransmitted SYNs. */
  dialTimeoutMs: 5_000,
  maxBackoffMs: 30_000,
  memberGraceMs: 10_000,
  watchdogMs: 2_000,
  fullMeshNodes: 24,
  largeDegree: 12,
  maxGossipBytes: 256 * 1024 + 4_096,
  maxMessageBytes: 2 * 1024 * 1024,
  channelStallMs: 30_000,
} as const satisfies Required<Omit<MeshOptions, 'stateFile'>>

export const NODE_DEFAULTS = {
  listen: '127.0.0.1:0',
  allow: [],
  expectedNodes: 16,
} as const satisfies Partial<Libp2pTransportOptions>

export interface ResolvedMesh {
  readonly cluster: string
  readonly join: readonly JoinAddress[]
  readonly advertise: readonly string[]
  readonly stateFile: string | undefined
  readonly dialTimeoutMs: number
  readonly maxBackoffMs: number
  readonly memberGraceMs: number
  readonly watchdogMs: number
  readonly fullMeshNodes: number
  readonly largeDegree: number
  readonly maxGossipBytes: number
  readonly maxMessageBytes: number
  readonly channelStallMs: number
}

export interface ResolvedNode {
  readonly listen: readonly string[]
  readonly identityFile: string | undefined
  readonly secret: Uint8Array | undefined
  readonly allow: ReadonlySet<string> | undefined
  readonly expectedNodes: number
}

function check(holds: boolean, option: string, value: unknown, rule: string): void {
  if (holds) return
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
  throw new RollcallError('ROLLCALL_INVALID_OPTION', `option ${option} is ${shown}: ${rule}`)
}

function integer(option: string, value: number, least: number, most: number): number {
  const holds = Number.isInteger(value) && value >= least && value <= most
  check(holds, option, value, `must be a whole number from ${String(least)} to ${String(most)}`)
  return value
}

function list(option: string, value: string | readonly string[]): readonly string[] {
  const values: unknown = typeof value === 'string' ? [value] : value
  check(Array.isArray(values), option, value, 'must be a string or a list of strings')
  const strings = values as readonly unknown[]
  for (const item of strings)
    check(typeof item === 'string', option, item, 'must be a string or a list of strings')
  return strings as readonly string[]
}

/** Absolute, so that it stays the same when the process changes its folder. */
function path(option: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const holds = typeof value === 'string' && value !== '' && !value.includes('\0')
  check(holds, option, value, 'must be a path')
  check(!/[/\\]$/.test(value), option, value, 'must be the path of a file, not of a folder')
  return resolve(value)
}

/** Longest timer that Node keeps; a longer one fires at once. */
const LONGEST_MS = 2 ** 31 - 1

/** Checks what both kinds of node take. Throws `ROLLCALL_INVALID_OPTION` or `ROLLCALL_INVALID_ADDRESS`. */
export function resolveMeshOptions(options: MeshOptions): ResolvedMesh {
  const given = { ...MESH_DEFAULTS, ...definedOf(options) }
  const { cluster } = given
  check(typeof cluster === 'string', 'cluster', cluster, 'must be a string')
  check(
    /^[\p{L}\p{N}._-]{1,64}$/u.test(cluster),
    'cluster',
    cluster,
    'must be 1 to 64 letters, digits, ".", "_" or "-"',
  )
  const ms = (option: keyof typeof MESH_DEFAULTS, least: number): number =>
    integer(option, given[option] as number, least, LONGEST_MS)
  return {
    cluster,
    join: list('join', given.join).map(parseJoin),
    advertise: list('advertise', given.advertise).map(parseAddress),
    stateFile: path('stateFile', options.stateFile),
    dialTimeoutMs: ms('dialTimeoutMs', 100),
    maxBackoffMs: ms('maxBackoffMs', 100),
    memberGraceMs: ms('memberGraceMs', 100),
    watchdogMs: ms('watchdogMs', 50),
    fullMeshNodes: integer('fullMeshNodes', given.fullMeshNodes, 1, 1_000),
    largeDegree: integer('largeDegree', given.largeDegree, 3, 100),
    maxGossipBytes: integer('maxGossipBytes', given.maxGossipBytes, 1_024, 3 * 1024 * 1024),
    maxMessageBytes: integer('maxMessageBytes', given.maxMessageBytes, 1_024, 64 * 1024 * 1024),
    channelStallMs: ms('channelStallMs', 100),
  }
}

/** Checks what only the node that this package builds takes. Throws as `resolveMeshOptions`. */
export function resolveNodeOptions(options: Libp2pTransportOptions): ResolvedNode {
  const { listen, allow, expectedNodes } = { ...NODE_DEFAULTS, ...definedOf(options) }
  const { identityFile, secret } = options
  if (identityFile !== undefined) {
    check(
      typeof identityFile === 'string' && identityFile !== '',
      'identityFile',
      identityFile,
      'must be a path',
    )
  }
  const key = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  if (key !== undefined) {
    check(key instanceof Uint8Array, 'secret', '(hidden)', 'must be a string or bytes')
    check(key.length >= 16, 'secret', `(${String(key.length)} bytes)`, 'must be at least 16 bytes long')
  }
  const peers = list('allow', allow)
  return {
    listen: list('listen', listen).map(parseAddress),
    identityFile,
    secret: key,
    allow: options.allow === undefined ? undefined : new Set(peers),
    expectedNodes: integer('expectedNodes', expectedNodes, 1, 10_000),
  }
}

/**
 * Checks what stands in the place of the state file, which is replaced when it is written. Rejects with
 * `ROLLCALL_INVALID_OPTION`.
 */
export async function checkStateFile({ stateFile }: ResolvedMesh, identityFile?: string): Promise<void> {
  if (stateFile === undefined) return
  const isIdentity = identityFile !== undefined && resolve(identityFile) === stateFile
  check(!isIdentity, 'stateFile', stateFile, 'must not be identityFile')
  check(!(await isOccupied(stateFile)), 'stateFile', stateFile, 'must be the path of a file: it is none')
}

/** The options that are set, so that `{ cluster: undefined }` means the default as leaving it out does. */
function definedOf<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
