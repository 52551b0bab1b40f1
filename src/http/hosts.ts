import { isIPv6 } from 'node:net'
import { print } from '../tracker/check.ts'
import { Refusal } from './problem.ts'

/** Names by which a server that listens there is called. Undefined, for any: others reach it, by whatever name they know. */
export function namesAt(host: string): readonly string[] | undefined {
  return isLoopback(host)
    ? [...new Set(['localhost', '127.0.0.1', '[::1]', isIPv6(host) ? `[${host}]` : host])]
    : undefined
}

/**
 * Throws `ROLLCALL_HTTP_FORBIDDEN` unless the `Host` of a request is one of these, on whatever port. A browser sends the name that
 * its page was loaded under: one that an attacker owns and points here (DNS rebinding) is none of ours.
 */
export function checkHost(host: string | undefined, hosts: readonly string[] | undefined): void {
  if (hosts === undefined) return
  const name = (host ?? '').toLowerCase().replace(/:\d*$/, '')
  if (hosts.includes(name)) return
  throw new Refusal(
    'ROLLCALL_HTTP_FORBIDDEN',
    403,
    `The header Host is ${print(host ?? '')}: must be one of ${hosts.join(', ')} (see the option hosts)`,
  )
}

/** Whether only this machine reaches what listens there. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
