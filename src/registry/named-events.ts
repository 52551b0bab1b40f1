import { RollcallError } from '../errors.ts'
import type { TrackerEvents } from '../tracker/types.ts'
import type { Registry } from './registry.ts'
import type { RegistryEvents } from './types.ts'

/** Those of a registry have one object as their payload, whose parts have names. */
const OF_REGISTRY = [
  'service_up',
  'service_down',
  'service_changed',
  'service_rejected',
  'service_stale',
  'degraded',
  'restored',
] as const satisfies readonly (keyof RegistryEvents)[]

/** Those of its tracker, and what the parts of their payloads are called. */
const OF_TRACKER = {
  node_up: ['node'],
  node_down: ['node', 'reason'],
  node_dead: ['node', 'reason'],
  node_purged: ['node'],
  node_suspected: ['node', 'why'],
  node_flapping: ['node'],
  node_trusted: ['node'],
  isolated: ['silent', 'known'],
  isolation_ended: ['silent', 'known'],
  name_conflict: ['older', 'newer'],
  rejected: ['from', 'code', 'message'],
  problem: ['where', 'error'],
} as const satisfies { readonly [Event in keyof TrackerEvents]?: readonly string[] }

export type NamedEvent = (typeof OF_REGISTRY)[number] | keyof typeof OF_TRACKER

/** All that a registry and its tracker tell of others and of trouble, for those who pass it on. */
export const NAMED_EVENTS: readonly NamedEvent[] = [
  ...OF_REGISTRY,
  ...(Object.keys(OF_TRACKER) as (keyof typeof OF_TRACKER)[]),
]

type Payload = Readonly<Record<string, unknown>>
type Listener = (...parts: unknown[]) => void

/** An emitter, whatever it emits. */
interface Source {
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}

/** Calls back with each of these events, its payload by name and as JSON carries it. Returns a function that ends it. */
export function onNamedEvents(
  registry: Registry,
  events: readonly NamedEvent[],
  tell: (event: NamedEvent, payload: Payload) => void,
): () => void {
  const listeners = events.map((event) => {
    const names = Object.hasOwn(OF_TRACKER, event) ? OF_TRACKER[event as keyof typeof OF_TRACKER] : undefined
    // The tables above pair every event with its payload, which the type system cannot follow.
    const source = (names === undefined ? registry : registry.tracker) as unknown as Source
    const listener: Listener = (...parts) =>
      tell(event, names === undefined ? (parts[0] as Payload) : nameParts(names, parts))
    source.on(event, listener)
    return { source, event, listener }
  })
  return () => {
    for (const { source, event, listener } of listeners) source.off(event, listener)
  }
}

const nameParts = (names: readonly string[], parts: readonly unknown[]): Payload =>
  Object.fromEntries(names.map((name, at) => [name, plain(parts[at])]))

/** JSON leaves out what an error says. */
const plain = (value: unknown): unknown =>
  value instanceof RollcallError ? { code: value.code, message: value.message } : value
