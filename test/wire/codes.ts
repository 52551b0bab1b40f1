import { RollcallError } from '../../src/errors.ts'

/** The code that a call throws, or 'nothing'. Anything but a `RollcallError` goes on. */
export function codeOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof RollcallError) return error.code
    throw error
  }
  return 'nothing'
}
