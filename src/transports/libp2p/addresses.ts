import { lookup } from 'node:dns/promises'
import { isIP, isIPv6 } from 'node:net'
import { multiaddr } from '@multiformats/multiaddr'
import { RollcallError } from '../../errors.ts'

/** Where a TCP connection goes. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** An address to join. Names are resolved again at every attempt. */
export interface JoinAddress extends Endpoint {
  /** As the caller wrote it; names it in reports. */
  readonly text: string
  /** True for `dns:name:port`: every address of the name is a node of its own. */
  readonly every: boolean
  /** The identity that must answer, where the address names one. */
  readonly peer: string | undefined
}

function refuse(text: string, rule: string): RollcallError {
  return new RollcallError('ROLLCALL_INVALID_ADDRESS', `address ${JSON.stringify(text)} ${rule}`)
}

function parseHostPort(text: string, original: string): Endpoint {
  const match = /^(?:\[([^\]]+)\]|([^:/\s]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || (match?.[1] !== undefined && !isIPv6(host))) {
    throw refuse(
      original,
      "must be 'host:port', '[ipv6]:port' or a multiaddr such as '/ip4/10.0.0.1/tcp/7400'",
    )
  }
  if (port > 65_535) throw refuse(original, 'has a port above 65535')
  return { host, port }
}

/** Host and port of a TCP multiaddr, or undefined for any other kind. */
export function endpointOf(address: string): Endpoint | undefined {
  const parts = address.split('/')
  const [, family, host, transport, port] = parts
  if (host === undefined || transport !== 'tcp' || !/^(?:ip4|ip6|dns|dns4|dns6)$/.test(family ?? ''))
    return undefined
  return { host, port: Number(port) }
}

/** The multiaddr of an endpoint, without an identity. */
export function multiaddrOf({ host, port }: Endpoint): string {
  const version = isIP(host)
  const family = version === 4 ? 'ip4' : version === 6 ? 'ip6' : 'dns'
  return `/${family}/${host}/tcp/${String(port)}`
}

/** The part of a multiaddr before its identity. */
export function withoutPeer(address: string): string {
  return address.replace(/\/p2p\/[^/]+$/, '')
}

/** The identity in a multiaddr. */
export function peerOf(address: string): string | undefined {
  return /\/p2p\/([^/]+)$/.exec(address)?.[1]
}

function parseMultiaddr(text: string): string {
  let address: string
  try {
    address = multiaddr(text).toString()
  } catch (error) {
    throw new RollcallError(
      'ROLLCALL_INVALID_ADDRESS',
      `address ${JSON.stringify(text)} is not a multiaddr`,
      {
        cause: error,
      },
    )
  }
  if (endpointOf(address) === undefined) throw refuse(text, 'must be a TCP address')
  return address
}

/**
 * Reads an address to listen on or to advertise: 'host:port', '[ipv6]:port' or a TCP multiaddr.
 *
 * @returns the multiaddr. Throws `ROLLCALL_INVALID_ADDRESS`.
 */
export function parseAddress(text: string): string {
  return text.startsWith('/') ? parseMultiaddr(text) : multiaddrOf(parseHostPort(text, text))
}

/** Reads an address to join: as `parseAddress`, or 'dns:name:port'. Throws `ROLLCALL_INVALID_ADDRESS`. */
export function parseJoin(text: string): JoinAddress {
  if (text.startsWith('/')) {
    const address = parseMultiaddr(text)
    const endpoint = endpointOf(address)
    if (endpoint === undefined) throw refuse(text, 'must be a TCP address')
    return checkJoin({ ...endpoint, text, every: false, peer: peerOf(address) })
  }
  const every = text.startsWith('dns:')
  return checkJoin({ ...parseHostPort(every ? text.slice(4) : text, text), text, every, peer: undefined })
}

function checkJoin(address: JoinAddress): JoinAddress {
  if (address.port === 0) throw refuse(address.text, 'must have a port above 0')
  return address
}

/** Resolves a host now; an IP address is its own answer. Rejects as `node:dns` does. */
export async function resolveHost(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.') || host.startsWith('::ffff:127.')
}

/**
 * Which listening addresses are worth telling others: loopback says nothing on another host, and link-local
 * ones need a zone that only this host knows, so both go when anything better is there.
 */
export function advertisable(addresses: readonly string[]): string[] {
  const unique = [...new Set(addresses.map(withoutPeer))]
  const better = unique.filter((address) => {
    const host = endpointOf(address)?.host ?? ''
    return !isLoopback(host) && !host.startsWith('fe80:') && !address.startsWith('/ip6zone')
  })
  return better.length > 0 ? better : unique
}
