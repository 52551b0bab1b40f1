import { parse } from 'semver'
import type { SemVer } from 'semver'
import { GenerationCache } from './generation-cache.ts'

export type { SemVer } from 'semver'

/** One comparison that a version passes or not. */
export interface Term {
  readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>='
  readonly version: SemVer
}

/** Enough for every version in use at once in a large fleet; each costs about 300 B. */
const REMEMBERED = 1_000

const remembered = new GenerationCache<string, SemVer>(REMEMBERED)

// `semver` also reads `v1.2.3`, `= 1.2.3` and spaces around; a version that travels has one spelling.
const BARE = /^\d\S*$/

/** Reads a full semantic version. Undefined when it is not one. Remembered, so do not change the result. */
export function parseVersion(text: string): SemVer | undefined {
  const known = remembered.get(text)
  if (known !== undefined) return known
  const version = BARE.test(text) ? (parse(text) ?? undefined) : undefined
  if (version !== undefined) remembered.set(text, version)
  return version
}

/** Orders two legal versions by precedence, the lower first. Build metadata is ignored. */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  return versionOf(a).compare(versionOf(b))
}

/** A version that was checked when it came in. */
export function versionOf(text: string): SemVer {
  const version = parseVersion(text)
  if (version === undefined) throw new TypeError(`not a version: ${text}`)
  return version
}
