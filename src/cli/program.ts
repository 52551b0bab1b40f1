import { Command } from 'commander'
import { LIBRARY_VERSION } from '../version.ts'
import { addAgent } from './agent-command.ts'
import type { AgentFlags } from './agent-config.ts'
import type { Question } from './ask.ts'
import { formatHelp } from './help.ts'
import { addQuestions } from './questions.ts'
import type { Define } from './questions.ts'

/** What the commands do. Without a path: with the only console there is. */
export interface Deeds {
  ask(question: Question, path: string | undefined): Promise<void>
  attach(path: string | undefined): Promise<void>
  runAgent(flags: AgentFlags): Promise<void>
}

/** All that can be said on the command line. What it writes besides, and how it leaves, is its caller's. */
export function buildProgram(deeds: Deeds): Command {
  const program = new Command('rollcall')
    .description('Asks a process that has opened a console (openConsole), or runs a node.')
    .version(LIBRARY_VERSION)
    .helpCommand(false)
    .helpOption('-h, --help', 'this text')
    .exitOverride()
    .configureHelp({ formatHelp })
  const define: Define = (usage, summary, ...more) =>
    program
      .command(usage)
      .summary(summary)
      .description([`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, ...more].join('\n'))
      .allowExcessArguments(false)

  addQuestions(define, (question, path) => deeds.ask(question, path))
  define(
    'console [path]',
    'a session in the process, with line editing',
    'What is typed is run there as JavaScript; help() says what there is. Ctrl-D',
    'leaves, and Ctrl-\\ does so even if the process hangs; the process goes on.',
    'Piped input is run line by line, and answered in plain text.',
  ).action((path: string | undefined) => deeds.attach(path))
  addAgent(define, (flags) => deeds.runAgent(flags))
  return program
}
