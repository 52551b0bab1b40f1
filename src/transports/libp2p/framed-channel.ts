import { RollcallError } from '../../errors.ts'
import type { Channel } from '../../tracker/ports.ts'
import type { ByteStream } from './byte-stream.ts'

/** In place of a length: the sender is done. Without it a dropped connection would look like a clean end. */
const END_MARK = 0xffff_ffff
const HEADER_BYTES = 4
/** Written piece by piece, so that a slow link shows progress and only a standing one is a stall. */
const PIECE_BYTES = 64 * 1024
/** How long a channel that nobody reads waits for its peer to end in order before the stream is reset. */
const LINGER_MS = 5_000

export interface ChannelLimits {
  readonly maxMessageBytes: number
  readonly stallMs: number
}

function broken(why: string, cause?: unknown): RollcallError {
  return new RollcallError('ROLLCALL_SYNC_FAILED', why, { cause })
}

function header(length: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES)
  new DataView(bytes.buffer).setUint32(0, length)
  return bytes
}

/** Not `Buffer.concat`: a Buffer is a Uint8Array whose `slice` shares memory, which callers would not expect. */
function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

/**
 * Whole messages on a stream of bytes: each is its length (uint32, big endian) and its bytes; the length
 * 0xFFFFFFFF ends a side. A peer that neither sends nor takes anything for `stallMs` breaks the channel.
 */
export class FramedChannel implements Channel {
  readonly messages: AsyncIterable<Uint8Array>
  /** Resolves when both sides ended or the channel broke. */
  readonly done: Promise<void>

  readonly #stream: ByteStream
  readonly #limits: ChannelLimits
  #finishDone: () => void = () => undefined
  /**
   * Lets go whoever waits for the stream when the channel breaks. One promise for all of them would keep what each has
   * waited for, for as long as the channel lives.
   */
  readonly #waiting = new Set<(error: Error) => void>()
  #error: Error | undefined
  #writing: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined
  #reader: 'none' | 'busy' | 'left' = 'none'
  /** The peer's end mark was read. */
  #ended = false
  /** The stream itself ended after it. */
  #streamEnded = false
  #linger: NodeJS.Timeout | undefined
  #buffered: Uint8Array = new Uint8Array(0)

  constructor(stream: ByteStream, limits: ChannelLimits) {
    this.#stream = stream
    this.#limits = limits
    this.done = new Promise((resolve) => (this.#finishDone = resolve))
    this.messages = { [Symbol.asyncIterator]: () => this.#read() }
  }

  async send(message: Uint8Array): Promise<void> {
    const { maxMessageBytes } = this.#limits
    if (message.length > maxMessageBytes) {
      const sizes = `${String(message.length)} bytes, at most ${String(maxMessageBytes)}`
      throw new RollcallError('ROLLCALL_LIMIT_EXCEEDED', `a message has ${sizes}`)
    }
    if (this.#error !== undefined) throw this.#error
    if (this.#closing !== undefined) throw broken('the channel is closed')
    const turn = this.#writing.then(() => this.#write(message.length, message))
    this.#writing = turn.catch(() => undefined)
    return turn
  }

  close(): Promise<void> {
    if (this.#error !== undefined) return Promise.resolve()
    this.#closing ??= this.#finish()
    return this.#closing
  }

  abort(reason: Error): void {
    this.#fail(broken(reason.message, reason))
  }

  #fail(error: Error): Error {
    if (this.#error !== undefined) return this.#error
    this.#error = error
    for (const letGo of this.#waiting) letGo(error)
    this.#stream.abort(error)
    this.#finished()
    return error
  }

  /** Waits for the stream as long as the peer may stand still. */
  async #bounded<T>(work: Promise<T>, why: string): Promise<T> {
    let letGo: (error: Error) => void = () => undefined
    const broke = new Promise<never>((_, reject) => (letGo = reject))
    this.#waiting.add(letGo)
    const timer = setTimeout(() => this.#fail(broken(why)), this.#limits.stallMs)
    if (this.#error !== undefined) letGo(this.#error)
    try {
      return await Promise.race([work, broke])
    } catch (error) {
      throw this.#fail(error instanceof RollcallError ? error : broken('the stream broke', error))
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(letGo)
    }
  }

  async #write(length: number, message: Uint8Array): Promise<void> {
    if (this.#error !== undefined) throw this.#error
    const first = new Uint8Array(HEADER_BYTES + Math.min(message.length, PIECE_BYTES))
    first.set(header(length))
    first.set(message.subarray(0, PIECE_BYTES), HEADER_BYTES)
    await this.#bounded(this.#stream.write(first), 'the peer takes nothing')
    for (let at = PIECE_BYTES; at < message.length; at += PIECE_BYTES) {
      await this.#bounded(this.#stream.write(message.slice(at, at + PIECE_BYTES)), 'the peer takes nothing')
    }
  }

  async #finish(): Promise<void> {
    await this.#writing
    try {
      await this.#write(END_MARK, new Uint8Array(0))
      await this.#bounded(this.#stream.closeWrite(), 'the peer takes nothing')
    } catch {
      return
    }
    if (this.#streamEnded) this.#finished()
    if (this.#ended) return
    if (this.#reader !== 'busy') this.#awaitPeer()
    if (this.#reader === 'left') void this.#discard()
  }

  /** From here on the peer has `LINGER_MS` to end its side. */
  #awaitPeer(): void {
    this.#linger ??= setTimeout(() => this.#fail(broken('the peer did not end its side')), LINGER_MS)
    this.#linger.unref()
  }

  #finished(): void {
    clearTimeout(this.#linger)
    this.#finishDone()
  }

  /** Reads what nobody wants any more, so that the peer can end in order. */
  async #discard(): Promise<void> {
    try {
      while ((await this.#next()) !== undefined);
    } catch {
      // It broke instead of ending: there is nobody left to tell.
    }
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    if (this.#reader !== 'none')
      throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', 'a channel has one reader')
    this.#reader = 'busy'
    if (!this.#ended) {
      clearTimeout(this.#linger)
      this.#linger = undefined
    }
    try {
      for (;;) {
        const message = await this.#next()
        if (message === undefined) return
        yield message
      }
    } finally {
      this.#reader = 'left'
      if (this.#closing !== undefined && !this.#ended && this.#error === undefined) {
        this.#awaitPeer()
        void this.#discard()
      }
    }
  }

  /** The next message, or undefined at the end mark. */
  async #next(): Promise<Uint8Array | undefined> {
    if (this.#ended) return undefined
    const { buffer, byteOffset } = await this.#take(HEADER_BYTES)
    const length = new DataView(buffer, byteOffset).getUint32(0)
    if (length === END_MARK) {
      this.#ended = true
      void this.#awaitEnd()
      return undefined
    }
    const { maxMessageBytes } = this.#limits
    if (length > maxMessageBytes) {
      const sizes = `${String(length)} bytes, at most ${String(maxMessageBytes)}`
      throw this.#fail(new RollcallError('ROLLCALL_FRAME_LIMIT', `the peer announces a message of ${sizes}`))
    }
    return this.#take(length)
  }

  /** Exactly `count` bytes. Memory is taken as they arrive, never for what a length only promises. */
  async #take(count: number): Promise<Uint8Array> {
    const pieces = [this.#buffered]
    let have = this.#buffered.length
    while (have < count) {
      const step = await this.#bounded(this.#stream.chunks.next(), 'the peer sends nothing')
      if (step.done === true) throw this.#fail(broken('the connection dropped before its peer was done'))
      pieces.push(step.value)
      have += step.value.length
    }
    const all = pieces.length === 1 ? this.#buffered : joined(pieces, have)
    this.#buffered = all.subarray(count)
    return all.subarray(0, count)
  }

  /** After the end mark: lets the stream see its own end, without which it would count as open for ever. */
  async #awaitEnd(): Promise<void> {
    this.#awaitPeer()
    try {
      while ((await this.#stream.chunks.next()).done !== true);
    } catch {
      // A reset after the end mark is an end.
    }
    clearTimeout(this.#linger)
    this.#streamEnded = true
    if (this.#closing === undefined) return
    await this.#closing
    this.#finished()
  }
}
