import type { NodeId, Write } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import {
  checkCount,
  checkPromise,
  checkRange,
  checkWireName,
  decodeBytes,
  invalid,
  unknownKind,
} from './check.ts'
import { SyncMessage as WireSyncMessage } from './generated/rollcall.ts'
import type { Chunk as WireChunk, Heads as WireHeads, Wants as WireWants } from './generated/rollcall.ts'
import type { WireLimits } from './limits.ts'
import { decodeWrites, prepareWrite, WriteBatch } from './writes.ts'

/** What the sender holds of one owner, and how lately it heard of it. */
export interface HeadInfo {
  readonly owner: NodeId
  readonly incarnation: number
  readonly version: number
  /** The owner's newest beat number that the sender knows; 0 for none. */
  readonly beat: number
  readonly promiseMs: number
  /** For how long the sender has not heard the owner, on its own clock. Rounded up on the wire. */
  readonly silentMs: number
}

/** A wish for what is newer than this head. 0 and 0: nothing is held. */
export interface Want {
  readonly owner: NodeId
  readonly incarnation: number
  readonly version: number
}

/** An incarnation that is over. */
export interface Left {
  readonly owner: NodeId
  readonly incarnation: number
}

/** A list of heads, or a part of one: `more` says that another part follows. */
interface HeadsMessage {
  readonly kind: 'heads'
  readonly heads: readonly HeadInfo[]
  readonly more: boolean
}

/** What the sender lacks and what it knows to be over; `more` says that another part follows. */
interface WantsMessage {
  readonly kind: 'wants'
  readonly wants: readonly Want[]
  readonly left: readonly Left[]
  readonly more: boolean
}

/** A part of one owner's frame. The range is that of the whole; `last` completes it. */
export interface ChunkMessage {
  readonly kind: 'chunk'
  readonly owner: NodeId
  readonly incarnation: number
  readonly from: number
  readonly to: number
  readonly writes: readonly Write<Json>[]
  readonly last: boolean
}

/** Everything that was wanted has been sent. */
interface DoneMessage {
  readonly kind: 'done'
}

export type SyncMessage = HeadsMessage | WantsMessage | ChunkMessage | DoneMessage

/** One message of a sync stream. Long lists and frames are cut into several: `encodeHeads`, `encodeWants`, `encodeChunks`. */
export function encodeSyncMessage(message: SyncMessage): Uint8Array {
  switch (message.kind) {
    case 'heads': {
      const heads = message.heads.map((head) => ({
        ...head,
        promiseMs: Math.ceil(head.promiseMs),
        silentMs: Math.ceil(head.silentMs),
      }))
      return WireSyncMessage.encode({
        kind: { $case: 'heads', value: { heads, more: message.more } },
      }).finish()
    }
    case 'wants':
      return WireSyncMessage.encode({ kind: { $case: 'wants', value: message } }).finish()
    case 'chunk': {
      const batch = new WriteBatch()
      for (const write of message.writes) batch.add(prepareWrite(write))
      return encodeChunk({ ...message, writes: batch.writes })
    }
    case 'done':
      return WireSyncMessage.encode({ kind: { $case: 'done', value: {} } }).finish()
  }
}

/** A chunk whose writes are in their encoded shape already. */
export const encodeChunk = (value: WireChunk): Uint8Array =>
  WireSyncMessage.encode({ kind: { $case: 'chunk', value } }).finish()

/**
 * One message of a sync stream, checked; metas are deep-frozen. What spans the chunks of a frame is for
 * `ChunkAssembler`. Throws nothing but `RollcallError`: `ROLLCALL_FRAME_INVALID`, `ROLLCALL_FRAME_LIMIT`,
 * `ROLLCALL_MESSAGE_UNKNOWN`.
 */
export function decodeSyncMessage(bytes: Uint8Array, limits: WireLimits): SyncMessage {
  const { kind } = decodeBytes(bytes, limits.maxChunkBytes, (reader) => WireSyncMessage.decode(reader))
  switch (kind?.$case) {
    case 'heads':
      return decodeHeads(kind.value, limits)
    case 'wants':
      return decodeWants(kind.value, limits)
    case 'chunk':
      return decodeChunk(kind.value, limits)
    case 'done':
      return { kind: 'done' }
    case undefined:
      throw unknownKind('a sync message of a kind that is not known')
  }
}

function decodeHeads({ heads, more }: WireHeads, limits: WireLimits): HeadsMessage {
  for (const head of heads) {
    checkWireName('owner', head.owner, limits.maxOwnerBytes)
    checkCount('incarnation', head.incarnation, 1)
    checkCount('version', head.version, 0)
    checkCount('beat', head.beat, 0)
    checkCount('silent_ms', head.silentMs, 0)
    checkPromise(head.promiseMs, limits.maxPromiseMs)
  }
  return { kind: 'heads', heads, more }
}

function decodeWants({ wants, left, more }: WireWants, limits: WireLimits): WantsMessage {
  for (const want of wants) {
    checkWireName('owner', want.owner, limits.maxOwnerBytes)
    checkCount('incarnation', want.incarnation, 0)
    checkCount('version', want.version, 0)
    if (want.incarnation === 0 && want.version > 0) throw invalid('a version held of no incarnation')
  }
  for (const gone of left) {
    checkWireName('owner', gone.owner, limits.maxOwnerBytes)
    checkCount('incarnation', gone.incarnation, 1)
  }
  return { kind: 'wants', wants, left, more }
}

function decodeChunk(chunk: WireChunk, limits: WireLimits): ChunkMessage {
  const { owner, incarnation, from, to, last } = chunk
  checkWireName('owner', owner, limits.maxOwnerBytes)
  checkCount('incarnation', incarnation, 1)
  checkRange(from, to)
  const writes = decodeWrites(chunk.writes, from, to, limits)
  return { kind: 'chunk', owner, incarnation, from, to, writes, last }
}
