import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../tracker/ports.ts'
import { COMMON_HEADERS, hasBody } from './answer.ts'
import type { Answer } from './answer.ts'
import { problem } from './problem.ts'

/** How long a client may go on sending what nobody reads, before it is cut off with the answer on its way. */
const LINGER_MS = 1_000

/** What a connection holds anyway. Longer answers are counted while their clients do not take them: */
const SMALL_BYTES = 16_384
/** so many bytes at most, of all clients together, */
const MAX_UNTAKEN_BYTES = 67_108_864
/** and each for so long. */
const MAX_UNTAKEN_MS = 30_000

/** Sends answers. Clients that are slow to take them, or to end what they say, cost bounded time and memory, however many there are. */
export class Sender {
  readonly #clock: Clock
  #untakenBytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Nothing is sent where the client is gone. */
  send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    if (response.destroyed || response.headersSent) return
    const bytes = Buffer.byteLength(answer.text)
    const isLong = bytes > SMALL_BYTES
    if (isLong && this.#untakenBytes + bytes > MAX_UNTAKEN_BYTES) {
      this.send(
        request,
        response,
        problem(503, 'ROLLCALL_HTTP_BUSY', 'Too many clients do not take their answers'),
      )
      return
    }
    const isUnread = hasBody(request) && !request.readableEnded
    response.writeHead(answer.status, {
      ...COMMON_HEADERS,
      ...(answer.type === undefined ? {} : { 'Content-Type': answer.type, 'Content-Length': bytes }),
      ...(isUnread ? { Connection: 'close' } : {}),
      ...answer.headers,
    })
    if (isLong) this.#count(response, bytes)
    if (isUnread) this.#linger(request, response, answer.text)
    else response.end(answer.text)
  }

  #count(response: ServerResponse, bytes: number): void {
    this.#untakenBytes += bytes
    const timer = this.#clock.setTimer(() => response.destroy(), MAX_UNTAKEN_MS)
    response.once('close', () => {
      timer.cancel()
      this.#untakenBytes -= bytes
    })
  }

  /**
   * A connection that is closed while its client still sends may lose the answer on the way: so what comes is let pass for a while,
   * and the connection ends after it.
   */
  #linger(request: IncomingMessage, response: ServerResponse, text: string): void {
    const end = (): void => {
      timer.cancel()
      request.off('end', end).off('close', end)
      response.end()
    }
    const timer = this.#clock.setTimer(end, LINGER_MS)
    if (text !== '') response.write(text)
    request.on('end', end).on('close', end).resume()
  }
}
