import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { resolveHost, type Endpoint } from './addresses.ts'

export type Verdict = 'alive' | 'refused' | 'unknown'

/** What a plain TCP connection found at an endpoint. */
export type Knock = 'open' | 'refused' | 'unknown'

/** A connection that a dying listener still took is reset within this time; a live one stays. Seen: below 1 ms. */
const SETTLE_MS = 25
/**
 * Before what was taken and dropped is tried again; doubles. The kernel takes ms to tens of ms to close what a killed
 * process had open, its connections in part before its listener: tries without a pause are over before that.
 */
const FIRST_PAUSE_MS = 5
/** By then half a second has passed, and what still drops connections is alive. */
const LAST_PAUSE_MS = 320

function knockOnce(endpoint: Endpoint, signal: AbortSignal): Promise<Knock | 'dropped'> {
  return new Promise((resolve) => {
    const socket = connect({ host: endpoint.host, port: endpoint.port })
    let timer: NodeJS.Timeout | undefined
    const finish = (knock: Knock | 'dropped'): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      socket.destroy()
      resolve(knock)
    }
    const onAbort = (): void => finish('unknown')
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    socket.on('connect', () => {
      timer = setTimeout(() => finish('open'), SETTLE_MS)
      socket.resume()
    })
    socket.on('end', () => finish('dropped'))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (timer !== undefined || error.code === 'ECONNRESET') finish('dropped')
      else finish(error.code === 'ECONNREFUSED' ? 'refused' : 'unknown')
    })
  })
}

/**
 * Tries a TCP connection to every address of the host. Only ECONNREFUSED is proof that nobody listens: the
 * kernel of a live host says so. Time-outs and resets prove nothing; a connection taken and dropped at once is
 * tried again, for a process that is being killed may drop what waits at its listener before it closes it.
 */
export async function knock(endpoint: Endpoint, signal: AbortSignal): Promise<Knock> {
  let hosts: readonly string[]
  try {
    hosts = await resolveHost(endpoint.host)
  } catch {
    return 'unknown'
  }
  const found = await Promise.all(hosts.map((host) => knockHost({ host, port: endpoint.port }, signal)))
  if (found.includes('open')) return 'open'
  return found.every((each) => each === 'refused') ? 'refused' : 'unknown'
}

async function knockHost(endpoint: Endpoint, signal: AbortSignal): Promise<Knock> {
  for (let pauseMs = FIRST_PAUSE_MS; pauseMs <= LAST_PAUSE_MS && !signal.aborted; pauseMs *= 2) {
    const found = await knockOnce(endpoint, signal)
    if (found !== 'dropped') return found
    await pause(pauseMs, undefined, { signal }).catch(() => undefined)
  }
  return 'unknown'
}

export interface Examination {
  /** The endpoints whose answer counts. None: nothing can be said. */
  readonly endpoints: readonly Endpoint[]
  readonly signal: AbortSignal
  /** Dials the peer by its identity where something listens. */
  readonly dial: (endpoints: readonly Endpoint[]) => Promise<'connected' | 'other-identity' | 'failed'>
}

/**
 * Looks whether a peer's process lives. Refused: nobody listens at any of its addresses, or somebody else does.
 */
export async function examine({ endpoints, signal, dial }: Examination): Promise<Verdict> {
  if (endpoints.length === 0) return 'unknown'
  const knocks = await Promise.all(endpoints.map((endpoint) => knock(endpoint, signal)))
  const open = endpoints.filter((_, index) => knocks[index] === 'open')
  const outcome = open.length === 0 ? 'other-identity' : await dial(open)
  if (outcome === 'connected') return 'alive'
  return outcome === 'other-identity' && !knocks.includes('unknown') ? 'refused' : 'unknown'
}
