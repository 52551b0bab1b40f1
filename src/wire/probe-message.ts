import { checkCount, decodeBytes, unknownKind } from './check.ts'
import { ProbeMessage as WireProbeMessage } from './generated/rollcall.ts'

/** A question whether a process lives, or the answer to it. `number` is the asker's own count, from 1. */
export interface ProbeMessage {
  readonly kind: 'ping' | 'pong'
  readonly number: number
}

/** Far above what any message of this protocol takes, so that later ones have room. */
const MAX_PROBE_BYTES = 1_024

export const encodeProbeMessage = ({ kind, number }: ProbeMessage): Uint8Array =>
  WireProbeMessage.encode({ kind: { $case: kind, value: number } }).finish()

/**
 * A message of a probe stream, checked. Throws nothing but `RollcallError`: `ROLLCALL_FRAME_INVALID`,
 * `ROLLCALL_FRAME_LIMIT`, `ROLLCALL_MESSAGE_UNKNOWN`.
 */
export function decodeProbeMessage(bytes: Uint8Array): ProbeMessage {
  const { kind } = decodeBytes(bytes, MAX_PROBE_BYTES, (reader) => WireProbeMessage.decode(reader))
  if (kind === undefined) throw unknownKind('a probe message of a kind that is not known')
  checkCount('number', kind.value, 1)
  return { kind: kind.$case, number: kind.value }
}
