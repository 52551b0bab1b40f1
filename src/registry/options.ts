import { checkOption } from '../tracker/check.ts'
import type { TrackerOptions } from '../tracker/options.ts'
import type { OutlierRules } from './balance/outlier.ts'
import type { Compat } from './requirement.ts'
import { STALE_POLICIES } from './query.ts'
import { MAX_TIMER_MS, numberFault } from './service-fault.ts'
import type { Logger, PrereleasePolicy, StalePolicy } from './types.ts'

/** How a registry behaves, besides its tracker. */
export interface RegistryBehaviour {
  /** Gets an info line when a service comes or goes, a warning when a node publishes what is none. Default: silent. */
  readonly logger?: Logger | undefined
  /** What a bare version (`2.1.0`) asks for: `semver`, its major version; or a requirement. Default `semver`. */
  readonly compat?: Compat | undefined
  /** Whether requirements that name no pre-release admit one. Default `include`. */
  readonly prerelease?: PrereleasePolicy | undefined
  /**
   * Errors in a row, as reported by `pick.report`, after which this process avoids an instance while there are others. Lower
   * avoids sooner, also by chance. Infinity: never.
   */
  readonly outlierErrors?: number | undefined
  /** For how long the first time; doubled with every further time. Then it is tried: one error avoids it anew, one success is a new start. */
  readonly outlierBackoffMs?: number | undefined
  /** For how long at most. What stays broken costs one call in so much time; what is mended may wait as long. */
  readonly maxOutlierBackoffMs?: number | undefined
  /** What lookups, selectors and watches return that would return nothing, unless they say so themselves. */
  readonly stale?: StalePolicy | undefined
  /** Where they keep the last: for how long. Longer bridges longer outages, and sends calls to the dead for as long. */
  readonly maxStaleMs?: number | undefined
}

export interface RegistryOptions extends TrackerOptions, RegistryBehaviour {}

/**
 * Those of the system that this one follows: Elixir's `Version.match?` admits pre-releases. Errors in a row are those of Envoy's
 * outlier detection (`consecutive_5xx`), back-offs those of gRPC's connections (1 s to 120 s). What was is kept for twice the
 * `downPeriodMs` of the tracker, which is what a short split takes to heal.
 */
export const REGISTRY_DEFAULTS = {
  compat: 'semver',
  prerelease: 'include',
  outlierErrors: 5,
  outlierBackoffMs: 1_000,
  maxOutlierBackoffMs: 120_000,
  stale: 'fail-closed',
  maxStaleMs: 60_000,
} as const satisfies RegistryBehaviour

export interface ResolvedRegistryBehaviour {
  readonly logger: Logger | undefined
  readonly compat: Compat
  readonly prerelease: PrereleasePolicy
  readonly outliers: OutlierRules
  readonly stale: StalePolicy
  readonly maxStaleMs: number
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/**
 * Parts what is the registry's own, checked and with every default, from what is its tracker's. Throws
 * `ROLLCALL_INVALID_OPTION`. `compat` is checked where it is compiled.
 */
export function splitRegistryOptions({
  logger,
  compat = REGISTRY_DEFAULTS.compat,
  prerelease = REGISTRY_DEFAULTS.prerelease,
  outlierErrors = REGISTRY_DEFAULTS.outlierErrors,
  outlierBackoffMs = REGISTRY_DEFAULTS.outlierBackoffMs,
  maxOutlierBackoffMs = REGISTRY_DEFAULTS.maxOutlierBackoffMs,
  stale = REGISTRY_DEFAULTS.stale,
  maxStaleMs = REGISTRY_DEFAULTS.maxStaleMs,
  ...trackerOptions
}: RegistryOptions): {
  readonly behaviour: ResolvedRegistryBehaviour
  readonly trackerOptions: TrackerOptions
} {
  checkOption(isLogger(logger), 'logger', logger, `must have the methods ${LEVELS.join(', ')}`)
  checkOption(
    ['include', 'exclude'].includes(prerelease),
    'prerelease',
    prerelease,
    "must be 'include' or 'exclude'",
  )
  checkOption(
    outlierErrors === Infinity || (Number.isSafeInteger(outlierErrors) && outlierErrors >= 1),
    'outlierErrors',
    outlierErrors,
    'must be a whole number, at least 1, or Infinity',
  )
  checkOption(
    Number.isFinite(outlierBackoffMs) && outlierBackoffMs > 0,
    'outlierBackoffMs',
    outlierBackoffMs,
    'must be a number above 0',
  )
  checkOption(
    Number.isFinite(maxOutlierBackoffMs) && maxOutlierBackoffMs >= outlierBackoffMs,
    'maxOutlierBackoffMs',
    maxOutlierBackoffMs,
    `must be a number, at least outlierBackoffMs (${outlierBackoffMs})`,
  )
  checkOption(STALE_POLICIES.includes(stale), 'stale', stale, `must be one of ${STALE_POLICIES.join(', ')}`)
  const fault = numberFault(maxStaleMs, 1, MAX_TIMER_MS)
  checkOption(fault === undefined, 'maxStaleMs', maxStaleMs, fault ?? '')
  const outliers = { outlierErrors, outlierBackoffMs, maxOutlierBackoffMs }
  return { behaviour: { logger, compat, prerelease, outliers, stale, maxStaleMs }, trackerOptions }
}

const isLogger = (logger: Logger | null | undefined): boolean =>
  logger === undefined || (logger !== null && LEVELS.every((level) => typeof logger[level] === 'function'))
