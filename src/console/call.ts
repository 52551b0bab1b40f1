import type { Socket } from 'node:net'
import { RollcallError } from '../errors.ts'
import type { RollcallErrorCode } from '../errors.ts'
import type { CommandName } from './calls.ts'
import { connectTo } from './connect.ts'
import { CONSOLE_KINDS, encodeMessage, MessageReader, OTHER_PROTOCOL } from './message.ts'
import type { Call, ConsoleMessage } from './message.ts'

/**
 * Runs one command in the process whose console is at a path: value by value, until all has been said, the reader leaves, or
 * the signal aborts. Who reads slowly makes the process wait.
 *
 * Throws `ROLLCALL_CONSOLE_PATH`, `ROLLCALL_CONSOLE_ABSENT`, `ROLLCALL_CONSOLE_UNTRUSTED`, `ROLLCALL_CONSOLE_PROTOCOL`,
 * `ROLLCALL_CONSOLE_ENDED`, and what the command throws there.
 */
export async function* call(
  path: string,
  command: CommandName,
  args: Call['args'],
  signal?: AbortSignal,
): AsyncGenerator<unknown, undefined> {
  const socket = await connectTo(path)
  const leave = (): void => void socket.destroy()
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  try {
    socket.write(encodeMessage({ kind: 'call', command, args }))
    for await (const message of messagesOf(socket)) {
      if (message.kind === 'item') yield message.value
      else if (message.kind === 'done') return
      else throw errorOf(message)
    }
    if (signal?.aborted !== true) throw new RollcallError('ROLLCALL_CONSOLE_ENDED')
  } finally {
    signal?.removeEventListener('abort', leave)
  }
}

/** All that a console says until its socket closes, however it does. */
async function* messagesOf(socket: Socket): AsyncGenerator<ConsoleMessage, undefined> {
  const reader = new MessageReader<ConsoleMessage>(CONSOLE_KINDS)
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      const messages = reader.read(chunk)
      if (messages === undefined) throw new RollcallError('ROLLCALL_CONSOLE_PROTOCOL')
      yield* messages
    }
  } catch (error) {
    if (error instanceof RollcallError) throw error
  }
}

function errorOf(message: Exclude<ConsoleMessage, { kind: 'item' | 'done' }>): RollcallError {
  switch (message.kind) {
    case 'failure':
      // A later version may have more codes.
      return new RollcallError(message.code as RollcallErrorCode, message.message)
    case 'bye':
      return message.text === OTHER_PROTOCOL
        ? new RollcallError(
            'ROLLCALL_CONSOLE_PROTOCOL',
            'The process runs an older rollcall, which takes no commands; rollcall console attaches to it',
          )
        : new RollcallError('ROLLCALL_CONSOLE_ENDED', `No more is to come: ${message.text}`)
    case 'output':
      return new RollcallError('ROLLCALL_CONSOLE_PROTOCOL')
  }
}
