import { BinaryReader } from '@bufbuild/protobuf/wire'
import { isLonger, nameFault } from '../core/name.ts'
import { RollcallError } from '../errors.ts'

/** Bytes that are not what they claim to be: `ROLLCALL_FRAME_INVALID`. */
export const invalid = (message: string, cause?: unknown): RollcallError =>
  new RollcallError('ROLLCALL_FRAME_INVALID', message, cause === undefined ? undefined : { cause })

/** More than a receiver takes: `ROLLCALL_FRAME_LIMIT`. */
export const aboveLimit = (message: string): RollcallError =>
  new RollcallError('ROLLCALL_FRAME_LIMIT', message)

/** A kind that a later protocol may know: `ROLLCALL_MESSAGE_UNKNOWN`. */
export const unknownKind = (message: string): RollcallError =>
  new RollcallError('ROLLCALL_MESSAGE_UNKNOWN', message)

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Refuses broken UTF-8 instead of replacing it, or two different byte strings would become one name. The strict
 * decoder costs four times the other one (Node 20), so it sees only texts where something may have been replaced.
 */
function decodeUtf8(bytes: Uint8Array): string {
  const text = utf8.decode(bytes)
  return text.includes('\ufffd') ? strictUtf8.decode(bytes) : text
}

/** Runs a generated decoder: size first, strict UTF-8, and every error as `ROLLCALL_FRAME_INVALID`. */
export function decodeBytes<T>(bytes: Uint8Array, maxBytes: number, decode: (reader: BinaryReader) => T): T {
  if (bytes.length > maxBytes) throw aboveLimit(`${bytes.length} bytes, the limit is ${maxBytes}`)
  try {
    const reader = new BinaryReader(bytes, decodeUtf8)
    const message = decode(reader)
    // At a tag that can only end a group the generated code takes the message for complete.
    if (reader.pos !== reader.len) throw new Error(`the message ends at byte ${reader.pos} of ${reader.len}`)
    return message
  } catch (error) {
    throw invalid('not a message of this protocol', error)
  }
}

/** Throws unless `value` is a safe integer of at least `min`. */
export function checkCount(what: string, value: number, min: 0 | 1): void {
  if (!Number.isSafeInteger(value) || value < min)
    throw invalid(`${what} ${value} is not a number from ${min}`)
}

/** Throws unless `(from, to]` is a range of versions. */
export function checkRange(from: number, to: number): void {
  checkCount('from', from, 0)
  checkCount('to', to, 0)
  if (from > to) throw invalid(`the range (${from}, ${to}] ends before it begins`)
}

/** Throws unless `value` is a legal topic, key or node id. */
export function checkWireName(what: string, value: string, maxBytes: number): void {
  const fault = nameFault(value, maxBytes)
  if (fault === undefined) return
  throw isLonger(value, maxBytes) ? aboveLimit(`${what} ${fault}`) : invalid(`${what} ${fault}`)
}

/** Throws unless an owner's promise is within the limit. */
export function checkPromise(promiseMs: number, maxPromiseMs: number): void {
  if (promiseMs > maxPromiseMs) throw aboveLimit(`a promise of ${promiseMs} ms, the limit is ${maxPromiseMs}`)
}
