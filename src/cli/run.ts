import { CommanderError } from 'commander'
import type { AttachOptions } from '../console/attach.ts'
import { attach } from '../console/attach.ts'
import { ask } from './ask.ts'
import { EXIT, exitOf } from './exit.ts'
import type { Exit } from './exit.ts'
import { Misuse } from './misuse.ts'
import { Printer } from './printer.ts'
import type { PrinterStreams } from './printer.ts'
import { buildProgram } from './program.ts'
import { findSocket } from './socket.ts'

/** What the command reads and writes. */
export type Streams = AttachOptions & PrinterStreams

/** Runs the command with these arguments. Resolves with its exit code: see `--help`. */
export async function run(args: readonly string[], streams: Streams): Promise<Exit> {
  const printer = new Printer(streams, args.includes('--json'))
  let exit: Exit = EXIT.done
  const program = buildProgram({
    ask: async (question, path) => {
      exit = await ask(path ?? (await findSocket()), question, printer)
    },
    attach: async (path) => {
      exit = await sit(path ?? (await findSocket()), streams, printer)
    },
    runAgent: async (flags) => {
      const { runAgent } = await import('./agent.ts')
      try {
        await runAgent(flags, printer, streams.errors)
      } catch (error) {
        printer.complain(error)
        exit = EXIT.failed
      }
    },
  })
  for (const each of [program, ...program.commands]) {
    each.configureOutput({ writeOut: (text) => void streams.output.write(text), writeErr: () => undefined })
  }
  try {
    if (args.length === 0) throw new Misuse('no command; see rollcall --help')
    await program.parseAsync(args, { from: 'user' })
    return exit
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done
    const told = error instanceof CommanderError ? misuseOf(error) : error
    printer.complain(told)
    return exitOf(told)
  }
}

/** In one line, and without the word that the parser puts before it. */
const misuseOf = ({ message }: CommanderError): Misuse =>
  new Misuse(`${message.replace(/^error: /, '').replaceAll('\n', ' ')}; see rollcall --help`)

/** A session in a process, by keyboard or through a pipe. */
async function sit(path: string, streams: Streams, printer: Printer): Promise<Exit> {
  const { by, text } = await attach(path, streams)
  if (by === 'user') return EXIT.done
  // A prompt may stand on the line.
  streams.errors.write('\n')
  printer.remark(text)
  return EXIT.ended
}
