import type { NodeId } from '../core/frame.ts'
import { nameFault } from '../core/name.ts'
import type { Doubt } from '../tracker/types.ts'
import { argumentError, checkKeys } from './check.ts'
import { isCapable, offers, stateOf } from './instance.ts'
import type { ServiceEntry } from './instance.ts'
import type { Requirement, Requirements } from './requirement.ts'
import { functionNameFault, MAX_NAME_BYTES, MAX_TIMER_MS, numberFault, stateFault } from './service-fault.ts'
import type { Fault } from './service-fault.ts'
import type { Balance, LookupOptions, PrereleasePolicy, StalePolicy } from './types.ts'
import type { SemVer } from './version.ts'

/** A lookup, checked and with every default filled in. */
export interface Query {
  readonly name: string
  /** As asked. Undefined: any version. */
  readonly text: string | undefined
  readonly requirement: Requirement
  readonly node: string | undefined
  readonly zone: string | undefined
  readonly minZoneInstances: number
  readonly function: string | undefined
  readonly state: string
  readonly capability: string | undefined
  readonly prerelease: PrereleasePolicy
  readonly balance: Balance
  /** What a selector is asked by that is given no other. */
  readonly key: string | undefined
  readonly stale: StalePolicy
  /** 0 unless the last is kept. */
  readonly maxStaleMs: number
}

/** What the registry decides for all its lookups. */
export interface QueryContext {
  readonly requirements: Requirements
  readonly prerelease: PrereleasePolicy
  readonly stale: StalePolicy
  readonly maxStaleMs: number
}

export const FILTER_FIELDS = ['node', 'function', 'state', 'capability', 'prerelease'] as const
export const STALE_FIELDS = ['stale', 'maxStaleMs'] as const
/** Those of a lookup that does not return what was. */
export const PRESENT_FIELDS = [...FILTER_FIELDS, 'zone', 'minZoneInstances', 'balance', 'key'] as const
export const LOOKUP_FIELDS = [...PRESENT_FIELDS, ...STALE_FIELDS] as const

const POLICIES: readonly PrereleasePolicy[] = ['include', 'exclude']
const BALANCES: readonly Balance[] = ['round-robin', 'random', 'weighted', 'least-pending', 'hash', 'first']
export const STALE_POLICIES: readonly StalePolicy[] = ['fail-closed', 'keep-last']
const NO_OPTIONS: LookupOptions = Object.freeze({})

/** What a lookup that says nothing asks for. */
export const LOOKUP_DEFAULTS = {
  state: 'ready',
  balance: 'round-robin',
  minZoneInstances: 1,
} as const satisfies LookupOptions

/** Any version at all, which in npm's words is this. */
const ANY_VERSION = '*'

/**
 * Throws `ROLLCALL_INVALID_ARGUMENT`, `ROLLCALL_INVALID_REQUIREMENT` or `ROLLCALL_LIMIT_EXCEEDED`, naming the
 * value and the rule.
 */
export function readQuery(
  context: QueryContext,
  name: string,
  text: string | undefined,
  options: LookupOptions = NO_OPTIONS,
): Query {
  checkName('The name of the service', name)
  checkKeys('The options', options, LOOKUP_FIELDS)
  const {
    node,
    zone,
    minZoneInstances = LOOKUP_DEFAULTS.minZoneInstances,
    function: fn,
    state = LOOKUP_DEFAULTS.state,
    capability,
    prerelease = context.prerelease,
    balance = LOOKUP_DEFAULTS.balance,
    key,
    stale = context.stale,
    maxStaleMs,
  } = options
  const faults = {
    node: node === undefined ? undefined : nameFault(node, MAX_NAME_BYTES),
    zone: zone === undefined ? undefined : nameFault(zone, MAX_NAME_BYTES),
    minZoneInstances: minZoneFault(minZoneInstances),
    function: fn === undefined ? undefined : functionNameFault(fn),
    state: state === 'any' ? undefined : stateFault(state),
    capability: capability === undefined ? undefined : nameFault(capability, MAX_NAME_BYTES),
    prerelease: POLICIES.includes(prerelease) ? undefined : `must be one of ${POLICIES.join(', ')}`,
    balance: BALANCES.includes(balance) ? undefined : `must be one of ${BALANCES.join(', ')}`,
    key: key === undefined ? undefined : keyFault(balance, key),
    stale: STALE_POLICIES.includes(stale) ? undefined : `must be one of ${STALE_POLICIES.join(', ')}`,
    maxStaleMs: maxStaleMs === undefined ? undefined : maxStaleFault(stale, maxStaleMs),
  }
  for (const option of LOOKUP_FIELDS) {
    const fault = faults[option]
    if (fault !== undefined) throw argumentError(`The option ${option}`, options[option], fault)
  }
  const requirement = context.requirements.compile(text === undefined ? ANY_VERSION : text, prerelease)
  return {
    name,
    text,
    requirement,
    node,
    zone,
    minZoneInstances,
    function: fn,
    state,
    capability,
    prerelease,
    balance,
    key,
    stale,
    maxStaleMs: stale === 'keep-last' ? (maxStaleMs ?? context.maxStaleMs) : 0,
  }
}

/** Why a selector cannot be asked by a key, or by none. Costs little where there is nothing to say. */
export function keyFault(balance: Balance, key: unknown): Fault {
  if (balance !== 'hash') return key === undefined ? undefined : "must be given with the balance 'hash' only"
  return typeof key === 'string' && key !== '' ? undefined : "must be a text, for the balance 'hash' to go by"
}

const minZoneFault = (min: number): Fault =>
  Number.isSafeInteger(min) && min >= 1 ? undefined : 'must be a whole number, at least 1'

const maxStaleFault = (stale: StalePolicy, ms: number): Fault =>
  stale === 'keep-last'
    ? numberFault(ms, 1, MAX_TIMER_MS)
    : "must be given with the stale policy 'keep-last' only"

/** Throws `ROLLCALL_INVALID_ARGUMENT` for what can be no name. `what` begins the message. */
export function checkName(what: string, name: string): void {
  const fault = nameFault(name, MAX_NAME_BYTES)
  if (fault !== undefined) throw argumentError(what, name, fault)
}

/** How far an instance gets through a query: what stops it, in the order of `LookupError`, or `eligible`. */
export type Verdict = 'version' | 'function' | 'node' | 'state' | 'capability' | 'eligible'

/** What a registry knows of nodes. */
export interface NodeView {
  /** The label of a node; '' until it has said it. */
  readonly nameOf: (node: NodeId) => string
  /** Why instances elsewhere are preferred. */
  readonly doubtOf: (node: NodeId) => Doubt | undefined
  /** Whether all that is known here may be old. */
  readonly isDegraded: () => boolean
}

/** Pure, and the only place that says who may be returned. Zone and doubt are preferences, so they are not asked here. */
export function judge(query: Query, entry: ServiceEntry, version: SemVer, nodes: NodeView): Verdict {
  if (!query.requirement.matches(version)) return 'version'
  if (query.function !== undefined && !offers(entry.meta, query.function)) return 'function'
  if (query.node !== undefined && query.node !== entry.node && query.node !== nodes.nameOf(entry.node))
    return 'node'
  if (query.state !== 'any' && query.state !== stateOf(entry.meta)) return 'state'
  if (query.capability !== undefined && !isCapable(entry.meta, query.capability)) return 'capability'
  return 'eligible'
}
