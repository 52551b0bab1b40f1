import type { IncomingMessage, ServerResponse } from 'node:http'
import { PIECE_BYTES } from './frame.ts'

/** A reader that takes nothing, and so misses this many heartbeats in a row, is cut off. */
const CUT_AT_MISSED = 2

/** `no-transform` and the last one: proxies and middleware must not hold back what is written. */
const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
}

const GREETING = 'retry: 1000\n\n'
const HEARTBEAT = ':\n\n'

/** One response as a stream of server-sent events, until either side ends it, or its reader takes nothing any more. */
export class EventStream {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #onClose: (() => void)[] = []
  #closed = false
  #missed = 0
  /** Goes on with what is being sent. */
  #resume: (() => void) | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
    // So the connection ends with it, and is what tells of the end also where an earlier response is on its way.
    response.shouldKeepAlive = false
    request.socket.once('close', this.#close)
    response.on('drain', this.#drained)
    response.writeHead(200, HEADERS).write(GREETING)
    // Its end has been told already.
    if (request.socket.destroyed) queueMicrotask(this.#close)
  }

  /** Whether there is any use in sending more. */
  get isOpen(): boolean {
    return !this.#closed && !this.#response.writableEnded
  }

  /** Calls back once, when all is over. */
  onClose(listener: () => void): void {
    this.#onClose.push(listener)
  }

  /** Resolves when the reader has room for more, or it is over. One call at a time. */
  async send(frame: Buffer): Promise<void> {
    for (let at = 0; at < frame.length && this.isOpen; at += PIECE_BYTES) {
      const hasRoom = this.#response.write(frame.subarray(at, at + PIECE_BYTES))
      if (!hasRoom) await new Promise<void>((resolve) => (this.#resume = resolve))
    }
  }

  /** Says that it lives; or cuts off a reader that was behind at the last beat, and has taken nothing since. */
  beat(): void {
    if (this.isOpen && !this.#response.writableNeedDrain) {
      this.#response.write(HEARTBEAT)
      return
    }
    this.#missed++
    if (this.#missed >= CUT_AT_MISSED) this.cut()
  }

  /** Ends it after what has been written. */
  end(): void {
    this.#response.end()
  }

  /** Ends it at once. */
  cut(): void {
    this.#close()
    const { socket } = this.#request
    try {
      // Or the system would keep what is written for a reader that does not read.
      socket.resetAndDestroy()
    } catch {
      // What is not plain TCP cannot be reset.
      socket.destroy()
    }
  }

  readonly #drained = (): void => {
    this.#missed = 0
    this.#resume?.()
  }

  readonly #close = (): void => {
    if (this.#closed) return
    this.#closed = true
    this.#resume?.()
    for (const listener of this.#onClose) listener()
  }
}
