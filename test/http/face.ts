import { createServer, request as sendRequest } from 'node:http'
import type { ClientRequest, IncomingMessage, Server } from 'node:http'
import { Duplex } from 'node:stream'
import { createParser } from 'eventsource-parser'
import type { EventSourceMessage } from 'eventsource-parser'
import { RollcallError } from '../../src/errors.ts'
import type { Streams } from '../../src/http/streams.ts'

/** Serves two streams, without a port: `/v1/watch/:name` and `/v1/events`. What they throw is answered by its code. */
export const serverOf = (streams: Streams): Server =>
  createServer((request, response) => {
    try {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
      const [, name] = /^\/v1\/watch\/(.*)$/.exec(pathname) ?? []
      if (name === undefined) streams.events(request, response)
      else {
        const requirement = searchParams.get('version') ?? undefined
        streams.watch(request, response, decodeURIComponent(name), requirement, {})
      }
    } catch (error) {
      response.writeHead(400).end(error instanceof RollcallError ? error.code : String(error))
    }
  })

/** One end of a connection in memory. What is written at one is taken when the other reads, and not before. */
class End extends Duplex {
  #other: End | undefined
  #taken: (() => void) | undefined

  static pair(): [End, End] {
    const [one, other] = [new End(), new End()]
    one.#other = other
    other.#other = one
    return [one, other]
  }

  override _read(): void {
    const taken = this.#taken
    this.#taken = undefined
    taken?.()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (this.#other === undefined) return
    this.#other.#taken = callback
    this.#other.push(chunk)
  }

  override _final(callback: () => void): void {
    this.#other?.push(null)
    callback()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    callback(error)
    setImmediate(() => this.#other?.destroy())
  }
}

/** A connection in memory to a server. */
export function connectTo(server: Server): Duplex {
  const [near, far] = End.pair()
  server.emit('connection', far)
  return near
}

export interface Asked {
  readonly method?: string
  readonly lastEventId?: string | undefined
}

/** One request for a stream, and what it was answered, as a maintained parser reads it. */
export class Reader {
  readonly events: EventSourceMessage[] = []
  readonly comments: string[] = []
  retryMs: number | undefined
  /** All that came, as it was. */
  text = ''
  /** What could not be parsed. */
  readonly faults: unknown[] = []
  response: IncomingMessage | undefined
  isOver = false
  #pausesAtNext = false
  readonly #request: ClientRequest
  readonly #parser = createParser({
    onEvent: (event) => {
      this.events.push(event)
      if (this.#pausesAtNext) this.pause()
      this.#pausesAtNext = false
    },
    onComment: (comment) => this.comments.push(comment),
    onRetry: (ms) => (this.retryMs = ms),
    onError: (error) => this.faults.push(error),
  })

  private constructor(request: ClientRequest) {
    this.#request = request
    request.on('response', (response) => {
      this.response = response
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        this.text += text
        this.#parser.feed(text)
      })
      response.on('close', () => (this.isOver = true)).on('error', () => undefined)
    })
    request.on('error', () => (this.isOver = true))
    request.on('close', () => (this.isOver = true))
    request.end()
  }

  /** Over a connection of its own: in memory to a server, or to a port of this machine. */
  static ask(target: Server | number, path: string, { method = 'GET', lastEventId }: Asked = {}): Reader {
    const last = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }
    const headers = { Connection: 'keep-alive', ...last }
    return typeof target === 'number'
      ? new Reader(sendRequest({ port: target, path, method, headers, agent: false }))
      : new Reader(sendRequest({ createConnection: () => connectTo(target), path, method, headers }))
  }

  /** Names of the events so far. */
  get names(): (string | undefined)[] {
    return this.events.map(({ event }) => event)
  }

  get lastId(): string | undefined {
    return this.events.at(-1)?.id
  }

  /** Lets go of all it has read. Returns how many events that were. */
  forget(): number {
    this.text = ''
    this.comments.length = 0
    return this.events.splice(0).length
  }

  data(at: number): unknown {
    return JSON.parse(this.events.at(at)?.data ?? 'null')
  }

  pause(): void {
    this.response?.pause()
  }

  resume(): void {
    this.response?.resume()
  }

  /** Reads as little as it can, and at least one event. */
  async take(): Promise<void> {
    const before = this.events.length
    this.#pausesAtNext = true
    this.resume()
    await until(() => this.events.length > before)
  }

  /** Breaks the connection off. */
  leave(): void {
    this.#request.destroy()
  }
}

/** Waits, turn by turn, until something holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    if (holds()) return
    await new Promise(setImmediate)
  }
  throw new Error(`never came true: ${holds.toString()}`)
}
