import { RollcallError } from '../errors.ts'
import { print } from './check.ts'
import { checkName } from './meta.ts'
import { Monitor } from './monitor.ts'
import { NODE_TOPIC } from './node-entry.ts'

/** Checks of what callers pass to a tracker. All throw `ROLLCALL_INVALID_ARGUMENT`, naming what is wrong with what. */

/** Where an entry is to stand. A name that is too long is `ROLLCALL_LIMIT_EXCEEDED`. */
export function checkPlace(monitor: Monitor, topic: string, key: string, maxKeyBytes: number): void {
  checkMonitor(monitor)
  checkName('topic', topic, maxKeyBytes)
  checkName('key', key, maxKeyBytes)
  if (topic === NODE_TOPIC) {
    throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', `the topic ${NODE_TOPIC} is reserved`)
  }
}

export function checkMonitor(monitor: unknown): void {
  if (monitor instanceof Monitor) return
  throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', `monitor must be a Monitor, not ${print(monitor)}`)
}

export function checkString(what: string, value: unknown): void {
  if (typeof value === 'string') return
  throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', `${what} must be a string, not ${print(value)}`)
}

/** A place, for an error message. */
export const at = (topic: string, key: string): string => `${print(key)} in ${print(topic)}`
