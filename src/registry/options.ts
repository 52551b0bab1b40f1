import { checkOption } from '../tracker/check.ts'
import type { TrackerOptions } from '../tracker/options.ts'
import type { Compat } from './requirement.ts'
import type { Logger, PrereleasePolicy } from './types.ts'

/** How a registry behaves, besides its tracker. */
export interface RegistryBehaviour {
  /** Gets an info line when a service comes or goes, a warning when a node publishes what is none. Default: silent. */
  readonly logger?: Logger | undefined
  /** What a bare version (`2.1.0`) asks for: `semver`, its major version; or a requirement. Default `semver`. */
  readonly compat?: Compat | undefined
  /** Whether requirements that name no pre-release admit one. Default `include`. */
  readonly prerelease?: PrereleasePolicy | undefined
}

export interface RegistryOptions extends TrackerOptions, RegistryBehaviour {}

/** Those of the system that this one follows: Elixir's `Version.match?` admits pre-releases. */
export const REGISTRY_DEFAULTS = {
  compat: 'semver',
  prerelease: 'include',
} as const satisfies RegistryBehaviour

export interface ResolvedRegistryBehaviour {
  readonly logger: Logger | undefined
  readonly compat: Compat
  readonly prerelease: PrereleasePolicy
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Throws `ROLLCALL_INVALID_OPTION`. `compat` is checked where it is compiled. */
export function resolveRegistryBehaviour({
  logger,
  compat = REGISTRY_DEFAULTS.compat,
  prerelease = REGISTRY_DEFAULTS.prerelease,
}: RegistryBehaviour): ResolvedRegistryBehaviour {
  checkOption(isLogger(logger), 'logger', logger, `must have the methods ${LEVELS.join(', ')}`)
  checkOption(
    ['include', 'exclude'].includes(prerelease),
    'prerelease',
    prerelease,
    "must be 'include' or 'exclude'",
  )
  return { logger, compat, prerelease }
}

const isLogger = (logger: Logger | null | undefined): boolean =>
  logger === undefined || (logger !== null && LEVELS.every((level) => typeof logger[level] === 'function'))
