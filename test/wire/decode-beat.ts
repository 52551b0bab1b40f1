import type { Beat } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { decodeGossip } from '../../src/wire/gossip.ts'
import type { WireLimits } from '../../src/wire/limits.ts'

/** The beat in a gossip message that holds one. Throws as `decodeGossip`. */
export function decodeBeat(bytes: Uint8Array, limits: WireLimits): Beat<Json> {
  const message = decodeGossip(bytes, limits)
  if (message.kind !== 'beat') throw new Error(`a ${message.kind}, not a beat`)
  const { incarnation, from, to, writes, beat, promiseMs, left } = message
  return { incarnation, from, to, writes, beat, promiseMs, left }
}
