import type { Beat } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { checkCount, checkPromise, checkRange, decodeBytes, unknownKind } from './check.ts'
import { Gossip } from './generated/rollcall.ts'
import type { WireLimits } from './limits.ts'
import { decodeWrites, prepareWrite, WriteBatch } from './writes.ts'

/**
 * A beat as a gossip message; undefined when it is above `maxBytes`, found out without encoding much more than
 * that. The promise is rounded up: a fraction less would be a promise not made.
 */
export function encodeBeat(beat: Beat<Json>, maxBytes: number): Uint8Array | undefined {
  const batch = new WriteBatch()
  let textUnits = 0
  for (const write of beat.writes) {
    const prepared = prepareWrite(write)
    // Never more than the bytes they take.
    textUnits += prepared.meta.length + (write.kind === 'put' ? write.key.length : 0)
    if (textUnits > maxBytes) return undefined
    batch.add(prepared)
  }
  const bytes = Gossip.encode({
    kind: {
      $case: 'beat',
      value: {
        incarnation: beat.incarnation,
        beat: beat.beat,
        promiseMs: Math.ceil(beat.promiseMs),
        from: beat.from,
        to: beat.to,
        left: beat.left,
        writes: batch.writes,
      },
    },
  }).finish()
  return bytes.length > maxBytes ? undefined : bytes
}

/**
 * The beat in a gossip message, checked; its metas are deep-frozen. Throws nothing but `RollcallError`:
 * `ROLLCALL_FRAME_INVALID`, `ROLLCALL_FRAME_LIMIT`, `ROLLCALL_MESSAGE_UNKNOWN`.
 */
export function decodeBeat(bytes: Uint8Array, limits: WireLimits): Beat<Json> {
  const { kind } = decodeBytes(bytes, limits.maxFrameBytes, (reader) => Gossip.decode(reader))
  if (kind === undefined) throw unknownKind('a gossip message of a kind that is not known')
  const { incarnation, beat, promiseMs, from, to, left, writes } = kind.value
  checkCount('incarnation', incarnation, 1)
  checkCount('beat', beat, 1)
  checkPromise(promiseMs, limits.maxPromiseMs)
  checkRange(from, to)
  return { incarnation, beat, promiseMs, from, to, left, writes: decodeWrites(writes, from, to, limits) }
}
