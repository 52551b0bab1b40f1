import { RollcallError } from '../errors.ts'
import type { RollcallErrorCode } from '../errors.ts'
import { Misuse } from './misuse.ts'

/** Exit codes of the command. */
export const EXIT = { done: 0, failed: 1, usage: 2, ended: 3, absent: 4, untrusted: 5, nothing: 6 } as const

export type Exit = (typeof EXIT)[keyof typeof EXIT]

/** What each says, for `--help`. */
export const EXIT_MEANINGS: Readonly<Record<Exit, string>> = {
  0: 'all went well, or you left',
  1: 'something else failed',
  2: 'it was not understood, or there are several sockets to choose from',
  3: 'the console closed, or its process ended',
  4: 'there is no such socket, or nobody listens there',
  5: 'the socket, or its folder, is in the hands of other users',
  6: 'a lookup found nothing',
}

const BY_CODE: Partial<Record<RollcallErrorCode, Exit>> = {
  ROLLCALL_INVALID_ARGUMENT: EXIT.usage,
  ROLLCALL_INVALID_REQUIREMENT: EXIT.usage,
  ROLLCALL_CLOSED: EXIT.ended,
  ROLLCALL_CONSOLE_ENDED: EXIT.ended,
  ROLLCALL_CONSOLE_ABSENT: EXIT.absent,
  ROLLCALL_CONSOLE_UNTRUSTED: EXIT.untrusted,
}

/** The exit code that an error amounts to. */
export function exitOf(error: unknown): Exit {
  if (error instanceof Misuse) return EXIT.usage
  return (error instanceof RollcallError ? BY_CODE[error.code] : undefined) ?? EXIT.failed
}
