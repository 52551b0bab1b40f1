import { StringDecoder } from 'node:string_decoder'
import type { Readable, Writable } from 'node:stream'
import { connectTo } from './connect.ts'
import { CONSOLE_KINDS, encodeMessage, MessageReader } from './message.ts'
import type { ClientMessage, ConsoleMessage, Face, Size } from './message.ts'

export interface AttachOptions {
  /** Where keys come from. A terminal is put in raw mode meanwhile; without one all is plain text. */
  readonly input: Readable & Partial<Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode'>>
  readonly output: Writable & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'rows' | 'hasColors'>>
}

/** How a session ended. */
export interface AttachEnd {
  /** `user`: by `.exit`, Ctrl-D, Ctrl-\ or the end of the input. `console`: it closed, or its process ended. */
  readonly by: 'user' | 'console'
  /** Why, in words; '' by the user. */
  readonly text: string
}

/** Ctrl-\ leaves at once, though the process may hang. */
const DETACH = '\x1c'

const DEFAULT_SIZE: Size = { columns: 80, rows: 24 }

const LOST: AttachEnd = { by: 'console', text: 'the process has ended' }

/**
 * Joins a person, or a pipe, to the console at a path. Resolves when the session is over, with the terminal as it was.
 *
 * Rejects with `ROLLCALL_CONSOLE_PATH`, `ROLLCALL_CONSOLE_ABSENT` or `ROLLCALL_CONSOLE_UNTRUSTED`.
 */
export async function attach(path: string, { input, output }: AttachOptions): Promise<AttachEnd> {
  const socket = await connectTo(path)
  const terminal = input.isTTY === true && output.isTTY === true
  const size = (): Size => ({
    columns: output.columns || DEFAULT_SIZE.columns,
    rows: output.rows || DEFAULT_SIZE.rows,
  })
  const face: Face = { terminal, colours: terminal && output.hasColors?.() === true, ...size() }
  const say = (message: ClientMessage): boolean => socket.writable && socket.write(encodeMessage(message))

  return new Promise((resolve) => {
    const decoder = new StringDecoder()
    const reader = new MessageReader<ConsoleMessage>(CONSOLE_KINDS)
    let end = LOST

    const typed = (chunk: Buffer | string): void => {
      const text = typeof chunk === 'string' ? chunk : decoder.write(chunk)
      if (terminal && text === DETACH) {
        end = { by: 'user', text: '' }
        socket.destroy()
      } else if (!say({ kind: 'input', text })) input.pause()
    }
    const drained = (): void => void input.resume()
    const ended = (): void => void say({ kind: 'end' })
    const resized = (): void => void say({ kind: 'resize', ...size() })

    socket.on('data', (chunk: Buffer) => {
      const messages = reader.read(chunk)
      if (messages === undefined) {
        end = { by: 'console', text: 'what answers is no console of this version' }
        socket.destroy()
      }
      for (const message of messages ?? []) {
        if (message.kind === 'output') output.write(message.text)
        else if (message.kind === 'bye') end = { by: message.by, text: message.text }
      }
    })
    socket.on('drain', drained)
    // It is closed next, which is what counts.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      input.off('data', typed).off('end', ended)
      output.off('resize', resized)
      if (terminal) input.setRawMode?.(false)
      input.pause()
      resolve(end)
    })

    say({ kind: 'hello', ...face })
    if (terminal) input.setRawMode?.(true)
    input.on('data', typed).on('end', ended)
    output.on('resize', resized)
  })
}
