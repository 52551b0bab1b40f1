import { copyJson } from '../core/copy-json.ts'
import type { JsonObject } from '../core/json.ts'
import { nameFault } from '../core/name.ts'
import type { RollcallErrorCode } from '../errors.ts'
import { argumentError, checkKeys } from './check.ts'
import { FIELD_FAULTS, functionNameFault, MAX_NAME_BYTES, stateFault } from './service-fault.ts'
import type { Fault } from './service-fault.ts'
import type {
  CallOptions,
  FunctionSpec,
  Instance,
  InstanceState,
  RetryOptions,
  ServiceDefinition,
  ServicePatch,
  ServiceSpec,
} from './types.ts'

/** What a service that says nothing gets. The timeout is that of an OTP call; a retry is only safe when meant. */
export const SERVICE_DEFAULTS = {
  timeoutMs: 5_000,
  retry: Object.freeze({ limit: 0, afterMs: 0 }) as RetryOptions,
  weight: 1,
  state: 'ready' as InstanceState,
} as const

/** What may change of a service. */
export const PATCH_FIELDS = [
  'address',
  'functions',
  'timeoutMs',
  'retry',
  'metadata',
  'zone',
  'weight',
  'state',
  'reason',
  'capabilities',
] as const satisfies readonly (keyof ServicePatch)[]

const SPEC_FIELDS = ['name', 'version', ...PATCH_FIELDS] as const

const CODES: Partial<Record<(typeof SPEC_FIELDS)[number], RollcallErrorCode>> = {
  version: 'ROLLCALL_INVALID_VERSION',
  address: 'ROLLCALL_INVALID_ADDRESS',
}

/** The tracker's own limit of nesting, less the level that a service adds. The size is checked when it registers. */
const METADATA_LIMITS = { maxBytes: Infinity, maxDepth: 63 } as const

/** What a definition was made of: a patch must know which call options a function had of its own. */
const sources = new WeakMap<ServiceDefinition, ServiceSpec>()

/**
 * Checks and freezes a service, and gives every function the call options of the service that it has none of itself.
 *
 * Throws `ROLLCALL_INVALID_VERSION`, `ROLLCALL_INVALID_ADDRESS`, `ROLLCALL_INVALID_META` (metadata that is not JSON),
 * else `ROLLCALL_INVALID_ARGUMENT`.
 */
export function defineService(spec: ServiceSpec | ServiceDefinition): ServiceDefinition {
  if (isDefinition(spec)) return spec
  checkKeys('The service', spec, SPEC_FIELDS)
  checkFields(spec)

  const { name, version, address, zone, reason } = spec
  const {
    timeoutMs = SERVICE_DEFAULTS.timeoutMs,
    weight = SERVICE_DEFAULTS.weight,
    state = SERVICE_DEFAULTS.state,
  } = spec
  const retry = spec.retry === undefined ? SERVICE_DEFAULTS.retry : copyRetry(spec.retry)
  const functions = mapValues(spec.functions ?? {}, (own) => complete(own, timeoutMs, retry))
  const capabilities = mapValues(spec.capabilities ?? {}, (capability) => capability)
  const metadata = copyJson(spec.metadata ?? {}, METADATA_LIMITS) as JsonObject
  const definition = Object.freeze<ServiceDefinition>({
    name,
    version,
    address,
    functions,
    timeoutMs,
    retry,
    metadata,
    zone,
    weight,
    state,
    reason,
    capabilities,
  })
  sources.set(definition, {
    ...definition,
    functions: mapValues(spec.functions ?? {}, (own) => ({
      ...own,
      ...(own.retry && { retry: copyRetry(own.retry) }),
    })),
  })
  return definition
}

/**
 * A definition with some fields changed. Functions without call options of their own follow those of the service, and a
 * reason does not outlive the state that it was given for.
 */
export function patchService(definition: ServiceDefinition, patch: ServicePatch): ServiceDefinition {
  checkKeys('The patch', patch, PATCH_FIELDS)
  const source = sources.get(definition) ?? definition
  const reason = patch.state === undefined || patch.state === source.state ? source.reason : undefined
  return defineService({ ...source, reason, ...patch })
}

/** What other nodes are told: what is not as by default. `since` in ms since the epoch. */
export function toMeta(
  definition: Omit<ServiceDefinition, 'state'> & { readonly state: string },
  zone: string | undefined,
  since: number,
): JsonObject {
  const { version, address, functions, timeoutMs, retry, metadata, weight, state, reason, capabilities } =
    definition
  const given = {
    version,
    address,
    functions: isEmpty(functions) ? undefined : functions,
    timeoutMs: timeoutMs === SERVICE_DEFAULTS.timeoutMs ? undefined : timeoutMs,
    retry: retry === SERVICE_DEFAULTS.retry ? undefined : retry,
    metadata: isEmpty(metadata) ? undefined : metadata,
    zone: definition.zone ?? zone,
    weight: weight === SERVICE_DEFAULTS.weight ? undefined : weight,
    state: state === SERVICE_DEFAULTS.state ? undefined : state,
    reason,
    capabilities: isEmpty(capabilities) ? undefined : capabilities,
    since,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JsonObject
}

/** The call options of a function that has `own` ones. Frozen. */
export function complete(own: FunctionSpec, timeoutMs: number, retry: RetryOptions): CallOptions {
  return Object.freeze({
    timeoutMs: own.timeoutMs ?? timeoutMs,
    retry: own.retry === undefined ? retry : copyRetry(own.retry),
  })
}

/** How to call an instance. Throws `ROLLCALL_INVALID_ARGUMENT` for what is no name of a function. */
export function callOptionsOf(instance: Instance, fn: string | undefined): CallOptions {
  const { functions, timeoutMs, retry } = instance
  if (fn === undefined) return { timeoutMs, retry }
  const fault = functionNameFault(fn)
  if (fault !== undefined) throw argumentError('The function', fn, fault)
  return Object.hasOwn(functions, fn) ? (functions[fn] ?? instance) : { timeoutMs, retry }
}

/** A frozen record of changed values. `Object.fromEntries` keeps `__proto__` an ordinary key. */
export const mapValues = <A, B>(
  record: Readonly<Record<string, A>>,
  map: (value: A) => B,
): Readonly<Record<string, B>> =>
  Object.freeze(Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)])))

const copyRetry = ({ limit, afterMs }: RetryOptions): RetryOptions => Object.freeze({ limit, afterMs })

const isEmpty = (record: object): boolean => Object.keys(record).length === 0

const isDefinition = (spec: ServiceSpec | ServiceDefinition): spec is ServiceDefinition =>
  sources.has(spec as ServiceDefinition)

function checkFields(spec: ServiceSpec): void {
  const name: Fault = nameFault(spec.name, MAX_NAME_BYTES)
  if (name !== undefined) throw argumentError('The name of the service', spec.name, name)
  const about = (field: string): string => `${field} of the service ${JSON.stringify(spec.name)}`
  const version = FIELD_FAULTS.version(spec.version)
  if (version !== undefined) throw argumentError(about('version'), spec.version, version, CODES.version)
  for (const field of PATCH_FIELDS) {
    const value = spec[field]
    if (value === undefined) continue
    const fault = field === 'state' ? stateFault(value) : FIELD_FAULTS[field](value)
    if (fault !== undefined) throw argumentError(about(field), value, fault, CODES[field])
  }
  if (spec.retry !== undefined) checkKeys(about('retry'), spec.retry, ['limit', 'afterMs'])
  for (const [fn, own] of Object.entries(spec.functions ?? {})) {
    checkKeys(about(`functions[${JSON.stringify(fn)}]`), own, ['timeoutMs', 'retry'])
    if (own.retry !== undefined)
      checkKeys(about(`functions[${JSON.stringify(fn)}].retry`), own.retry, ['limit', 'afterMs'])
  }
}
