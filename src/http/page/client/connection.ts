import type { Clock, Random } from '../../../tracker/ports.ts'
import { backoffMs } from './backoff.ts'
import { EventParser } from './event-parser.ts'
import type { StreamEvent } from './event-parser.ts'
import { isUnauthorized } from './read-error.ts'

/** Silence after which a stream counts as broken: four heartbeats of a server that keeps to the default. */
const SILENCE_MS = 60_000

export interface ConnectionParts {
  /** Opens the stream, after the event with this id; '' for from now on. Ends it when the signal aborts. */
  readonly open: (lastId: string, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>
  readonly clock: Clock
  readonly random: Random
  /** The stream is open: what was read before may be old. */
  readonly opened: () => void
  readonly event: (event: StreamEvent) => void
  /** The stream cannot be opened or has ended, and is tried again. */
  readonly lost: (why: string) => void
  /** The server wants a token, or another. Nothing is tried until `start` is called again. */
  readonly refused: () => void
}

/**
 * Follows a stream of events, and opens it again where it broke off. A browser's own `EventSource` does the same, but cannot
 * send a token.
 */
export class Connection {
  readonly #parts: ConnectionParts
  #lastId = ''
  #failures = 0
  #running = false

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  /** Idempotent. */
  start(): void {
    if (this.#running) return
    this.#running = true
    void this.#run()
  }

  async #run(): Promise<void> {
    const { clock, random, lost, refused } = this.#parts
    for (;;) {
      try {
        await this.#follow()
        lost('the server ended the stream')
      } catch (error) {
        if (isUnauthorized(error)) break
        lost(error instanceof Error ? error.message : String(error))
      }
      this.#failures++
      const waitMs = backoffMs(this.#failures, random.next())
      await new Promise<void>((resolve) => clock.setTimer(resolve, waitMs))
    }
    this.#running = false
    refused()
  }

  /** Resolves when the stream ends. */
  async #follow(): Promise<void> {
    const { open, clock, opened, event } = this.#parts
    const attempt = new AbortController()
    const watchdog = (): ReturnType<Clock['setTimer']> =>
      clock.setTimer(() => attempt.abort(new Error('the server fell silent')), SILENCE_MS)
    let silence = watchdog()
    try {
      const reader = (await open(this.#lastId, attempt.signal)).getReader()
      this.#failures = 0
      opened()
      const parser = new EventParser()
      const decoder = new TextDecoder()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        silence.cancel()
        silence = watchdog()
        for (const each of parser.push(decoder.decode(value, { stream: true }))) {
          this.#lastId = each.id
          event(each)
        }
      }
    } finally {
      silence.cancel()
      attempt.abort()
    }
  }
}
