import { once } from 'node:events'
import { connect } from 'node:net'
import { argumentError, checkKeys } from '../../tracker/check.ts'
import type { Check } from '../types.ts'

export interface TcpTarget {
  /** A name or an address. */
  readonly host: string
  readonly port: number
}

// An IPv6 address stands in brackets, as in a URL.
const HOST_AND_PORT = /^(?:\[(?<ip6>[\da-f:.]+)\]|(?<host>[^\s:/?#@[\]]+)):(?<port>\d{1,5})$/iu

/**
 * A check that passes when the target accepts a connection, which is closed again at once.
 *
 * `target`: `host:port`, with an IPv6 host in brackets, or both apart. Throws `ROLLCALL_INVALID_ARGUMENT`.
 */
export function tcpProbe(target: string | TcpTarget): Check {
  if (typeof target !== 'string') checkKeys('The target', target, ['host', 'port'])
  const { host, port } = typeof target === 'string' ? parse(target) : target
  if (typeof host !== 'string' || host === '')
    throw argumentError('The host', host, 'must be a name or an address')
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw argumentError('The port', port, 'must be a whole number from 1 to 65535')
  }
  return async (signal) => {
    const socket = connect({ host, port, signal })
    try {
      await once(socket, 'connect')
    } finally {
      socket.destroy()
    }
  }
}

function parse(target: string): TcpTarget {
  const { ip6, host = ip6, port } = HOST_AND_PORT.exec(target)?.groups ?? {}
  if (host === undefined) throw argumentError('The target', target, 'must be host:port')
  return { host, port: Number(port) }
}
