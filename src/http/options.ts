import type { Clock } from '../tracker/ports.ts'
import { argumentError, checkKeys } from '../tracker/check.ts'
import { backgroundClock } from '../tracker/system.ts'

export interface HttpOptions {
  /** What writes must bear, as `Authorization: Bearer …`. Without it every write is refused. */
  readonly token?: string | undefined
  /** What reads must bear, unless they bear `token`. Without it everybody who reaches the handler may read. */
  readonly readToken?: string | undefined
  /** Whether there is a page for people at `/`. Default true. */
  readonly page?: boolean | undefined
  /**
   * Names by which it may be called, without a port (the `Host` of a request), so that no foreign page can reach it through a name
   * of its own that it points here. Default: any; of a server that listens on a loopback address, `localhost` and loopback addresses.
   */
  readonly hosts?: readonly string[] | undefined
  /** Longest body of a request. Higher lets one request cost more memory. */
  readonly maxBodyBytes?: number | undefined
  /** Requests of one remote address, in the long run; up to twice as many at once. Infinity: no limit. */
  readonly requestsPerSecond?: number | undefined
  /** Event streams that are open at once. Each costs a connection, and up to `maxBufferBytes` when its reader is slow. */
  readonly maxStreams?: number | undefined
  /** Registrations that are held at once. */
  readonly maxRegistrations?: number | undefined
  /** Time between two signs of life on an event stream. Lower finds out sooner that a reader is gone, at a line each. */
  readonly heartbeatMs?: number | undefined
  /** What one reader of an event stream may leave unread before it is cut off. */
  readonly maxBufferBytes?: number | undefined
  /** Time for leases and limits. Default: that of the system. */
  readonly clock?: Clock | undefined
}

export interface HttpServerOptions extends HttpOptions {
  /** Address to listen on. Anything but loopback lets others in: give it tokens. */
  readonly host?: string | undefined
  /** 0: any that is free. */
  readonly port?: number | undefined
  /** Connections that are open at once. Further ones are closed at once. */
  readonly maxConnections?: number | undefined
}

/** A body is at most a service with 16 KiB of metadata, some functions, and room; rates are far above what people and agents ask. */
export const HTTP_DEFAULTS = {
  page: true,
  maxBodyBytes: 65_536,
  requestsPerSecond: 1_000,
  maxStreams: 1_000,
  maxRegistrations: 1_000,
  heartbeatMs: 15_000,
  maxBufferBytes: 1_048_576,
} as const satisfies HttpOptions

/** Nobody but this machine, on a port that no other well-known program claims. */
export const HTTP_SERVER_DEFAULTS = {
  host: '127.0.0.1',
  port: 7_780,
  maxConnections: 2_000,
} as const satisfies HttpServerOptions

export interface ResolvedHttpOptions {
  readonly token: string | undefined
  readonly readToken: string | undefined
  readonly page: boolean
  readonly hosts: readonly string[] | undefined
  readonly maxBodyBytes: number
  readonly requestsPerSecond: number
  readonly maxStreams: number
  readonly maxRegistrations: number
  readonly heartbeatMs: number
  readonly maxBufferBytes: number
  readonly clock: Clock
}

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly maxConnections: number
}

const OPTIONS = [...Object.keys(HTTP_DEFAULTS), 'token', 'readToken', 'hosts', 'clock']

/** Above it a timer fires at once. */
const MAX_TIMER_MS = 2_147_483_647

/** Throws `ROLLCALL_INVALID_ARGUMENT`, naming the option, the value and the rule. */
export function resolveHttpOptions(options: HttpOptions): ResolvedHttpOptions {
  checkKeys('The options', options, OPTIONS)
  const { token, readToken, page = HTTP_DEFAULTS.page, hosts, clock = backgroundClock } = options
  checkToken('token', token)
  checkToken('readToken', readToken)
  if (typeof page !== 'boolean') throw argumentError('The option page', page, 'must be true or false')
  checkHosts(hosts)
  return {
    token,
    readToken,
    page,
    hosts: hosts?.map((host) => host.toLowerCase()),
    maxBodyBytes: whole(options, 'maxBodyBytes', 1),
    requestsPerSecond: rate(options.requestsPerSecond),
    maxStreams: whole(options, 'maxStreams', 0),
    maxRegistrations: whole(options, 'maxRegistrations', 0),
    heartbeatMs: whole(options, 'heartbeatMs', 1, MAX_TIMER_MS),
    maxBufferBytes: whole(options, 'maxBufferBytes', 1),
    clock,
  }
}

/** Parts where to listen from what to answer. Throws `ROLLCALL_INVALID_ARGUMENT`. */
export function splitServerOptions(options: HttpServerOptions): {
  readonly listen: ListenOptions
  readonly rest: HttpOptions
} {
  checkKeys('The options', options, [...OPTIONS, ...Object.keys(HTTP_SERVER_DEFAULTS)])
  const {
    host = HTTP_SERVER_DEFAULTS.host,
    port = HTTP_SERVER_DEFAULTS.port,
    maxConnections = HTTP_SERVER_DEFAULTS.maxConnections,
    ...rest
  } = options
  if (typeof host !== 'string' || host === '') {
    throw argumentError('The option host', host, 'must be an address or a name')
  }
  checkWhole('port', port, 0, 65_535)
  checkWhole('maxConnections', maxConnections, 1)
  return { listen: { host, port, maxConnections }, rest }
}

type WholeOption = 'maxBodyBytes' | 'maxStreams' | 'maxRegistrations' | 'heartbeatMs' | 'maxBufferBytes'

function whole(options: HttpOptions, option: WholeOption, min: number, max?: number): number {
  const value = options[option] ?? HTTP_DEFAULTS[option]
  checkWhole(option, value, min, max)
  return value
}

function checkWhole(option: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return
  const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : `from ${min} to ${max}`
  throw argumentError(`The option ${option}`, value, `must be a whole number, ${range}`)
}

function rate(value: number = HTTP_DEFAULTS.requestsPerSecond): number {
  if (typeof value === 'number' && value > 0) return value
  throw argumentError('The option requestsPerSecond', value, 'must be a number above 0')
}

/** As RFC 6750 has it, which any client can send. The value of a wrong one is not told. */
function checkToken(option: string, token: string | undefined): void {
  if (token === undefined) return
  if (typeof token === 'string' && /^[\w.~+/-]+=*$/.test(token)) return
  throw argumentError(
    `The option ${option}`,
    typeof token === 'string' ? '…' : token,
    'must be a text of A-Z a-z 0-9 - . _ ~ + / with any = at its end',
  )
}

function checkHosts(hosts: readonly string[] | undefined): void {
  if (hosts === undefined) return
  const isName = (host: unknown): boolean =>
    typeof host === 'string' && /^(?:\[[\da-f:.]+\]|[^\s:/?#@[\]]+)$/i.test(host)
  if (Array.isArray(hosts) && hosts.length > 0 && hosts.every(isName)) return
  throw argumentError('The option hosts', hosts, 'must be names or addresses without a port, at least one')
}
