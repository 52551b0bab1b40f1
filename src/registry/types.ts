import type { NodeId } from '../core/frame.ts'
import type { JsonObject } from '../core/json.ts'
import type { RollcallErrorCode } from '../errors.ts'
import type { ProbeRun } from '../health/types.ts'
import type { DownReason } from '../tracker/types.ts'

/** States that this version knows. A later version may send others: such an instance is simply not `ready`. */
export const INSTANCE_STATES = ['starting', 'ready', 'unready', 'draining'] as const

export type InstanceState = (typeof INSTANCE_STATES)[number]

/** How often a failed call is tried again, and how long to wait before each try. */
export interface RetryOptions {
  /** Tries after the first. 0: none. */
  readonly limit: number
  readonly afterMs: number
}

/** How a caller should call a function. Travels with the service, so its owner decides. */
export interface CallOptions {
  readonly timeoutMs: number
  readonly retry: RetryOptions
}

/** What a function says of itself; the rest comes from its service. */
export type FunctionSpec = Partial<CallOptions>

/** What a process offers. `defineService` checks and freezes one; `registry.register` takes either. */
export interface ServiceSpec {
  /** Any non-empty Unicode string without control characters, at most 256 bytes. */
  readonly name: string
  /** A full semantic version: `2.1.0`, `2.1.0-rc.1`. */
  readonly version: string
  /** Where it answers: a URL, or `host:port`. */
  readonly address?: string | undefined
  /** `name/arity` → how to call it. What a function leaves out is taken from `timeoutMs` and `retry` below. */
  readonly functions?: Readonly<Record<string, FunctionSpec>> | undefined
  /** For every function that has none of its own. Default 5,000, the timeout of an OTP call. */
  readonly timeoutMs?: number | undefined
  /** For every function that has none of its own. Default: never tried again. */
  readonly retry?: RetryOptions | undefined
  /** Anything JSON carries unchanged. */
  readonly metadata?: JsonObject | undefined
  /** Default: the zone of the node. */
  readonly zone?: string | undefined
  /** Share of the load, for lookups balanced by `weighted` or `hash`. At least 0: none while others have more. Default 1. */
  readonly weight?: number | undefined
  /** Default `ready`. Only ready instances are returned, unless a lookup asks for others. */
  readonly state?: InstanceState | undefined
  /** Why it is in that state: a word or two for others, at most 64 bytes. */
  readonly reason?: string | undefined
  /** Name → state of what the instance can do. Lookups may ask for one that is `ready`. */
  readonly capabilities?: Readonly<Record<string, string>> | undefined
}

/** What may change while registered. `undefined` takes a field back to its default. */
export type ServicePatch = Omit<ServiceSpec, 'name' | 'version'>

/** A checked service with every default filled in. Deep-frozen. */
export interface ServiceDefinition {
  readonly name: string
  readonly version: string
  readonly address: string | undefined
  /** `name/arity` → how to call it, complete. */
  readonly functions: Readonly<Record<string, CallOptions>>
  /** For functions that it does not list. */
  readonly timeoutMs: number
  readonly retry: RetryOptions
  readonly metadata: JsonObject
  readonly zone: string | undefined
  readonly weight: number
  readonly state: InstanceState
  readonly reason: string | undefined
  readonly capabilities: Readonly<Record<string, string>>
}

/** One registered service on one node, as this node sees it. Deep-frozen plain data; a change makes a new one. */
export interface Instance extends Omit<ServiceDefinition, 'state'> {
  /** Unique in the cluster, and the same over all changes of the instance. */
  readonly id: string
  readonly node: NodeId
  /** The label of the node; '' until the node has said it. */
  readonly nodeName: string
  /** One of `INSTANCE_STATES`, or one of a later version. */
  readonly state: InstanceState | (string & {})
  /** When it was registered: ms since the epoch, on the wall clock of its node. */
  readonly since: number
}

/**
 * Why a lookup found nothing, in the order in which it is looked for:
 * - `noservice`: no instance of that name on any node that is up
 * - `noversion`: instances, but none in a version that matches
 * - `nofunction`: a version matches, but none of its instances offers the function asked for
 * - `noinstance`: all of that, but none on the node, or none in the state, asked for (by default: none is ready),
 *   or none with the capability
 */
export type LookupError = 'noservice' | 'noversion' | 'nofunction' | 'noinstance'

export interface LookupHit {
  readonly ok: true
  readonly service: Instance
  /** It is not found any more, and stands in for the last that was: see `StaleOptions`. */
  readonly stale: boolean
  /** All that this node knows may be old: see `registry.degraded`. */
  readonly degraded: boolean
}

export interface LookupMiss {
  readonly ok: false
  readonly error: LookupError
  /** All that this node knows may be old: see `registry.degraded`. */
  readonly degraded: boolean
}

/** The answer of `lookup` and of a selector's `next`. Frozen and shared: asking allocates nothing. */
export type LookupAnswer = LookupHit | LookupMiss

/** Whether a range that names no pre-release may be answered by one. `exclude` is npm's rule. */
export type PrereleasePolicy = 'include' | 'exclude'

/**
 * How the instances that share the highest matching version take turns:
 * - `round-robin`: everyone in turn
 * - `random`: anyone, by chance
 * - `weighted`: in proportion to the weights, evenly spread
 * - `least-pending`: of two by chance, the one with fewer calls of this process in flight (see `ServiceSelector.acquire`)
 * - `hash`: by a key that the caller gives, the same instance for the same key in every process
 * - `first`: always the one that this node has known longest, which puts all load on one instance
 */
export type Balance = 'round-robin' | 'random' | 'weighted' | 'least-pending' | 'hash' | 'first'

/** Which instances may be returned at all. */
export interface FilterOptions {
  /** Only on this node, by id or by name. */
  readonly node?: string | undefined
  /** Only instances that offer this function, as `name/arity`. */
  readonly function?: string | undefined
  /** Only in this state; `any` for all. Default `ready`. */
  readonly state?: InstanceState | 'any' | undefined
  /** Only instances whose capability of this name is `ready`. What an instance does not list, it cannot do. */
  readonly capability?: string | undefined
  /** Default: the `prerelease` of the registry. */
  readonly prerelease?: PrereleasePolicy | undefined
}

/**
 * What is returned when nothing would be:
 * - `fail-closed`: nothing
 * - `keep-last`: those that were found less than `maxStaleMs` ago and may live all the same, because their nodes fell silent
 *   or they turned unready; flagged `stale`. Never one that left, was unregistered, drains, expired, or of whose death there is proof.
 */
export type StalePolicy = 'fail-closed' | 'keep-last'

/** What is to be done when nothing is found any more. */
export interface StaleOptions {
  /** Default: that of the registry. */
  readonly stale?: StalePolicy | undefined
  /**
   * With `keep-last`: for how long each instance may be returned after it was last found. Longer bridges longer outages, and sends
   * calls to the dead for as long. Default: that of the registry.
   */
  readonly maxStaleMs?: number | undefined
}

export interface LookupOptions extends FilterOptions, StaleOptions {
  /** Prefers instances of this zone; falls back to all when there are too few. Trust and version come before the zone. */
  readonly zone?: string | undefined
  /**
   * How many instances the zone must have for the others to be left out. Default 1. With fewer, all are used, those in the
   * zone in turn with the rest: so many are needed to bear the load of the zone's callers. Without `zone` it means nothing. A number, as the smallest
   * cluster of Envoy's zone-aware routing is one, and not a share of all: what other zones start or stop changes nothing here.
   */
  readonly minZoneInstances?: number | undefined
  /** Default `round-robin`. */
  readonly balance?: Balance | undefined
  /** What `hash` goes by: of a session, a tenant, a document. A selector may be given one with every call instead. */
  readonly key?: string | undefined
}

/** As of a lookup, but nobody waits for what was. */
export interface WaitOptions extends Omit<LookupOptions, keyof StaleOptions> {
  readonly signal?: AbortSignal | undefined
  /** Default: none, it waits until found, aborted or closed. */
  readonly timeoutMs?: number | undefined
}

/** A prepared lookup. Follows every change of the registry. */
export interface ServiceSelector {
  /**
   * The same answers as `lookup`, faster. Nothing is allocated.
   *
   * `key`: what the balance `hash` goes by, by default the `key` it was prepared with. Throws `ROLLCALL_INVALID_ARGUMENT`
   * where it is missing, and where another balance is given one.
   */
  next(key?: string): LookupAnswer
  /**
   * As `next`, for a call that counts as in flight until it is released: `using pick = selector.acquire()`. Whatever the
   * balance, all selectors of the registry know of it. Throws as `next`.
   */
  acquire(key?: string): ServicePick
}

/** How a call went, as far as its instance is to blame: a request that is wrong in itself is no error of the instance. */
export type CallOutcome = 'ok' | 'error'

/** An instance that is being called. */
export interface ServicePick extends Disposable {
  readonly answer: LookupAnswer
  /** Undefined when there is none; then `answer` says why, and there is nothing to release. */
  readonly service: Instance | undefined
  /**
   * Says how the call went, and so that it is over: releases. After `outlierErrors` errors in a row this process
   * avoids the instance for a while. Once released, nothing counts any more. Throws `ROLLCALL_INVALID_ARGUMENT` for what is no outcome.
   */
  report(outcome: CallOutcome): void
  /** The call is over, and says nothing of the instance. A second time is nothing. Also done at the end of a `using` block. */
  release(): void
}

/** Why an instance is or is not returned. All but `returned` and `stale` say what keeps it out. */
export type ExplainReason =
  /** One of those that lookups take turns over. */
  | 'returned'
  /** It would not be returned, but nothing else is, and it stands in: see `StaleOptions`. */
  | 'stale'
  /** Its version does not match. */
  | 'version'
  /** It does not offer the function. */
  | 'function'
  /** It is on another node. */
  | 'node'
  /** It is in another state. */
  | 'state'
  /** It does not have the capability, or has it in another state than `ready`. */
  | 'capability'
  /** It matches, and an instance of a higher version does too. */
  | 'older'
  /** It matches, but its weight is 0, others have more, and weights count for the balance. */
  | 'weight'
  /** It matches, but calls of this process to it failed, so that it is avoided for a while, and there are others. */
  | 'outlier'
  /** It matches, and enough instances in the preferred zone do too. */
  | 'zone'
  /** It matches, but its node does not answer, and there are others. */
  | 'suspect'
  /** It matches, but its node keeps going down, and there are others. */
  | 'flapping'
  /** Its node is not up here: hidden, or not met yet. */
  | 'down'
  /** Its node published something that is not a service. */
  | 'invalid'

export interface Explanation {
  /** Undefined for `invalid`: there is no instance to show. */
  readonly instance: Instance | undefined
  readonly node: NodeId
  readonly returned: boolean
  readonly reason: ExplainReason
  /** The reason in words. */
  readonly text: string
}

/** What an owner may say of an instance that it takes away; of another word, and in a snapshot, it is `unregistered`. */
export const OWN_REASONS = ['expired', 'drained', 'unhealthy'] as const

/**
 * Why an instance is gone. `expired`: its lease was not renewed. `drained`: it had been draining, and was done.
 * `unhealthy`: its liveness or startup probe failed. `invalid`: its node replaced it by something that is not a service.
 */
export type ServiceDownReason = 'unregistered' | (typeof OWN_REASONS)[number] | 'invalid' | DownReason

/** Payload by event name. Per instance `up`, then any `changed`, then `down`, each once. */
export interface RegistryEvents {
  /** An instance can be seen, in whatever state. */
  service_up: [event: { readonly instance: Instance }]
  service_down: [event: { readonly instance: Instance; readonly reason: ServiceDownReason }]
  service_changed: [event: { readonly instance: Instance; readonly previous: Instance }]
  /** A node published something that is not a service. Counted in `registry.rejected`. */
  service_rejected: [event: RejectedService]
  /** An instance of this process has ended, because a probe found it beyond help. Restarting it is its supervisor's business. */
  service_unhealthy: [event: { readonly instance: Instance; readonly run: ProbeRun }]
  /** A probe of an instance of this process has run. */
  service_probed: [event: { readonly instance: Instance; readonly run: ProbeRun }]
  /**
   * A lookup or a watch of this service began to be answered by what was (`keep-last`). Once, until an instance of it comes, turns
   * ready, or goes for good.
   */
  service_stale: [event: { readonly name: string }]
  /** From now on all that this node knows may be old, for this reason or this one more. */
  degraded: [event: { readonly reason: DegradedReason }]
  /** That reason is over. With `frozen` it comes before the events of what changed meanwhile. */
  restored: [event: { readonly reason: DegradedReason }]
}

/** `isolated`: this node has lost sight of more than half of the nodes that it knew, at once. `frozen`: see `registry.freeze`. */
export type DegradedReason = 'isolated' | 'frozen'

export interface RejectedService {
  readonly node: NodeId
  readonly name: string
  readonly code: RollcallErrorCode
  readonly message: string
}

/** Where log lines go. `console` and a pino logger are ones. */
export interface Logger {
  debug(message: string): void
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}
