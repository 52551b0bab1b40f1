import { Range, SemVer } from 'semver'
import { isLonger } from '../core/name.ts'
import { RollcallError } from '../errors.ts'
import { parseElixir } from './elixir-requirement.ts'
import { GenerationCache } from './generation-cache.ts'
import type { PrereleasePolicy } from './types.ts'
import { parseVersion } from './version.ts'
import type { Term } from './version.ts'

/** Longest requirement, in bytes. node-semver reads no longer version either. */
const MAX_REQUIREMENT_BYTES = 256

/** Requirements remembered per pre-release policy: more than one caller writes by hand, too few to cost memory. */
const REMEMBERED_REQUIREMENTS = 1_000

/** What a lookup asks of a version, compiled. Made by `Requirements`. */
export class Requirement {
  /** As it was asked. */
  readonly text: string
  readonly #alternatives: readonly (readonly Term[])[]
  readonly #prerelease: PrereleasePolicy

  constructor(text: string, alternatives: readonly (readonly Term[])[], prerelease: PrereleasePolicy) {
    this.text = text
    this.#alternatives = alternatives
    this.#prerelease = prerelease
  }

  /** Whether a version meets it. Build metadata is ignored. Allocates nothing. */
  matches(version: SemVer): boolean {
    for (const terms of this.#alternatives) {
      if (holdAll(terms, version) && (this.#prerelease === 'include' || isInvited(terms, version)))
        return true
    }
    return false
  }
}

function holdAll(terms: readonly Term[], version: SemVer): boolean {
  for (const term of terms) {
    if (!holds(term, version)) return false
  }
  return true
}

function holds({ operator, version: bound }: Term, version: SemVer): boolean {
  const order = version.compare(bound)
  switch (operator) {
    case '=':
      return order === 0
    case '!=':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

/** npm's rule: a pre-release is meant only where a bound is a pre-release of the same major.minor.patch. */
function isInvited(terms: readonly Term[], version: SemVer): boolean {
  if (version.prerelease.length === 0) return true
  for (const { operator, version: bound } of terms) {
    // Shutting one pre-release out does not ask for its siblings.
    if (operator !== '!=' && bound.prerelease.length > 0 && bound.compareMain(version) === 0) return true
  }
  return false
}

/** What a bare version such as `2.1.0` asks for: `semver` (its major version), or a requirement as given. */
export type Compat = 'semver' | (string & {})

/**
 * Compiles requirements and remembers them.
 *
 * A text is read in this order:
 * 1. A full version alone (`2.1.0`) means what `compat` says. By default that is `~> 2.0`: any 2.x, older and newer
 *    ones. Asked for a pre-release, also that one and what follows it, even of 2.0.0 itself.
 * 2. Elixir: `== != > >= < <= ~>`, `and`, `or`. So `~>` is Elixir's, never npm's, and where both grammars read a
 *    text (`>=2.1.0`) both mean the same.
 * 3. npm: everything else. So `2.1` is 2.1.x and `2` is 2.x, as npm reads them, and `v2.1.0` or `=2.1.0` is that
 *    version only. `*` and the empty text are any version.
 *
 * Under `include` a pre-release is a version like any other: `3.0.0-rc.1` is below 3.0.0, so it is `< 3.0.0`, in
 * both grammars. Bounds that a grammar derives (`~> 2.0`, `^2.1.0`, `2.x`, `<3`) shut out pre-releases of the bound.
 * Under `exclude` npm's rule holds for both grammars.
 */
export class Requirements {
  readonly #compat: Compat
  readonly #include = new GenerationCache<string, Requirement>(REMEMBERED_REQUIREMENTS)
  readonly #exclude = new GenerationCache<string, Requirement>(REMEMBERED_REQUIREMENTS)

  /** Throws `ROLLCALL_INVALID_OPTION` for a `compat` that is no requirement, or itself a bare version. */
  constructor(compat: Compat) {
    this.#compat = compat
    if (compat === 'semver') return
    if (typeof compat !== 'string' || parseVersion(compat.trim()) !== undefined) {
      throw new RollcallError(
        'ROLLCALL_INVALID_OPTION',
        `compat is ${JSON.stringify(compat)}: must be 'semver' or a requirement that says more than a version`,
      )
    }
    try {
      this.compile(compat, 'include')
    } catch (cause) {
      throw new RollcallError(
        'ROLLCALL_INVALID_OPTION',
        `compat is no requirement: ${JSON.stringify(compat)}`,
        {
          cause,
        },
      )
    }
  }

  /** Throws `ROLLCALL_INVALID_REQUIREMENT`, or `ROLLCALL_LIMIT_EXCEEDED` above 256 bytes. */
  compile(text: string, prerelease: PrereleasePolicy): Requirement {
    const cache = prerelease === 'include' ? this.#include : this.#exclude
    const known = cache.get(text)
    if (known !== undefined) return known
    const requirement = new Requirement(text, read(checked(text), this.#compat, prerelease), prerelease)
    cache.set(text, requirement)
    return requirement
  }
}

function checked(text: unknown): string {
  if (typeof text !== 'string') {
    throw new RollcallError(
      'ROLLCALL_INVALID_REQUIREMENT',
      `A requirement must be a string, not ${typeof text}.`,
    )
  }
  if (isLonger(text, MAX_REQUIREMENT_BYTES)) {
    throw new RollcallError(
      'ROLLCALL_LIMIT_EXCEEDED',
      `A requirement must be at most ${MAX_REQUIREMENT_BYTES} bytes long: ${JSON.stringify(text.slice(0, 40))}…`,
    )
  }
  return text
}

function read(text: string, compat: Compat, prerelease: PrereleasePolicy): readonly (readonly Term[])[] {
  const bare = parseVersion(text.trim())
  if (bare !== undefined) return compat === 'semver' ? sameMajor(bare) : read(compat, compat, prerelease)
  const elixir = parseElixir(text)
  if (elixir !== undefined) return elixir
  if (text.includes('~>')) throw unreadable(text, '~> is followed by major.minor or major.minor.patch')
  try {
    return fromRange(new Range(text, { includePrerelease: prerelease === 'include' }))
  } catch (cause) {
    throw unreadable(text, 'it is neither an Elixir version requirement nor an npm range', cause)
  }
}

function sameMajor(version: SemVer): readonly (readonly Term[])[] {
  const bound = parseVersion(`${version.major + 1}.0.0-0`)
  // There is no bound above the largest major version that can be read.
  const below: Term[] = bound === undefined ? [] : [{ operator: '<', version: bound }]
  const major: Term[] = [{ operator: '>=', version: new SemVer(`${version.major}.0.0`) }, ...below]
  return version.prerelease.length === 0 ? [major] : [major, [{ operator: '>=', version }, ...below]]
}

/** node-semver has reduced a range to comparisons already; one without a version (`*`) is always true. */
function fromRange(range: Range): readonly (readonly Term[])[] {
  return range.set.map((comparators) =>
    comparators.flatMap(({ operator, semver: version }): Term[] =>
      version instanceof SemVer ? [{ operator: operator === '' ? '=' : operator, version }] : [],
    ),
  )
}

const unreadable = (text: string, rule: string, cause?: unknown): RollcallError =>
  new RollcallError(
    'ROLLCALL_INVALID_REQUIREMENT',
    `Cannot read the requirement ${JSON.stringify(text)}: ${rule}.`,
    {
      cause,
    },
  )
