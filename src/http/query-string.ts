import { argumentError, print } from '../tracker/check.ts'
import { RollcallError } from '../errors.ts'

/** The parameters of a request, by name. */
export type QueryString = ReadonlyMap<string, string>

const NONE: QueryString = new Map()

/**
 * Reads what follows the `?` of a URL. Throws `ROLLCALL_INVALID_ARGUMENT` for a parameter that is not known, is given twice, or is
 * not the percent-encoding of a text.
 */
export function readQueryString(text: string, known: readonly string[]): QueryString {
  if (text === '') return NONE
  const query = new Map<string, string>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at < 0 ? pair : pair.slice(0, at))
    if (!known.includes(name)) {
      throw new RollcallError(
        'ROLLCALL_INVALID_ARGUMENT',
        `The query has an unknown parameter ${print(name)}`,
      )
    }
    if (query.has(name)) {
      throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', `The query has the parameter ${name} twice`)
    }
    query.set(name, at < 0 ? '' : decode(pair.slice(at + 1)))
  }
  return query
}

/** Those of the options that are given. Undefined where none is. */
export function optionsIn(
  query: QueryString,
  names: readonly string[],
): Readonly<Record<string, string | number>> | undefined {
  let options: Record<string, string | number> | undefined
  for (const name of names) {
    const text = query.get(name)
    if (text !== undefined) (options ??= {})[name] = NUMBERS.has(name) ? readNumber(name, text) : text
  }
  return options
}

const NUMBERS: ReadonlySet<string> = new Set(['minZoneInstances', 'maxStaleMs'])

function readNumber(name: string, text: string): number {
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw argumentError(`The parameter ${name}`, text, 'must be a number')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw argumentError('The query', text, 'must be percent-encoded UTF-8')
  }
}
