import { RollcallError } from '../errors.ts'
import type { RollcallErrorCode } from '../errors.ts'

/** Throws `ROLLCALL_INVALID_OPTION` naming the option, its value and the rule it breaks. */
export function checkOption(holds: boolean, option: string, value: unknown, rule: string): void {
  if (holds) return
  throw new RollcallError('ROLLCALL_INVALID_OPTION', `${option} ${rule}, not ${print(value)}`)
}

/** Names the value and the rule that it breaks. */
export const argumentError = (
  what: string,
  value: unknown,
  rule: string,
  code: RollcallErrorCode = 'ROLLCALL_INVALID_ARGUMENT',
): RollcallError => new RollcallError(code, `${what} is ${print(value)}: ${rule}`)

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Throws `ROLLCALL_INVALID_ARGUMENT` unless `value` is an object whose keys are all known: a typing error says so. */
export function checkKeys(what: string, value: unknown, known: readonly string[]): void {
  if (!isRecord(value)) throw argumentError(what, value, 'must be an object')
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', `${what} has an unknown field ${print(key)}`)
  }
}

/** A value for an error message: short, on one line, whatever it is. */
export function print(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 64 ? `${value.slice(0, 61)}...` : value)
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value)
    case 'bigint':
      return `${String(value)}n`
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object'
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
  }
}
