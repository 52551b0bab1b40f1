import type { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import type { RegistryEvents } from '../registry/types.ts'
import { systemClock } from '../tracker/system.ts'
import type { TrackerEvents } from '../tracker/types.ts'

/** Something that happened, as JSON carries it. */
export interface LiveEvent {
  readonly event: string
  /** Ms since the epoch. */
  readonly at: number
  /** The payload, by name. */
  readonly data: Readonly<Record<string, unknown>>
}

/** How many may wait for a reader. One that is further behind has stopped reading, and memory is finite. */
const MAX_WAITING = 10_000

/** Those of a registry, whose payload has names. What each probe finds is left out: it would drown the rest. */
const OF_REGISTRY = [
  'service_up',
  'service_down',
  'service_changed',
  'service_rejected',
  'service_stale',
  'degraded',
  'restored',
] as const satisfies readonly (keyof RegistryEvents)[]

/** Those of a tracker, and the names of their payload. */
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

/**
 * What happens from now on, until the signal aborts. Throws `ROLLCALL_LIMIT_EXCEEDED` when its reader is too far behind,
 * and `ROLLCALL_CLOSED` when the registry has closed.
 */
export async function* liveEvents(
  registry: Registry,
  signal: AbortSignal,
): AsyncGenerator<LiveEvent, undefined> {
  const waiting = new Readable({ objectMode: true, signal, read: () => undefined })
  const off = listen(registry, (event, data) => {
    if (waiting.readableLength < MAX_WAITING) waiting.push({ event, at: systemClock.wallNow(), data })
    else waiting.destroy(new RollcallError('ROLLCALL_LIMIT_EXCEEDED', 'The reader is too slow'))
  })
  const closed = (): void => void waiting.push(null)
  registry.tracker.once('close', closed)
  try {
    yield* waiting as AsyncIterable<LiveEvent>
    throw new RollcallError('ROLLCALL_CLOSED', 'The registry has closed')
  } finally {
    registry.tracker.off('close', closed)
    off()
  }
}

/** Calls back with every event. Returns a function that ends it. */
function listen(registry: Registry, callback: (event: string, data: LiveEvent['data']) => void): () => void {
  // The tables above pair every event with its payload.
  const services = registry as unknown as EventEmitter
  const nodes = registry.tracker as unknown as EventEmitter
  const listeners = [
    ...OF_REGISTRY.map((event) => {
      const listener = (data: LiveEvent['data']): void => callback(event, data)
      return { emitter: services, event, listener }
    }),
    ...Object.entries(OF_TRACKER).map(([event, names]) => {
      const listener = (...payload: unknown[]): void => callback(event, nameAll(names, payload))
      return { emitter: nodes, event, listener }
    }),
  ]
  for (const { emitter, event, listener } of listeners) emitter.on(event, listener)
  return () => {
    for (const { emitter, event, listener } of listeners) emitter.off(event, listener)
  }
}

const nameAll = (names: readonly string[], payload: readonly unknown[]): LiveEvent['data'] =>
  Object.fromEntries(names.map((name, at) => [name, plain(payload[at])]))

/** JSON leaves out what an error says. */
const plain = (value: unknown): unknown =>
  value instanceof RollcallError ? { code: value.code, message: value.message } : value
