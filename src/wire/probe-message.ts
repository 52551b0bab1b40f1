import type { NodeId } from '../core/frame.ts'
import { checkCount, checkWireName, decodeBytes, unknownKind } from './check.ts'
import { ProbeMessage as WireProbeMessage } from './generated/rollcall.ts'
import { WIRE_LIMITS } from './limits.ts'

/**
 * A question whether a process lives, or the answer to it. `number` is the asker's own count, from 1. `ping` is for the
 * node that is asked, `ask` for what it finds when it asks another.
 */
export type ProbeMessage =
  | { readonly kind: 'ping' | 'pong'; readonly number: number }
  | { readonly kind: 'ask'; readonly number: number; readonly node: NodeId }
  | { readonly kind: 'told'; readonly number: number; readonly alive: boolean }

/** Far above what any message of this protocol takes, so that later ones have room. */
const MAX_PROBE_BYTES = 1_024

export function encodeProbeMessage(message: ProbeMessage): Uint8Array {
  return WireProbeMessage.encode({ kind: toWire(message) }).finish()
}

function toWire(message: ProbeMessage): NonNullable<WireProbeMessage['kind']> {
  switch (message.kind) {
    case 'ping':
    case 'pong':
      return { $case: message.kind, value: message.number }
    case 'ask':
      return { $case: 'ask', value: message }
    case 'told':
      return { $case: 'told', value: message }
  }
}

/**
 * A message of a probe stream, checked. Throws nothing but `RollcallError`: `ROLLCALL_FRAME_INVALID`,
 * `ROLLCALL_FRAME_LIMIT`, `ROLLCALL_MESSAGE_UNKNOWN`.
 */
export function decodeProbeMessage(bytes: Uint8Array): ProbeMessage {
  const { kind } = decodeBytes(bytes, MAX_PROBE_BYTES, (reader) => WireProbeMessage.decode(reader))
  if (kind === undefined) throw unknownKind('a probe message of a kind that is not known')
  const message = fromWire(kind)
  checkCount('number', message.number, 1)
  if (message.kind === 'ask') checkWireName('node', message.node, WIRE_LIMITS.maxOwnerBytes)
  return message
}

function fromWire(kind: NonNullable<WireProbeMessage['kind']>): ProbeMessage {
  switch (kind.$case) {
    case 'ping':
    case 'pong':
      return { kind: kind.$case, number: kind.value }
    case 'ask':
      return { kind: 'ask', number: kind.value.number, node: kind.value.node }
    case 'told':
      return { kind: 'told', number: kind.value.number, alive: kind.value.alive }
  }
}
