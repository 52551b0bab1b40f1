import { RollcallError } from '../errors.ts'
import type { Json } from './json.ts'
import { isWellFormed } from './name.ts'

export interface JsonLimits {
  /** Least length of the JSON text. Stops a copy early; the exact length is the caller's to check. */
  readonly maxBytes: number
  /** Objects and arrays within each other. */
  readonly maxDepth: number
}

/** How far a copy has come. One per copy. */
interface Walk {
  readonly limits: JsonLimits
  /** Keys and indices from the root to the value at hand. */
  readonly path: (string | number)[]
  /** Objects and arrays from the root to the value at hand. */
  readonly within: object[]
  /** Lower bound of the JSON text of what has been copied. */
  bytes: number
}

/**
 * Copies a value that JSON carries unchanged, deep-frozen. `-0` becomes `0`; `__proto__` is an ordinary key.
 *
 * Throws `ROLLCALL_INVALID_META` for what JSON would drop, change or refuse (undefined, NaN, a Date, a sparse
 * array, a symbol key, a cycle, a bigint, half a surrogate pair) and `ROLLCALL_LIMIT_EXCEEDED`; the message
 * names the place (`meta.a["b c"][3]`), what stands there, and the limit.
 */
export function copyJson(value: unknown, limits: JsonLimits): Json {
  return copyValue({ limits, path: [], within: [], bytes: 0 }, value)
}

function copyValue(walk: Walk, value: unknown): Json {
  switch (typeof value) {
    case 'string':
      if (!isWellFormed(value)) throw notJson(walk, 'a string with half a surrogate pair')
      spend(walk, value.length + 2)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw notJson(walk, String(value))
      spend(walk, 1)
      return value === 0 ? 0 : value
    case 'boolean':
      spend(walk, 4)
      return value
    case 'object':
      if (value === null) {
        spend(walk, 4)
        return null
      }
      return copyNested(walk, value)
    case 'undefined':
    case 'bigint':
    case 'symbol':
    case 'function':
      throw notJson(walk, typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`)
  }
}

function copyNested(walk: Walk, value: object): Json {
  const { within, limits } = walk
  if (within.includes(value)) throw notJson(walk, 'an object within itself')
  if (within.length >= limits.maxDepth) throw tooDeep(walk)
  // Two brackets, less the comma that its last item is counted with and does not have.
  spend(walk, 1)
  within.push(value)
  const copy = Array.isArray(value) ? copyArray(walk, value) : copyObject(walk, value)
  within.pop()
  return copy
}

function copyArray(walk: Walk, array: readonly unknown[]): Json {
  spend(walk, array.length)
  // Holes are missing keys; a named property of an array is a key too many.
  if (Object.keys(array).length !== array.length)
    throw notJson(walk, 'an array with holes or named properties')
  const copy: Json[] = []
  for (let i = 0; i < array.length; i++) {
    walk.path.push(i)
    copy.push(copyValue(walk, array[i]))
    walk.path.pop()
  }
  return Object.freeze(copy)
}

function copyObject(walk: Walk, object: object): Json {
  if (!isPlain(object)) throw notJson(walk, `an instance of ${className(object)}`)
  if (Object.getOwnPropertySymbols(object).length > 0) throw notJson(walk, 'an object with a symbol as a key')
  const copy: Record<string, Json> = {}
  for (const [key, value] of Object.entries(object)) {
    walk.path.push(key)
    if (!isWellFormed(key)) throw notJson(walk, 'a key with half a surrogate pair')
    spend(walk, key.length + 4)
    const copied = copyValue(walk, value)
    // Assigning to `__proto__` would set the prototype instead of a key.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: copied, enumerable: true })
    else copy[key] = copied
    walk.path.pop()
  }
  return Object.freeze(copy)
}

/** Plain in any realm: no prototype, or one that has none itself. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function className(object: object): string {
  const { constructor } = object
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class'
}

function spend(walk: Walk, bytes: number): void {
  walk.bytes += bytes
  if (walk.bytes > walk.limits.maxBytes) {
    throw new RollcallError(
      'ROLLCALL_LIMIT_EXCEEDED',
      `meta is longer than ${walk.limits.maxBytes} bytes of JSON, passed at ${place(walk)}`,
    )
  }
}

const notJson = (walk: Walk, what: string): RollcallError =>
  new RollcallError('ROLLCALL_INVALID_META', `${place(walk)} is ${what}, which JSON does not carry`)

const tooDeep = (walk: Walk): RollcallError =>
  new RollcallError(
    'ROLLCALL_LIMIT_EXCEEDED',
    `${place(walk)} is an object or array nested deeper than ${walk.limits.maxDepth} levels`,
  )

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

function place({ path }: Walk): string {
  let text = 'meta'
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += IDENTIFIER.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  }
  return text
}
