import { randomBytes } from 'node:crypto'
import { open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises'
import { isIPv4, isIPv6 } from 'node:net'
import { basename, dirname, join } from 'node:path'
import type { NodeId } from '../../core/frame.ts'

/** Another node and where it was, as multiaddrs without identity. */
export interface KnownPeer {
  readonly id: NodeId
  readonly addresses: readonly string[]
}

export const STATE_LIMITS = {
  /** Any one that lives is a way back, so this is generous; all of them take 100 kB or so. */
  peers: 256,
  /** A host has a handful of interfaces. */
  addresses: 8,
  /** The longest name of DNS has 253. */
  addressLength: 300,
  bytes: 256 * 1024,
} as const

const VERSION = 1

/** A hash in base58: 46 to 53 characters, by the kind of the key. */
const PEER_ID = /^[1-9A-HJ-NP-Za-km-z]{40,64}$/

/** What a node that died while it wrote has left behind is removed when it is older than any write takes. */
const LEFTOVER_MS = 60_000

/** What reading found. `nothing`: there is no file yet. */
export type StateRead =
  | { readonly kind: 'peers'; readonly peers: readonly KnownPeer[]; readonly text: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'bad'; readonly why: string; readonly cause?: unknown }

/** The text of a state file. What is above the limits is left out, the last first. */
export function encodeState(cluster: string, peers: readonly KnownPeer[]): string {
  const lines: string[] = []
  let bytes = Buffer.byteLength(envelope(cluster, []))
  for (const { id, addresses } of peers) {
    // What peers say of themselves may be anything, and what is no address would spoil the file.
    const kept = addresses.filter((address) => isAddressOf(id, address)).slice(0, STATE_LIMITS.addresses)
    const line = `    ${JSON.stringify({ id, addresses: kept })}`
    bytes += Buffer.byteLength(line) + 2
    if (bytes > STATE_LIMITS.bytes || lines.length === STATE_LIMITS.peers) break
    if (kept.length > 0) lines.push(line)
  }
  return envelope(cluster, lines)
}

/** One line for each peer, for people. */
const envelope = (cluster: string, lines: readonly string[]): string =>
  `{\n  "version": ${String(VERSION)},\n  "cluster": ${JSON.stringify(cluster)},\n  "peers": [\n${lines.join(',\n')}\n  ]\n}\n`

/** Reads the text of a state file. Returns what is wrong with it, in words, when it is none of this cluster. */
export function decodeState(cluster: string, text: string): readonly KnownPeer[] | string {
  let state: unknown
  try {
    state = JSON.parse(text)
  } catch {
    return 'is not whole JSON'
  }
  if (!isObject(state)) return 'is no state'
  const { version, peers } = state
  if (version !== VERSION) {
    return `has version ${JSON.stringify(version ?? null).slice(0, 20)}, this library reads ${String(VERSION)}`
  }
  if (state['cluster'] !== cluster) return 'is of another cluster'
  const isList = Array.isArray(peers) && peers.length <= STATE_LIMITS.peers && peers.every(isPeer)
  return isList ? peers.map(({ id, addresses }) => ({ id, addresses })) : 'lists what are no peers'
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function isPeer(value: unknown): value is KnownPeer {
  if (!isObject(value)) return false
  const { id, addresses } = value
  if (typeof id !== 'string' || !Array.isArray(addresses)) return false
  const isBounded = addresses.length > 0 && addresses.length <= STATE_LIMITS.addresses
  return isBounded && addresses.every((address) => isAddressOf(id, address))
}

/** Whether it is the multiaddr of a TCP port, without identity, and the id one of libp2p. */
function isAddressOf(id: string, address: unknown): boolean {
  if (typeof address !== 'string' || address.length > STATE_LIMITS.addressLength) return false
  const [, family, host = '', port] =
    /^\/(ip4|ip6|dns|dns4|dns6)\/([^/\s]+)\/tcp\/([1-9]\d{0,4})$/.exec(address) ?? []
  if (family === undefined || Number(port) > 65_535 || !PEER_ID.test(id)) return false
  return family === 'ip4' ? isIPv4(host) : family !== 'ip6' || isIPv6(host)
}

/** Whether something is at a path that is no file: a folder, a device, a pipe. */
export async function isOccupied(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && !found.isFile()
}

/** Follows links, or what is renamed onto the file would take the place of the link. */
export const linkedPath = (path: string): Promise<string> => realpath(path).catch(() => path)

/** Never rejects. */
export async function readState(path: string, cluster: string): Promise<StateRead> {
  let text: string
  try {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      if (size > STATE_LIMITS.bytes) return { kind: 'bad', why: `has ${String(size)} bytes` }
      text = await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    return isMissing ? { kind: 'nothing' } : { kind: 'bad', why: 'cannot be read', cause }
  }
  const peers = decodeState(cluster, text)
  return typeof peers === 'string' ? { kind: 'bad', why: peers } : { kind: 'peers', peers, text }
}

/**
 * Writes beside the file and renames it there, so that whoever reads finds the old text or the new one, whole, and the
 * last of two that write wins. Rejects as `node:fs` does; the file is then what it was.
 */
export async function writeState(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}

/** Moves the file out of the way, where people can look at it. Returns whether that worked. */
export async function setAside(path: string): Promise<boolean> {
  return rename(path, `${path}.broken`).then(
    () => true,
    () => false,
  )
}

/** Removes what writes left behind of which the process was killed. Never rejects. */
export async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    if (!name.startsWith(`${basename(path)}.`) || !/\.[0-9a-f]{12}\.tmp$/.test(name)) continue
    const leftover = join(folder, name)
    const found = await stat(leftover).catch(() => undefined)
    // Of a younger one the writer may live.
    if (found !== undefined && Date.now() - found.mtimeMs > LEFTOVER_MS)
      await unlink(leftover).catch(() => undefined)
  }
}
