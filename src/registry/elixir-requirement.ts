import { parseVersion } from './version.ts'
import type { Term } from './version.ts'

// In the order of Elixir's own lexer: the longer operator first, `and` and `or` only between spaces, any other
// space separates. What is left is an operand, right or wrong.
const TOKENS = / and | or | |[<>]=?|~>|[=!]=|(?:(?![<>]|~>|[=!]=)[^ ])+/g
const OPERATORS = ['==', '!=', '>', '>=', '<', '<=', '~>'] as const
const OPERAND_OF_TILDE = /^(\d+)\.(\d+)(\.\d+)?([-+].*)?$/

type Operator = (typeof OPERATORS)[number]

const isOperator = (token: string): token is Operator => (OPERATORS as readonly string[]).includes(token)

/**
 * Reads a requirement as Elixir's `Version` does; undefined when it is not one. Alternatives of terms that must all
 * hold.
 *
 * An operand without an operator means `==`. As in Elixir, `and` and `or` have no precedence over each other and
 * group from the right: `a and b or c` is `a and (b or c)`.
 */
export function parseElixir(text: string): readonly (readonly Term[])[] | undefined {
  const tokens = (text.match(TOKENS) ?? []).filter((token) => token !== ' ')
  const conditions: { readonly terms: readonly Term[]; readonly joiner: string | undefined }[] = []
  for (let at = 0; ; at++) {
    const token = tokens[at]
    if (token === undefined) return undefined
    const operator = isOperator(token) ? token : '=='
    const operand = isOperator(token) ? tokens[++at] : token
    const terms = operand === undefined ? undefined : readCondition(operator, operand)
    if (terms === undefined) return undefined
    const joiner = tokens[++at]
    conditions.push({ terms, joiner })
    if (joiner === undefined) break
    if (joiner !== ' and ' && joiner !== ' or ') return undefined
  }

  let alternatives: (readonly Term[])[] = []
  for (const { terms, joiner } of conditions.reverse()) {
    if (joiner === ' and ') alternatives = alternatives.map((rest) => [...terms, ...rest])
    else alternatives.unshift(terms)
  }
  return alternatives
}

function readCondition(operator: Operator, operand: string): readonly Term[] | undefined {
  if (operator === '~>') return readTilde(operand)
  const version = parseVersion(operand)
  return version && [{ operator: operator === '==' ? '=' : operator, version }]
}

/** `~> 2.1` is below 3, `~> 2.1.0` is below 2.2. Pre-releases of the upper bound are above it: hence its `-0`. */
function readTilde(operand: string): readonly Term[] | undefined {
  const [, major, minor, patch, rest = ''] = OPERAND_OF_TILDE.exec(operand) ?? []
  const lower = parseVersion(`${major}.${minor}${patch ?? '.0'}${rest}`)
  if (lower === undefined) return undefined
  const upper = parseVersion(
    patch === undefined ? `${lower.major + 1}.0.0-0` : `${lower.major}.${lower.minor + 1}.0-0`,
  )
  return (
    upper && [
      { operator: '>=', version: lower },
      { operator: '<', version: upper },
    ]
  )
}
