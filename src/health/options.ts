import { argumentError, checkKeys, isRecord, print } from '../tracker/check.ts'
import type { Check, HealthOptions, ProbeOptions } from './types.ts'

/** A probe with every default filled in. */
export type ResolvedProbe = { readonly [Option in keyof ProbeOptions]-?: NonNullable<ProbeOptions[Option]> }

/** Probes that are absent are undefined. */
export interface ResolvedHealthOptions {
  readonly startup: ResolvedProbe | undefined
  readonly liveness: ResolvedProbe | undefined
  readonly readiness: ResolvedProbe | undefined
  readonly capabilities: ReadonlyMap<string, ResolvedProbe>
  readonly reentryMs: number
}

/** Those of Kubernetes (10 s, 1 s, 1, 3, 0), whose probes these resemble, with a jitter that keeps replicas apart. */
export const PROBE_DEFAULTS = {
  periodMs: 10_000,
  timeoutMs: 1_000,
  rise: 1,
  fall: 3,
  initialDelayMs: 0,
  jitter: 0.1,
} as const satisfies Omit<ProbeOptions, 'check'>

/** A slow start has five minutes, as in the example of Kubernetes. */
export const STARTUP_DEFAULTS = { ...PROBE_DEFAULTS, fall: 30 } as const

/** The jitter of a default period: more would be seen as an outage of its own. */
export const HEALTH_DEFAULTS = { reentryMs: 1_000 } as const satisfies HealthOptions

/** Above it `setTimeout` fires at once. */
const MAX_TIMER_MS = 2_147_483_647

/** What each number of a probe must be. */
const PROBE_RULES = {
  periodMs: { holds: isPeriod, rule: `must be a number above 0 and at most ${MAX_TIMER_MS}` },
  timeoutMs: { holds: isPeriod, rule: `must be a number above 0 and at most ${MAX_TIMER_MS}` },
  rise: { holds: isCount, rule: 'must be a whole number of at least 1' },
  fall: { holds: isCount, rule: 'must be a whole number of at least 1' },
  initialDelayMs: { holds: isDelay, rule: `must be a number from 0 to ${MAX_TIMER_MS}` },
  jitter: { holds: isShare, rule: 'must be a number of at least 0 and below 1' },
} as const satisfies Record<keyof typeof PROBE_DEFAULTS, { holds(value: unknown): boolean; rule: string }>

const PROBE_NUMBERS = Object.keys(PROBE_RULES) as (keyof typeof PROBE_RULES)[]
const PROBE_FIELDS = ['check', ...PROBE_NUMBERS]
const HEALTH_FIELDS = ['startup', 'liveness', 'readiness', 'capabilities', 'reentryMs']

/** Fills in the defaults. Throws `ROLLCALL_INVALID_ARGUMENT` naming the option, the value and the rule. */
export function resolveHealthOptions(options: HealthOptions): ResolvedHealthOptions {
  checkKeys('The health', options, HEALTH_FIELDS)
  const { startup, liveness, readiness, capabilities = {}, reentryMs = HEALTH_DEFAULTS.reentryMs } = options
  if (!isDelay(reentryMs)) {
    throw argumentError('The option reentryMs', reentryMs, `must be a number from 0 to ${MAX_TIMER_MS}`)
  }
  if (!isRecord(capabilities)) {
    throw argumentError('The option capabilities', capabilities, 'must be an object of names and probes')
  }
  return {
    startup: startup === undefined ? undefined : resolveProbe('startup', startup, STARTUP_DEFAULTS),
    liveness: liveness === undefined ? undefined : resolveProbe('liveness', liveness),
    readiness: readiness === undefined ? undefined : resolveProbe('readiness', readiness),
    capabilities: new Map(
      Object.entries(capabilities).map(([name, probe]) => [
        name,
        resolveProbe(`capabilities.${print(name)}`, probe),
      ]),
    ),
    reentryMs,
  }
}

function resolveProbe(
  name: string,
  probe: ProbeOptions | Check,
  defaults: Omit<ResolvedProbe, 'check'> = PROBE_DEFAULTS,
): ResolvedProbe {
  if (typeof probe === 'function') return { ...defaults, check: probe }
  checkKeys(`The option ${name}`, probe, PROBE_FIELDS)
  const { check } = probe
  if (typeof check !== 'function') {
    throw argumentError(`The option ${name}.check`, check, 'must be a function')
  }
  const numbers = { ...defaults }
  for (const option of PROBE_NUMBERS) {
    const value = probe[option]
    if (value === undefined) continue
    const { holds, rule } = PROBE_RULES[option]
    if (!holds(value)) throw argumentError(`The option ${name}.${option}`, value, rule)
    numbers[option] = value
  }
  return { ...numbers, check }
}

function isPeriod(value: unknown): boolean {
  return typeof value === 'number' && value > 0 && value <= MAX_TIMER_MS
}

function isDelay(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= MAX_TIMER_MS
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1
}

function isShare(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < 1
}
