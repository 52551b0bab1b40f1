import { copyJson } from '../core/copy-json.ts'
import type { Json } from '../core/json.ts'
import { isLonger } from '../core/name.ts'
import { RollcallError } from '../errors.ts'
import { aboveLimit, invalid } from './check.ts'
import type { WireLimits } from './limits.ts'

/**
 * What JSON text can say and JSON does not give back: half of a surrogate pair by an escape, -0, numbers that are
 * read as infinite (by an exponent or more than 308 digits). Also matches harmless text; a meta without any of it
 * needs no second look at each value.
 */
const SUSPICIOUS = /\\u|-0|\d[eE]|\d{300}/

/**
 * A meta from its JSON text, deep-frozen because all readers share it.
 *
 * What comes in must be good to go out again, as a relay sends it on: so no number that JSON reads as infinite,
 * no half of a surrogate pair from an escape, and no text that grows above the limit when written again.
 */
export function decodeMeta(text: string, limits: WireLimits): Json {
  if (isLonger(text, limits.maxMetaBytes)) throw aboveLimit(`a meta above ${limits.maxMetaBytes} bytes`)
  try {
    const meta = parse(text, limits)
    // The most that writing again adds: `1e20,` becomes 21 digits and a comma.
    const mayGrow = text.length * 5 > limits.maxMetaBytes
    if (mayGrow && isLonger(JSON.stringify(meta), limits.maxMetaBytes)) {
      throw aboveLimit(`a meta above ${limits.maxMetaBytes} bytes`)
    }
    return meta
  } catch (error) {
    if (!(error instanceof RollcallError)) throw invalid('a meta is not JSON', error)
    if (error.code === 'ROLLCALL_LIMIT_EXCEEDED') throw aboveLimit(error.message)
    if (error.code === 'ROLLCALL_INVALID_META') throw invalid(error.message)
    throw error
  }
}

function parse(text: string, { maxMetaBytes, maxMetaDepth }: WireLimits): Json {
  const meta = JSON.parse(text) as Json
  if (SUSPICIOUS.test(text)) return copyJson(meta, { maxBytes: maxMetaBytes, maxDepth: maxMetaDepth })
  freezeDeep(meta, maxMetaDepth)
  return meta
}

function freezeDeep(value: Json, depthLeft: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depthLeft === 0) throw aboveLimit('a meta nested too deep')
  for (const inner of Object.values(value)) freezeDeep(inner, depthLeft - 1)
  Object.freeze(value)
}
