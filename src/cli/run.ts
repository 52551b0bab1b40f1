import { parseArgs } from 'node:util'
import type { AttachOptions } from '../console/attach.ts'
import { attach } from '../console/attach.ts'
import { listSockets } from '../console/socket-file.ts'
import { RollcallError } from '../errors.ts'
import type { RollcallErrorCode } from '../errors.ts'

/** Exit codes. */
const EXIT = { done: 0, failed: 1, usage: 2, ended: 3, absent: 4, untrusted: 5 } as const

const HELP = `Usage: rollcall console [path]

Attaches to the console that a process has opened with openConsole. Without a
path: to the only socket in $XDG_RUNTIME_DIR/rollcall, or in rollcall-<uid> in
the folder for temporary files. If there are more, they are listed.
Piped input is run line by line, and answered in plain text.

In it: help() says what there is. Ctrl-D leaves, and Ctrl-\\ does so even if the
process hangs; the process goes on.

Options:
  -h, --help  this text

Exit codes:
  0  you left, or the input ended
  1  something else failed
  2  the command was not understood, or there are several sockets to choose from
  3  the console closed, or its process ended
  4  there is no such socket, or nobody listens there
  5  the socket, or its folder, is in the hands of other users
`

const EXIT_BY_CODE: Partial<Record<RollcallErrorCode, number>> = {
  ROLLCALL_CONSOLE_ABSENT: EXIT.absent,
  ROLLCALL_CONSOLE_UNTRUSTED: EXIT.untrusted,
}

/** What the command reads and writes. */
export interface Streams extends AttachOptions {
  readonly errors: NodeJS.WritableStream
}

/** Runs the command with these arguments. Resolves with its exit code: see `--help`. */
export async function run(args: readonly string[], streams: Streams): Promise<number> {
  const say = (text: string): void => void streams.errors.write(`rollcall: ${text}\n`)
  try {
    const order = readOrder(args)
    if (order === 'help') {
      streams.output.write(HELP)
      return EXIT.done
    }
    if (typeof order === 'string') {
      say(`${order}; see rollcall --help`)
      return EXIT.usage
    }
    const path = order.path ?? (await onlySocket(say))
    if (typeof path === 'number') return path
    const { by, text } = await attach(path, streams)
    if (by === 'user') return EXIT.done
    // A prompt may stand on the line.
    streams.errors.write('\n')
    say(text)
    return EXIT.ended
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
    return (error instanceof RollcallError ? EXIT_BY_CODE[error.code] : undefined) ?? EXIT.failed
  }
}

/** What is to be done, or what is wrong with the arguments. */
function readOrder(args: readonly string[]): 'help' | { readonly path: string | undefined } | (string & {}) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    if (values.help === true) return 'help'
    const [command, path, ...rest] = positionals
    if (command !== 'console')
      return command === undefined ? 'no command' : `no command ${JSON.stringify(command)}`
    return rest.length > 0 ? 'too many arguments' : { path }
  } catch (error) {
    return (error as Error).message
  }
}

/** The socket to take when none is named; an exit code when that is not clear. */
async function onlySocket(say: (text: string) => void): Promise<string | number> {
  const sockets = await listSockets()
  const [only] = sockets
  if (only === undefined) {
    say('there is no console; a process opens one with openConsole')
    return EXIT.absent
  }
  if (sockets.length === 1) return only
  say(`which of these?\n${sockets.join('\n')}`)
  return EXIT.usage
}
