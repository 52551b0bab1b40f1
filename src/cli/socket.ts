import { answers, listSockets } from '../console/socket-file.ts'
import { RollcallError } from '../errors.ts'
import { Misuse } from './misuse.ts'

/**
 * The console to take when none is named: the only one. Where a process was killed its socket is still there, and counts
 * only if it is all there is, so that what is wrong can be said of it.
 *
 * Rejects with `ROLLCALL_CONSOLE_ABSENT`, `ROLLCALL_CONSOLE_UNTRUSTED` or `Misuse`.
 */
export async function findSocket(): Promise<string> {
  const sockets = await listSockets()
  const living = await Promise.all(sockets.map(answers))
  const open = sockets.filter((_, at) => living[at])
  const [only] = open.length > 0 ? open : sockets
  if (only === undefined) {
    throw new RollcallError(
      'ROLLCALL_CONSOLE_ABSENT',
      'There is no console; a process opens one with openConsole',
    )
  }
  if (open.length > 1) throw new Misuse(`which of these?\n${open.join('\n')}`)
  return only
}
