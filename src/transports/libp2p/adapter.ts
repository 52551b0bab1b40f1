import type { ByteStream } from './byte-stream.ts'
import type { ConnectionLike, EventStream, NodeLike, PipeStream, StreamLike } from './libp2p-like.ts'

/** The line of libp2p releases a node is of. They differ in how streams are handed over, written and read. */
export type Line = 2 | 3

/** Above the largest yamux window (16 MiB): a paused reader holds that much, and one byte more resets the stream. */
const READ_BUFFER_BYTES = 20 * 1024 * 1024

/** One yamux window: enough to keep the stream busy while the writer wakes up. */
const WRITE_BUFFER_BYTES = 256 * 1024

/** Line 2: the sink asks for the next piece when the window took the last one. */
function fromPipe(stream: PipeStream): ByteStream {
  let next:
    { readonly bytes: Uint8Array; readonly done: () => void; readonly fail: (e: Error) => void } | undefined
  let ended = false
  let gone: Error | undefined
  let wake: () => void = () => undefined
  async function* outgoing(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = next
      if (piece !== undefined) {
        yield piece.bytes
        next = undefined
        piece.done()
      } else if (ended) return
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const lose = (error?: Error): void => {
    gone = error ?? new Error('the stream is closed')
    next?.fail(gone)
    wake()
  }
  const sunk = stream.sink(outgoing()).then(() => lose(), lose)
  const incoming = stream.source[Symbol.asyncIterator]()
  return {
    write: (bytes) =>
      new Promise((done, fail) => {
        if (gone !== undefined) fail(gone)
        else {
          next = { bytes, done, fail }
          wake()
        }
      }),
    chunks: {
      async next() {
        const step = await incoming.next()
        return step.done === true ? step : { done: false, value: step.value.subarray() }
      },
    },
    async closeWrite() {
      ended = true
      wake()
      await sunk
    },
    abort: (reason) => stream.abort(reason),
  }
}

/** Line 3: `send` never blocks, so room is awaited here; `pause` is what holds the peer back. */
function fromEvents(stream: EventStream): ByteStream {
  const queue: Uint8Array[] = []
  let failure: Error | undefined
  let ended = false
  let waiting: (() => void)[] = []
  const rouse = (): void => {
    const woken = waiting
    waiting = []
    for (const wake of woken) wake()
  }
  const wait = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
  stream.maxReadBufferLength = READ_BUFFER_BYTES
  stream.addEventListener('message', ({ data }) => {
    queue.push(data.subarray())
    if (stream.readStatus === 'readable') stream.pause()
    rouse()
  })
  for (const type of ['remoteCloseWrite', 'end', 'close']) {
    stream.addEventListener(type, ({ error }) => {
      ended = true
      failure ??= error
      rouse()
    })
  }
  for (const type of ['drain', 'idle']) stream.addEventListener(type, rouse)
  return {
    async write(bytes) {
      stream.send(bytes)
      while (stream.writeBufferLength > WRITE_BUFFER_BYTES && stream.writeStatus === 'writable') await wait()
      if (stream.writeStatus !== 'writable') throw failure ?? new Error('the stream is closed')
    },
    chunks: {
      async next() {
        for (;;) {
          const value = queue.shift()
          if (value !== undefined) return { done: false, value }
          if (stream.readStatus === 'paused') stream.resume()
          else if (!ended) await wait()
          else if (failure !== undefined) throw failure
          else return { done: true, value: undefined }
        }
      },
    },
    closeWrite: () => stream.close(),
    abort: (reason) => stream.abort(reason),
  }
}

/** Hides what differs between the lines of libp2p, given a node that `checkStack` has accepted. */
export class Adapter {
  readonly #line: Line

  constructor(line: Line) {
    this.#line = line
  }

  #bytes(stream: StreamLike): ByteStream {
    return this.#line === 2 ? fromPipe(stream as PipeStream) : fromEvents(stream as EventStream)
  }

  /** Answers streams of `protocol`. */
  async handle(node: NodeLike, protocol: string, limit: number, answer: Answer): Promise<void> {
    const handler =
      this.#line === 2
        ? ({ stream, connection }: { stream: StreamLike; connection: ConnectionLike }) =>
            answer(connection.remotePeer.toString(), this.#bytes(stream))
        : (stream: StreamLike, connection: ConnectionLike) =>
            answer(connection.remotePeer.toString(), this.#bytes(stream))
    await node.handle(protocol, handler, { maxInboundStreams: limit, maxOutboundStreams: limit })
  }

  /** Opens a stream of `protocol` on a connection. The signal ends only the opening. */
  async open(
    connection: ConnectionLike,
    protocol: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<ByteStream> {
    // libp2p 3 may listen to the signal it is given for as long as that lives, and keeps the connection with its listener.
    const opening = new AbortController()
    const abort = (): void => opening.abort(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      const stream = await connection.newStream(protocol, {
        signal: opening.signal,
        maxOutboundStreams: limit,
      })
      return this.#bytes(stream)
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }
}

type Answer = (peer: string, stream: ByteStream) => void
