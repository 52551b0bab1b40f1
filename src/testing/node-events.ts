import type { NodeId } from '../core/frame.ts'
import type { Registry } from '../registry/registry.ts'
import type { RegistryEvents } from '../registry/types.ts'
import type { TrackerEvents } from '../tracker/types.ts'

/** All that a node reports, the registry's events and the tracker's. */
export interface NodeEvents extends RegistryEvents, TrackerEvents {}

export type NodeEventName = keyof NodeEvents

/** An event as it was recorded. */
export interface RecordedEvent<Name extends NodeEventName = NodeEventName> {
  /** Virtual ms. */
  readonly atMs: number
  readonly name: Name
  readonly payload: NodeEvents[Name]
  /** The node that it is about, when it is about one. */
  readonly about: NodeId | undefined
}

const REGISTRY_EVENTS = [
  'service_up',
  'service_down',
  'service_changed',
  'service_rejected',
  'service_unhealthy',
  'service_probed',
  'service_stale',
  'degraded',
  'restored',
] as const satisfies readonly (keyof RegistryEvents)[]

const TRACKER_EVENTS = [
  'diff',
  'node_up',
  'node_down',
  'node_dead',
  'node_purged',
  'node_suspected',
  'node_flapping',
  'node_trusted',
  'isolated',
  'isolation_ended',
  'name_conflict',
  'rejected',
  'problem',
  'error',
  'close',
] as const satisfies readonly (keyof TrackerEvents)[]

/** Calls back for every event of a registry and its tracker. */
export function recordEvents(registry: Registry, record: (event: Omit<RecordedEvent, 'atMs'>) => void): void {
  const recordAs =
    <Name extends NodeEventName>(name: Name) =>
    (...payload: NodeEvents[Name]): void =>
      record({ name, payload, about: aboutWhom(payload) })
  for (const name of REGISTRY_EVENTS) registry.on(name, recordAs(name))
  for (const name of TRACKER_EVENTS) registry.tracker.on(name, recordAs(name))
}

/** Payloads name a node by `instance.node`, by `node`, by `id`, or are its id. */
function aboutWhom([subject]: readonly unknown[]): NodeId | undefined {
  if (typeof subject === 'string') return subject
  if (typeof subject !== 'object' || subject === null) return undefined
  const { instance, node, id } = subject as { instance?: { node?: unknown }; node?: unknown; id?: unknown }
  const named = instance?.node ?? node ?? id
  return typeof named === 'string' ? named : undefined
}
