import { copyJson } from '../core/copy-json.ts'
import type { Json } from '../core/json.ts'
import { isLonger } from '../core/name.ts'
import { RollcallError } from '../errors.ts'
import { aboveLimit, invalid } from './check.ts'
import type { WireLimits } from './limits.ts'

/**
 * A meta from its JSON text, deep-frozen because all readers share it.
 *
 * What comes in must be good to go out again, as a relay sends it on: so no number that JSON reads as infinite,
 * no half of a surrogate pair from an escape, and no text that grows above the limit when written again.
 */
export function decodeMeta(text: string, limits: WireLimits): Json {
  if (isLonger(text, limits.maxMetaBytes)) throw aboveLimit(`a meta above ${limits.maxMetaBytes} bytes`)
  try {
    const meta = copyJson(JSON.parse(text), { maxBytes: limits.maxMetaBytes, maxDepth: limits.maxMetaDepth })
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
