import { MAX_REASON_BYTES, type Put, type Write } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { utf8Length } from '../core/name.ts'
import { checkCount, checkWireName, invalid, unknownKind } from './check.ts'
import type { Put as WirePut, Write as WireWrite } from './generated/rollcall.ts'
import type { WireLimits } from './limits.ts'
import { decodeMeta } from './meta.ts'

/** Tags, lengths and numbers of one write: five lengths of up to 5 bytes, two numbers of up to 8, seven tags. */
const MAX_WRITE_OVERHEAD = 48

/** A write with its meta as text, which is made once and then counted and sent. */
export interface PreparedWrite {
  readonly write: Write<Json>
  /** JSON text; empty for a removal. */
  readonly meta: string
  /** It takes no more than this in a message. */
  readonly maxBytes: number
}

export function prepareWrite(write: Write<Json>): PreparedWrite {
  if (write.kind === 'remove') {
    return { write, meta: '', maxBytes: MAX_WRITE_OVERHEAD + utf8Length(write.reason ?? '') }
  }
  const meta = JSON.stringify(write.meta)
  const textBytes = utf8Length(write.topic) + utf8Length(write.key) + utf8Length(meta)
  return { write, meta, maxBytes: textBytes + MAX_WRITE_OVERHEAD }
}

/** Writes in their shape on the wire. A topic that repeats is left out, so their order matters. */
export class WriteBatch {
  readonly writes: WireWrite[] = []
  #maxBytes = 0
  #topic = ''

  /** The writes take no more than this in a message. */
  get maxBytes(): number {
    return this.#maxBytes
  }

  add({ write, meta, maxBytes }: PreparedWrite): void {
    this.#maxBytes += maxBytes
    const { version } = write
    const ref = write.ref === version ? 0 : write.ref
    if (write.kind === 'remove') {
      this.writes.push({ version, ref, change: { $case: 'remove', value: { reason: write.reason ?? '' } } })
      return
    }
    const topic = write.topic === this.#topic ? '' : write.topic
    this.#topic = write.topic
    this.writes.push({ version, ref, change: { $case: 'put', value: { topic, key: write.key, meta } } })
  }
}

/**
 * Believes the writes of one message of the range `(from, to]`: rising versions within the range, legal refs,
 * names and metas, and refs that do not repeat, since of several writes to one entry only the last is sent.
 * Throws `ROLLCALL_FRAME_INVALID`, `ROLLCALL_FRAME_LIMIT` or, for a change of a later protocol,
 * `ROLLCALL_MESSAGE_UNKNOWN`.
 */
export function decodeWrites(
  writes: readonly WireWrite[],
  from: number,
  to: number,
  limits: WireLimits,
): readonly Write<Json>[] {
  const refs = new Set<number>()
  const decoded: Write<Json>[] = []
  let last = from
  let topic = ''
  for (const { version, ref: wireRef, change } of writes) {
    checkCount('version', version, 1)
    if (version <= last || version > to) {
      throw invalid(`version ${version} after ${last} in the range (${from}, ${to}]`)
    }
    last = version
    const ref = wireRef === 0 ? version : wireRef
    if (ref > version) throw invalid(`ref ${ref} above its version ${version}`)
    if (refs.has(ref)) throw invalid(`ref ${ref} twice in one frame`)
    refs.add(ref)
    if (change === undefined) throw unknownKind('a write of a kind that is not known')
    if (change.$case === 'put') {
      const put = decodePut(change.value, version, ref, topic, limits)
      topic = put.topic
      decoded.push(put)
    } else {
      if (from === 0) throw invalid('a snapshot with a removal')
      if (ref === version) throw invalid(`a removal of its own version ${version}`)
      const { reason } = change.value
      if (reason !== '') checkWireName('reason', reason, MAX_REASON_BYTES)
      decoded.push({ kind: 'remove', version, ref, ...(reason === '' ? {} : { reason }) })
    }
  }
  return decoded
}

function decodePut(
  put: WirePut,
  version: number,
  ref: number,
  previousTopic: string,
  limits: WireLimits,
): Put<Json> {
  // Also shares one string among the entries of a topic.
  const topic = put.topic === '' ? previousTopic : put.topic
  if (topic !== previousTopic || topic === '') checkWireName('topic', topic, limits.maxKeyBytes)
  checkWireName('key', put.key, limits.maxKeyBytes)
  return { kind: 'put', version, ref, topic, key: put.key, meta: decodeMeta(put.meta, limits) }
}
