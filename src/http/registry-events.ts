import type { Registry } from '../registry/registry.ts'
import type { RegistryEvents } from '../registry/types.ts'
import type { TrackerEvents } from '../tracker/types.ts'

/** Each has one object as its payload. */
const REGISTRY_EVENTS = [
  'service_up',
  'service_down',
  'service_changed',
  'service_stale',
  'degraded',
  'restored',
] as const satisfies readonly (keyof RegistryEvents)[]

/** What the values of a payload are called. */
const TRACKER_EVENTS = {
  node_up: ['node'],
  node_down: ['node', 'reason'],
  node_dead: ['node', 'reason'],
  node_purged: ['node'],
  node_suspected: ['node', 'why'],
  node_trusted: ['node'],
  node_flapping: ['node'],
  isolated: ['silent', 'known'],
  isolation_ended: ['silent', 'known'],
} as const satisfies Partial<Record<keyof TrackerEvents, readonly string[]>>

type TrackerEvent = keyof typeof TRACKER_EVENTS

/** Calls back with every event that others are told, its payload by field name. Returns a function that stops it. */
export function onEvents(registry: Registry, tell: (event: string, payload: object) => void): () => void {
  const { tracker } = registry
  const stops = [
    ...REGISTRY_EVENTS.map((event) => {
      const listener = (payload: object): void => tell(event, payload)
      registry.on(event, listener)
      return () => registry.off(event, listener)
    }),
    ...(Object.keys(TRACKER_EVENTS) as TrackerEvent[]).map((event) => {
      const fields = TRACKER_EVENTS[event]
      const listener = (...values: unknown[]): void =>
        tell(event, Object.fromEntries(fields.map((field, at) => [field, values[at]])))
      tracker.on(event, listener)
      return () => tracker.off(event, listener)
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
