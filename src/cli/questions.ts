import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { CommandName } from '../console/calls.ts'
import type { LookupOptions } from '../registry/types.ts'
import type { Question } from './ask.ts'

/** Begins a command: its usage, what it does in a few words, and what there is to know besides, line by line. */
export type Define = (usage: string, summary: string, ...more: readonly string[]) => Command

type Ask = (question: Question, path: string | undefined) => Promise<void>

const REQUIREMENT = 'A requirement is one of lookup: 2.1.0 (any 2.x), "~> 2.1", ">=2.1 <3".'

/** The commands that are asked of a process, as the command line has them. */
export function addQuestions(define: Define, ask: Ask): void {
  const services = define('services [name]', 'who offers what: all, or a service by its name')
  services.option('--node <node>', 'only what this node offers, by id or name')
  asked(services, ['name'], ask)

  asked(define('nodes', 'the node that is asked, and all that it knows'), [], ask)

  const lookup = define(
    'lookup <name> [requirement]',
    'what a lookup returns',
    'Exit code 6 when it finds nothing.',
    REQUIREMENT,
  )
  const explain = define(
    'explain <name> [requirement]',
    'why each instance is returned, or is not',
    REQUIREMENT,
  )
  for (const command of [lookup, explain]) {
    command.option('--zone <zone>', 'prefer instances of this zone')
    asked(filtered(command), ['name', 'requirement'], ask)
  }

  const watch = define(
    'watch <name> [requirement]',
    'a line per change of a service, until Ctrl-C',
    'The first line says what is. One who reads slowly is spared what was between.',
    REQUIREMENT,
  )
  asked(counted(filtered(watch)), ['name', 'requirement'], ask)

  asked(counted(define('events', 'a line per event, from now on, until Ctrl-C')), [], ask)

  const drain = define(
    'drain [name]',
    'end what the process offers, without a lost call',
    'All of it, or what it offers by a name. Others are told that it drains; it is',
    'gone when the grace is over.',
    'Ctrl-C leaves; the process goes on draining.',
  )
    .option('--grace-ms <ms>', 'how long calls have to end. Default 10,000', readMs)
    .option('--settle-ms <ms>', 'how long others have to hear of it. Default 1,000', readMs)
  asked(drain, ['name'], ask)

  const metrics = define(
    'metrics',
    "a registry's figures, as Prometheus reads them",
    'The process needs prom-client. What comes and goes is counted from the first',
    'time that they are asked for.',
  )
  asked(metrics, [], ask)
}

interface Flags extends Pick<LookupOptions, 'zone' | 'state' | 'function' | 'capability'> {
  readonly socket?: string
  readonly count?: number
  readonly node?: string
  readonly graceMs?: number
  readonly settleMs?: number
}

/** Makes a question of a command: its arguments by these names, and its options. */
function asked(command: Command, names: readonly string[], ask: Ask): void {
  command
    .option('--socket <path>', 'of the console. Default: the only one found')
    .option('--json', 'print JSON, errors too')
    .action(async (...given: readonly unknown[]) => {
      const { socket, count, node, graceMs, settleMs, ...filters } = command.opts<Flags>()
      const { zone, state, function: fn, capability } = filters
      const args = {
        ...Object.fromEntries(names.map((name, at) => [name, given[at]])),
        ...(names.includes('requirement') && { options: { zone, state, function: fn, capability } }),
        node,
        graceMs,
        settleMs,
      }
      await ask({ command: command.name() as CommandName, args, count }, socket)
    })
}

const filtered = (command: Command): Command =>
  command
    .option('--state <state>', 'only in this state; any for all. Default ready')
    .option('--function <name/arity>', 'only those that offer this function')
    .option('--capability <name>', 'only those that can do this now')

const counted = (command: Command): Command =>
  command.option('--count <n>', 'leave after so many lines', (text) => {
    const count = Number(text)
    if (Number.isSafeInteger(count) && count >= 1) return count
    throw new InvalidArgumentError('It must be a whole number, at least 1.')
  })

function readMs(text: string): number {
  const ms = Number(text)
  if (text.trim() !== '' && Number.isFinite(ms) && ms >= 0) return ms
  throw new InvalidArgumentError('It must be a number of ms, at least 0.')
}
