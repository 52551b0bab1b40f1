import { argumentError } from '../tracker/check.ts'

/** Where a path leads. */
export interface Match<Target> {
  readonly target: Target
  /** What stands in the path for its `:word`, as it was sent, and never empty; '' in a path that has none. */
  readonly parameter: string
}

interface Pattern<Target> {
  readonly segments: readonly string[]
  readonly target: Target
}

/** Finds what a path leads to, among paths of which a segment may be a parameter (`/v1/services/:name`). */
export class Router<Target> {
  readonly #fixed = new Map<string, Match<Target>>()
  readonly #patterns: Pattern<Target>[] = []

  constructor(targets: Readonly<Record<string, Target>>) {
    for (const [path, target] of Object.entries(targets)) {
      if (path.includes(':')) this.#patterns.push({ segments: path.split('/'), target })
      else this.#fixed.set(path, { target, parameter: '' })
    }
  }

  /** Undefined: the path leads nowhere. */
  find(path: string): Match<Target> | undefined {
    const fixed = this.#fixed.get(path)
    if (fixed !== undefined) return fixed
    const segments = path.split('/')
    for (const pattern of this.#patterns) {
      const parameter = match(pattern.segments, segments)
      if (parameter !== undefined) return { target: pattern.target, parameter }
    }
    return undefined
  }
}

function match(pattern: readonly string[], segments: readonly string[]): string | undefined {
  if (pattern.length !== segments.length) return undefined
  let parameter: string | undefined
  for (const [at, expected] of pattern.entries()) {
    const segment = segments[at]
    if (expected.startsWith(':')) parameter = segment === '' ? undefined : segment
    else if (segment !== expected) return undefined
  }
  return parameter
}

/** Decodes a parameter, once. Throws `ROLLCALL_INVALID_ARGUMENT` for what is not the percent-encoding of a text. */
export function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw argumentError('The path', text, 'must be percent-encoded UTF-8')
  }
}
