import type { IncomingMessage, ServerResponse } from 'node:http'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import type { FilterOptions, StaleOptions } from '../registry/types.ts'
import type { Clock, Timer } from '../tracker/ports.ts'
import { backgroundClock } from '../tracker/system.ts'
import { EventFeed } from './event-feed.ts'
import { lastEventId } from './event-id.ts'
import { EventStream } from './event-stream.ts'
import { tellWatch } from './tell-watch.ts'

export interface StreamsOptions {
  /** Time between two heartbeats. A reader that is behind at one, and takes nothing until the next, is cut off. */
  readonly heartbeatMs: number
  /** Bytes of events that are kept: for who comes back, and for slow readers, who are cut off when they are further behind. */
  readonly maxBufferBytes: number
  /** Readers at once. */
  readonly maxStreams: number
  /** Default: that of the system, with timers that do not keep the process alive. */
  readonly clock?: Clock | undefined
}

/**
 * What a registry tells while it goes on, as server-sent events, until it closes. Every event has an id, `epoch:number`, and who
 * comes back with the last one (see `lastEventId`) goes on after it, or is told `reset`: forget what you know.
 */
export class Streams {
  readonly #registry: Registry
  readonly #options: StreamsOptions
  readonly #clock: Clock
  readonly #feed: EventFeed
  readonly #open = new Set<EventStream>()
  readonly #watches = new Set<() => void>()
  #heartbeat: Timer | undefined
  #closed = false

  constructor(registry: Registry, options: StreamsOptions) {
    this.#registry = registry
    this.#options = options
    this.#clock = options.clock ?? backgroundClock
    this.#feed = new EventFeed(registry, options.maxBufferBytes, this.#clock)
    registry.tracker.once('close', this.#close)
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size
  }

  /**
   * Answers with what `registry.watch` shows: events `snapshot`, the first one `reset` where the last id cannot be followed.
   * A slow reader misses what was between, and never the last. Ends after the last snapshot when the registry closes.
   *
   * Throws as `registry.watch`, and `ROLLCALL_HTTP_BUSY`; then nothing is written.
   */
  watch(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    requirement: string | undefined,
    options: FilterOptions & StaleOptions,
  ): void {
    this.#checkRoom()
    const last = lastEventId(request)
    const since = last && { epoch: last.epoch, revision: last.number }
    const watch = this.#registry.watch(name, requirement, { ...options, since })
    this.#begin(request, response, (stream) => {
      const stop = tellWatch(watch, stream)
      this.#watches.add(stop)
      stream.onClose(() => this.#watches.delete(stop))
    })
  }

  /**
   * Answers with the events of the registry and its tracker, under their names. The first is `begin` for who begins: what is read
   * of the registry after it lacks nothing that was before it. It is `reset` where the last id cannot be followed, as is a later
   * one after which too much came at once.
   *
   * Throws `ROLLCALL_HTTP_BUSY` and `ROLLCALL_CLOSED`; then nothing is written.
   */
  events(request: IncomingMessage, response: ServerResponse): void {
    this.#checkRoom()
    this.#begin(request, response, (stream) => this.#feed.tell(stream, lastEventId(request)))
  }

  /** Ends every response, after what its reader is being told. Idempotent. Also done when the registry closes. */
  close(): void {
    this.#close()
  }

  #checkRoom(): void {
    if (this.#closed || this.#registry.closed) throw new RollcallError('ROLLCALL_CLOSED')
    const { maxStreams } = this.#options
    if (this.#open.size < maxStreams) return
    throw new RollcallError('ROLLCALL_HTTP_BUSY', `${maxStreams} streams are open, the most there may be`)
  }

  #begin(request: IncomingMessage, response: ServerResponse, tell: (stream: EventStream) => void): void {
    const stream = new EventStream(request, response)
    this.#open.add(stream)
    stream.onClose(() => this.#leave(stream))
    this.#heartbeat ??= this.#setHeartbeat()
    if (request.method === 'HEAD') stream.end()
    else tell(stream)
  }

  #leave(stream: EventStream): void {
    this.#open.delete(stream)
    if (this.#open.size > 0) return
    this.#heartbeat?.cancel()
    this.#heartbeat = undefined
  }

  #setHeartbeat(): Timer {
    return this.#clock.setTimer(() => {
      this.#heartbeat = this.#setHeartbeat()
      for (const stream of this.#open) stream.beat()
    }, this.#options.heartbeatMs)
  }

  readonly #close = (): void => {
    if (this.#closed) return
    this.#closed = true
    this.#registry.tracker.off('close', this.#close)
    this.#feed.close()
    // Those of a registry that closes end by themselves, after their last snapshot.
    if (this.#registry.closed) return
    for (const stop of this.#watches) stop()
  }
}
