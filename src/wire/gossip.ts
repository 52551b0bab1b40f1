import type { Beat, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { checkCount, checkPromise, checkRange, checkWireName, decodeBytes, unknownKind } from './check.ts'
import { Gossip } from './generated/rollcall.ts'
import type { Beat as WireBeat, Hint as WireHint } from './generated/rollcall.ts'
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

/** A gossip message that says where to look. */
export interface Hint {
  readonly node: NodeId
  readonly incarnation: number
}

export const encodeHint = (hint: Hint): Uint8Array =>
  Gossip.encode({ kind: { $case: 'hint', value: hint } }).finish()

export type GossipMessage = ({ readonly kind: 'beat' } & Beat<Json>) | ({ readonly kind: 'hint' } & Hint)

/**
 * A gossip message, checked; the metas of a beat are deep-frozen. Throws nothing but `RollcallError`:
 * `ROLLCALL_FRAME_INVALID`, `ROLLCALL_FRAME_LIMIT`, `ROLLCALL_MESSAGE_UNKNOWN`.
 */
export function decodeGossip(bytes: Uint8Array, limits: WireLimits): GossipMessage {
  const { kind } = decodeBytes(bytes, limits.maxFrameBytes, (reader) => Gossip.decode(reader))
  if (kind === undefined) throw unknownKind('a gossip message of a kind that is not known')
  return kind.$case === 'hint' ? readHint(kind.value, limits) : readBeat(kind.value, limits)
}

function readHint({ node, incarnation }: WireHint, limits: WireLimits): GossipMessage {
  checkWireName('node', node, limits.maxOwnerBytes)
  checkCount('incarnation', incarnation, 1)
  return { kind: 'hint', node, incarnation }
}

function readBeat(wire: WireBeat, limits: WireLimits): GossipMessage {
  const { incarnation, beat, promiseMs, from, to, left } = wire
  checkCount('incarnation', incarnation, 1)
  checkCount('beat', beat, 1)
  checkPromise(promiseMs, limits.maxPromiseMs)
  checkRange(from, to)
  const writes = decodeWrites(wire.writes, from, to, limits)
  return { kind: 'beat', incarnation, beat, promiseMs, from, to, left, writes }
}
