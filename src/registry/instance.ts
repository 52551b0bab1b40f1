import type { Entry } from '../core/frame.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { print } from '../tracker/check.ts'
import { isRecord } from './check.ts'
import { complete, mapValues, SERVICE_DEFAULTS } from './service.ts'
import { FIELD_FAULTS } from './service-fault.ts'
import type { Fault } from './service-fault.ts'
import type { CallOptions, Instance } from './types.ts'

/** The topic of all services. The key of an entry is the name of its service. */
export const SERVICE_TOPIC = '$service'

type FunctionMeta = { readonly timeoutMs?: number; readonly retry?: RetryMeta }
type RetryMeta = { readonly limit: number; readonly afterMs: number }

/** A checked meta. Fields and states of later versions may stand beside. */
export type ServiceMeta = {
  readonly version: string
  readonly address?: string
  readonly functions?: { readonly [name: string]: FunctionMeta }
  readonly timeoutMs?: number
  readonly retry?: RetryMeta
  readonly metadata?: JsonObject
  readonly zone?: string
  readonly weight?: number
  readonly state?: string
  readonly reason?: string
  readonly capabilities?: { readonly [name: string]: string }
  readonly since?: number
}

export type ServiceEntry = Entry<ServiceMeta>

/** The part of an entry that makes an instance. */
export type InstanceSource = Omit<ServiceEntry, 'topic' | 'version'>

const FAULTS: ReadonlyMap<string, (value: unknown) => Fault> = new Map(Object.entries(FIELD_FAULTS))

/** The entry as a service, or why it is not one. Fields and states that are not known here are let pass. */
export function readEntry(entry: Entry<Json>): ServiceEntry | string {
  const fault = entryFault(entry.meta)
  // Checked just now, which the type system cannot follow from field to field.
  return fault ?? (entry as ServiceEntry)
}

function entryFault(meta: Json): string | undefined {
  if (!isRecord(meta)) return `its meta is ${print(meta)}: must be an object`
  const { version } = meta
  if (version === undefined) return `version is undefined: ${String(FIELD_FAULTS.version(version))}`
  // By what it says, which is little, not by what it could say: a newcomer checks 100,000 of these at once.
  for (const field in meta) {
    const fault = FAULTS.get(field)?.(meta[field])
    if (fault !== undefined) return `${field} is ${print(meta[field])}: ${fault}`
  }
  return undefined
}

/** What readers see of an entry. Costs a microsecond and some 200 B, so it is made when first asked for. */
export function toInstance(entry: InstanceSource, nodeName: string): Instance {
  const { node, key, meta } = entry
  const { timeoutMs = SERVICE_DEFAULTS.timeoutMs, retry = SERVICE_DEFAULTS.retry } = meta
  return Object.freeze<Instance>({
    id: instanceId(entry),
    name: key,
    version: meta.version,
    node,
    nodeName,
    address: meta.address,
    state: stateOf(meta),
    reason: meta.reason,
    zone: meta.zone,
    weight: meta.weight ?? SERVICE_DEFAULTS.weight,
    since: meta.since ?? 0,
    functions: mapValues<FunctionMeta, CallOptions>(meta.functions ?? NOTHING, (own) =>
      complete(own, timeoutMs, retry),
    ),
    timeoutMs,
    retry,
    capabilities: meta.capabilities ?? NOTHING,
    metadata: meta.metadata ?? NOTHING,
  })
}

/** Unique in the cluster, and the same over all changes of an instance. */
export const instanceId = ({
  node,
  incarnation,
  ref,
}: Pick<ServiceEntry, 'node' | 'incarnation' | 'ref'>): string => `${node}/${incarnation}/${ref}`

export const stateOf = (meta: ServiceMeta): string => meta.state ?? SERVICE_DEFAULTS.state

export const offers = (meta: ServiceMeta, fn: string): boolean =>
  meta.functions !== undefined && Object.hasOwn(meta.functions, fn)

/** What an instance does not list, it cannot do. */
export const isCapable = ({ capabilities }: ServiceMeta, capability: string): boolean =>
  capabilities?.[capability] === 'ready'

const NOTHING = Object.freeze({})
