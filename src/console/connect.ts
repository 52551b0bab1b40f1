import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { RollcallError } from '../errors.ts'
import { argumentError } from '../tracker/check.ts'
import { checkSocket, codeOf } from './socket-file.ts'

/**
 * Connects to the console at a path. Rejects with `ROLLCALL_CONSOLE_PATH`, `ROLLCALL_CONSOLE_ABSENT` or
 * `ROLLCALL_CONSOLE_UNTRUSTED`.
 */
export async function connectTo(path: string): Promise<Socket> {
  await checkSocket(path)
  return await new Promise((resolve, reject) => {
    const socket = connect(path)
    const failed = (error: Error): void => reject(refusal(path, error))
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      resolve(socket)
    })
  })
}

function refusal(path: string, error: Error): RollcallError {
  return codeOf(error) === 'EACCES'
    ? argumentError('The path', path, 'must be open to this user', 'ROLLCALL_CONSOLE_UNTRUSTED')
    : argumentError('The path', path, 'somebody must listen there', 'ROLLCALL_CONSOLE_ABSENT')
}
