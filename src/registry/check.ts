import { RollcallError } from '../errors.ts'
import type { RollcallErrorCode } from '../errors.ts'
import { print } from '../tracker/check.ts'

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

/** Throws `ROLLCALL_INVALID_ARGUMENT` unless the option is left out or an `AbortSignal`. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return
  throw argumentError('The option signal', signal, 'must be an AbortSignal')
}
