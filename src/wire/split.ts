import type { Frame, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { encodeChunk, encodeSyncMessage } from './sync-message.ts'
import type { HeadInfo, Left, Want } from './sync-message.ts'
import { prepareWrite, WriteBatch } from './writes.ts'

/** Tags, lengths and numbers of a list item, or of all of a chunk but its writes: at most seven tags, two lengths, five numbers of 8 bytes. */
const MAX_OVERHEAD = 64

/**
 * One owner's frame as chunk messages, the last one flagged; lazily, so a sender that waits for room holds one
 * chunk and not the whole frame. A chunk is at most `maxBytes` long, unless a single write is longer.
 */
export function* encodeChunks(owner: NodeId, frame: Frame<Json>, maxBytes: number): Iterable<Uint8Array> {
  const { incarnation, from, to } = frame
  const room = maxBytes - itemBytes(owner)
  let batch = new WriteBatch()
  for (const write of frame.writes) {
    const prepared = prepareWrite(write)
    if (batch.writes.length > 0 && batch.maxBytes + prepared.maxBytes > room) {
      yield encodeChunk({ owner, incarnation, from, to, writes: batch.writes, last: false })
      batch = new WriteBatch()
    }
    batch.add(prepared)
  }
  yield encodeChunk({ owner, incarnation, from, to, writes: batch.writes, last: true })
}

/** A list of heads as at least one message, each at most `maxBytes` long unless a single head is longer. */
export function* encodeHeads(heads: Iterable<HeadInfo>, maxBytes: number): Iterable<Uint8Array> {
  let part: HeadInfo[] = []
  let bytes = MAX_OVERHEAD
  for (const head of heads) {
    const more = itemBytes(head.owner)
    if (part.length > 0 && bytes + more > maxBytes) {
      yield encodeSyncMessage({ kind: 'heads', heads: part, more: true })
      part = []
      bytes = MAX_OVERHEAD
    }
    part.push(head)
    bytes += more
  }
  yield encodeSyncMessage({ kind: 'heads', heads: part, more: false })
}

/** Both lists as at least one message, wants first, each at most `maxBytes` long unless a single item is longer. */
export function* encodeWants(
  wants: Iterable<Want>,
  left: Iterable<Left>,
  maxBytes: number,
): Iterable<Uint8Array> {
  let part: { wants: Want[]; left: Left[] } = { wants: [], left: [] }
  let bytes = MAX_OVERHEAD
  for (const item of tagged(wants, left)) {
    const more = itemBytes((item.want ?? item.left).owner)
    const isEmpty = part.wants.length + part.left.length === 0
    if (!isEmpty && bytes + more > maxBytes) {
      yield encodeSyncMessage({ kind: 'wants', ...part, more: true })
      part = { wants: [], left: [] }
      bytes = MAX_OVERHEAD
    }
    if (item.want !== undefined) part.wants.push(item.want)
    else part.left.push(item.left)
    bytes += more
  }
  yield encodeSyncMessage({ kind: 'wants', ...part, more: false })
}

type WantOrLeft =
  { readonly want: Want; readonly left?: undefined } | { readonly want?: undefined; readonly left: Left }

function* tagged(wants: Iterable<Want>, left: Iterable<Left>): Iterable<WantOrLeft> {
  for (const want of wants) yield { want }
  for (const gone of left) yield { left: gone }
}

/** A UTF-16 unit takes at most 3 bytes. */
const itemBytes = (owner: NodeId): number => MAX_OVERHEAD + owner.length * 3
