import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import type { Instance, LookupOptions } from '../registry/types.ts'
import type { Snapshot, WatchOptions } from '../registry/watch-types.ts'
import { argumentError, checkKeys } from '../tracker/check.ts'
import { liveEvents } from './live-events.ts'
import type { ConsoleMessage } from './message.ts'
import { printMetrics } from './metrics-text.ts'

/** As it comes from outside: what a value may be is checked where a caller in this process gives it. */
interface Args {
  readonly name?: string
  readonly node?: string
  readonly requirement?: string
  readonly options?: LookupOptions
  readonly graceMs?: number
  readonly settleMs?: number
}

type Answer = Iterable<unknown> | AsyncIterable<unknown>

interface Command {
  readonly fields: readonly (keyof Args)[]
  readonly answer: (registry: Registry, args: Args, signal: AbortSignal) => Answer | Promise<Answer>
}

const QUESTION = ['name', 'requirement', 'options'] as const

/** What can be called, over the public API of a registry. */
const COMMANDS = {
  services: {
    fields: ['name', 'node'],
    answer: (registry, { name, node }) =>
      name === undefined
        ? registry.services(node)
        : registry.lookupAll(name, undefined, { node, state: 'any', prerelease: 'include' }),
  },
  nodes: { fields: [], answer: (registry) => registry.nodes() },
  lookup: {
    fields: QUESTION,
    answer: (registry, { name = '', requirement, options }) => [registry.lookup(name, requirement, options)],
  },
  explain: {
    fields: QUESTION,
    answer: (registry, { name = '', requirement, options }) => registry.explain(name, requirement, options),
  },
  watch: { fields: QUESTION, answer: follow },
  events: { fields: [], answer: (registry, _args, signal) => liveEvents(registry, signal) },
  drain: { fields: ['name', 'graceMs', 'settleMs'], answer: drain },
  metrics: { fields: [], answer: async (registry) => [await printMetrics(registry)] },
} as const satisfies Readonly<Record<string, Command>>

export type CommandName = keyof typeof COMMANDS

/**
 * What the process of a registry answers to a call, value by value. Rejects, or throws on the way, with
 * `ROLLCALL_INVALID_ARGUMENT` for a command or a field that it does not know, and as the registry does; with
 * `ROLLCALL_CLOSED` where the registry closes before a `watch` or `events` was over.
 */
export async function answerCall(
  registry: Registry,
  command: string,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Answer> {
  if (!isCommand(command)) {
    throw argumentError('The command', command, `must be one of ${Object.keys(COMMANDS).join(', ')}`)
  }
  const { fields, answer }: Command = COMMANDS[command]
  checkKeys(`The command ${command}`, args, fields)
  return await answer(registry, args, signal)
}

const isCommand = (command: string): command is CommandName => Object.hasOwn(COMMANDS, command)

/** How a call failed, as its caller is told. */
export const failureOf = (error: unknown): ConsoleMessage & { readonly kind: 'failure' } =>
  error instanceof RollcallError
    ? { kind: 'failure', code: error.code, message: error.message }
    : { kind: 'failure', code: 'ROLLCALL_CONSOLE_FAILED', message: String(error) }

async function* follow(
  registry: Registry,
  { name = '', requirement, options }: Args,
  signal: AbortSignal,
): AsyncGenerator<Snapshot, undefined> {
  yield* registry.watch(name, requirement, { ...(options as WatchOptions), signal })
  throw new RollcallError('ROLLCALL_CLOSED', 'The registry has closed')
}

/** All that this process offers, or all of one name; as long as it takes, whoever asked for it. */
async function drain(registry: Registry, { name, graceMs, settleMs }: Args): Promise<readonly Instance[]> {
  const registrations = registry
    .registrations()
    .filter(({ instance }) => name === undefined || instance.name === name)
  await Promise.all(registrations.map((registration) => registration.drain({ graceMs, settleMs })))
  return registrations.map(({ instance }) => instance)
}
