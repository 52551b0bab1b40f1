import { argumentError } from '../tracker/check.ts'

export { argumentError, checkKeys, isRecord } from '../tracker/check.ts'

/** Throws `ROLLCALL_INVALID_ARGUMENT` unless the option is left out or an `AbortSignal`. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return
  throw argumentError('The option signal', signal, 'must be an AbortSignal')
}
