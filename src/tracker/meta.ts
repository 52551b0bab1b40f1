import { copyJson } from '../core/copy-json.ts'
import type { Json } from '../core/json.ts'
import { isLonger, nameFault, utf8Length } from '../core/name.ts'
import { RollcallError } from '../errors.ts'
import { WIRE_LIMITS } from '../wire/limits.ts'

/**
 * A private, deep-frozen copy of a caller's meta, so that no later change at the caller's shows up unsent.
 * Throws `ROLLCALL_INVALID_META` for what JSON would not carry as it is, `ROLLCALL_LIMIT_EXCEEDED` above
 * `maxBytes` of JSON or too deep; the message names the place, what stands there, and the limit.
 */
export function copyMeta(meta: unknown, maxBytes: number): Json {
  const copy = copyJson(meta, { maxBytes, maxDepth: WIRE_LIMITS.maxMetaDepth })
  const text = JSON.stringify(copy)
  if (isLonger(text, maxBytes)) {
    throw new RollcallError(
      'ROLLCALL_LIMIT_EXCEEDED',
      `meta is ${utf8Length(text)} bytes of JSON, the limit is ${maxBytes}`,
    )
  }
  return copy
}

/**
 * Throws unless `value` is a legal name (`nameFault`): `ROLLCALL_LIMIT_EXCEEDED` above `maxBytes`, else
 * `ROLLCALL_INVALID_ARGUMENT`. `what` begins the message: `topic`, `key`, `name`.
 */
export function checkName(what: string, value: unknown, maxBytes: number): asserts value is string {
  const fault = nameFault(value, maxBytes)
  if (fault === undefined) return
  const isTooLong = typeof value === 'string' && isLonger(value, maxBytes)
  throw new RollcallError(
    isTooLong ? 'ROLLCALL_LIMIT_EXCEEDED' : 'ROLLCALL_INVALID_ARGUMENT',
    `${what} ${fault}, not ${describe(value)}`,
  )
}

function describe(value: unknown): string {
  if (typeof value !== 'string') return value === null ? 'null' : `a value of type ${typeof value}`
  return value.length > 64 ? `one of ${utf8Length(value)} bytes` : JSON.stringify(value)
}
