import { MAX_REASON_BYTES } from '../core/frame.ts'
import { nameFault } from '../core/name.ts'
import { print } from '../tracker/check.ts'
import { isRecord } from './check.ts'
import { INSTANCE_STATES } from './types.ts'
import { parseVersion } from './version.ts'

/** The tracker's limit for a key, which a service's name becomes. */
export const MAX_NAME_BYTES = 256

/** What browsers and servers take at least. */
const MAX_ADDRESS_BYTES = 2_048

/** Above it `setTimeout` fires at once. */
export const MAX_TIMER_MS = 2_147_483_647

/** A retry limit above it is a mistake: even without pauses it would be an attack on the service. */
const MAX_RETRIES = 1_000

/** `name/arity`, as in Erlang, where an arity is at most 255. */
const FUNCTION = /^.+\/(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])$/u

// Whatever a URL parser makes of `host:port`, it must not be a scheme, a user or a path.
const HOST_AND_PORT = /^(?:\[[\da-f:.]+\]|[^\s:/?#@[\]]+):[1-9]\d{0,4}$/iu

/** The rule that a value breaks, with the place inside the value where it is not the value itself. */
export type Fault = string | undefined

/** What every field of a service must be, present or from a peer. A field that may be absent is checked when present. */
export const FIELD_FAULTS = {
  version: (value) =>
    typeof value === 'string' && parseVersion(value) !== undefined
      ? undefined
      : 'must be a semantic version (major.minor.patch)',
  address: addressFault,
  functions: functionsFault,
  timeoutMs: (value) => numberFault(value, 1, MAX_TIMER_MS),
  retry: retryFault,
  metadata: (value) => (isRecord(value) ? undefined : 'must be an object'),
  zone: (value) => nameFault(value, MAX_NAME_BYTES),
  weight: (value) => numberFault(value, 0, Number.MAX_SAFE_INTEGER),
  state: (value) => nameFault(value, MAX_NAME_BYTES),
  reason: (value) => nameFault(value, MAX_REASON_BYTES),
  capabilities: capabilitiesFault,
  since: (value) => numberFault(value, 0, Number.MAX_SAFE_INTEGER),
} as const satisfies Record<string, (value: unknown) => Fault>

/** As `name/arity`. */
export const functionNameFault = (value: unknown): Fault =>
  nameFault(value, MAX_NAME_BYTES) ??
  (FUNCTION.test(String(value)) ? undefined : 'must be name/arity, with an arity from 0 to 255')

export const stateFault = (value: unknown): Fault =>
  (INSTANCE_STATES as readonly unknown[]).includes(value)
    ? undefined
    : `must be one of ${INSTANCE_STATES.join(', ')}`

export function numberFault(value: unknown, min: number, max: number): Fault {
  return typeof value === 'number' && value >= min && value <= max
    ? undefined
    : `must be a number from ${min} to ${max}`
}

function addressFault(value: unknown): Fault {
  const fault = nameFault(value, MAX_ADDRESS_BYTES)
  if (fault !== undefined) return fault
  const text = String(value)
  const readable = text.includes('://')
    ? URL.canParse(text)
    : HOST_AND_PORT.test(text) && URL.canParse(`http://${text}`)
  return readable ? undefined : 'must be a URL or host:port'
}

function retryFault(value: unknown): Fault {
  if (!isRecord(value)) return 'must be an object of limit and afterMs'
  const limit = numberFault(value['limit'], 0, MAX_RETRIES)
  if (limit !== undefined || !Number.isInteger(value['limit'])) {
    return `limit is ${print(value['limit'])}: must be a whole number from 0 to ${MAX_RETRIES}`
  }
  const afterMs = numberFault(value['afterMs'], 0, MAX_TIMER_MS)
  return afterMs && `afterMs is ${print(value['afterMs'])}: ${afterMs}`
}

function functionsFault(value: unknown): Fault {
  if (!isRecord(value)) return 'must be an object of name/arity and call options'
  for (const [name, options] of Object.entries(value)) {
    const fault = functionNameFault(name) ?? callFault(options)
    if (fault !== undefined) return `${print(name)}: ${fault}`
  }
  return undefined
}

function callFault(value: unknown): Fault {
  if (!isRecord(value)) return 'must be an object of timeoutMs and retry'
  const { timeoutMs, retry } = value
  const timeout = timeoutMs === undefined ? undefined : FIELD_FAULTS.timeoutMs(timeoutMs)
  if (timeout !== undefined) return `timeoutMs is ${print(timeoutMs)}: ${timeout}`
  const again = retry === undefined ? undefined : retryFault(retry)
  return again && `retry is ${print(retry)}: ${again}`
}

function capabilitiesFault(value: unknown): Fault {
  if (!isRecord(value)) return 'must be an object of names and states'
  for (const [name, state] of Object.entries(value)) {
    const fault = nameFault(name, MAX_NAME_BYTES) ?? nameFault(state, MAX_NAME_BYTES)
    if (fault !== undefined) return `${print(name)}: ${fault}`
  }
  return undefined
}
