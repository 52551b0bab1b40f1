import { getEventListeners } from 'node:events'
import { multiaddr } from '@multiformats/multiaddr'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { RollcallError } from '../../src/errors.ts'
import type { ByteStream } from '../../src/transports/libp2p/byte-stream.ts'
import type { ConnectionLike } from '../../src/transports/libp2p/libp2p-like.ts'
import { FramedChannel } from '../../src/transports/libp2p/framed-channel.ts'
import { heapUsed } from '../cluster/memory.ts'
import { makeLine2, makeLine3, Recorder, turn, until, type Made } from './libp2p-harness.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()))
})

const LIMITS = { maxMessageBytes: 1_000, stallMs: 60_000 }
const END = [0xff, 0xff, 0xff, 0xff]

/** A stream whose peer is the test. */
class FakeStream implements ByteStream {
  readonly written: number[] = []
  aborted: Error | undefined
  closed = false
  /** Whether the peer takes what is written. */
  takes = true
  readonly #arriving: (Uint8Array | 'end' | Error)[] = []
  #wake: () => void = () => undefined

  arrive(...things: (readonly number[] | 'end' | Error)[]): void {
    this.#arriving.push(
      ...things.map((thing) =>
        Array.isArray(thing) ? Uint8Array.from(thing as number[]) : (thing as 'end'),
      ),
    )
    this.#wake()
  }

  write(bytes: Uint8Array): Promise<void> {
    if (!this.takes) return new Promise(() => undefined)
    this.written.push(...bytes)
    return Promise.resolve()
  }

  readonly chunks = {
    next: async (): Promise<IteratorResult<Uint8Array>> => {
      while (this.#arriving.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
      const thing = this.#arriving.shift()!
      if (thing instanceof Uint8Array) return { done: false, value: thing }
      if (thing === 'end') return { done: true, value: undefined }
      throw thing
    },
  }

  closeWrite(): Promise<void> {
    this.closed = true
    return Promise.resolve()
  }

  abort(reason: Error): void {
    this.aborted ??= reason
    this.arrive(reason)
  }
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing was thrown',
    (error: unknown) => (error as RollcallError).code,
  )

async function readAll(channel: FramedChannel): Promise<number[][]> {
  const all: number[][] = []
  for await (const message of channel.messages) all.push([...message])
  return all
}

describe('framing', () => {
  test('is length, bytes, end mark', async () => {
    const stream = new FakeStream()
    const channel = new FramedChannel(stream, LIMITS)
    await channel.send(Uint8Array.from([7, 8]))
    await channel.send(new Uint8Array(0))
    await channel.close()
    expect(stream.written).toEqual([0, 0, 0, 2, 7, 8, 0, 0, 0, 0, ...END])
    expect(stream.closed).toBe(true)
  })

  test('is read however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1 }),
        async (messages, cuts) => {
          const source = new FakeStream()
          const sender = new FramedChannel(source, LIMITS)
          for (const message of messages) await sender.send(message)
          await sender.close()
          const target = new FakeStream()
          for (let at = 0, n = 0; at < source.written.length; n += 1) {
            const size = cuts[n % cuts.length]!
            target.arrive(source.written.slice(at, at + size))
            at += size
          }
          target.arrive('end')
          source.arrive(END, 'end')
          await readAll(sender)
          await sender.done
          expect(await readAll(new FramedChannel(target, LIMITS))).toEqual(
            messages.map((message) => [...message]),
          )
        },
      ),
      { numRuns: 50 },
    )
  })

  test('a big message leaves in pieces and is one message', async () => {
    const stream = new FakeStream()
    const channel = new FramedChannel(stream, { ...LIMITS, maxMessageBytes: 1_000_000 })
    const message = Uint8Array.from({ length: 200_000 }, (_, index) => index & 0xff)
    await channel.send(message)
    expect(stream.written.length).toBe(4 + 200_000)
    expect(Uint8Array.from(stream.written.slice(4))).toEqual(message)
  })
})

describe('what a peer does wrong breaks the channel', () => {
  test.each<[string, (readonly number[] | 'end' | Error)[], string]>([
    ['the connection drops at once', ['end'], 'ROLLCALL_SYNC_FAILED'],
    ['it drops after a message', [[0, 0, 0, 1, 5], 'end'], 'ROLLCALL_SYNC_FAILED'],
    ['it drops inside a header', [[0, 0], 'end'], 'ROLLCALL_SYNC_FAILED'],
    ['it drops inside a message', [[0, 0, 0, 2, 5], 'end'], 'ROLLCALL_SYNC_FAILED'],
    ['it is reset', [new Error('reset')], 'ROLLCALL_SYNC_FAILED'],
    ['C73: it announces more than is allowed', [[0, 0, 3, 0xe9]], 'ROLLCALL_FRAME_LIMIT'],
    ['C73: it announces 4 GiB', [[0xff, 0xff, 0xff, 0xfe]], 'ROLLCALL_FRAME_LIMIT'],
  ])('%s', async (_what, arriving, code) => {
    const stream = new FakeStream()
    const channel = new FramedChannel(stream, LIMITS)
    stream.arrive(...arriving)
    expect(await codeOf(readAll(channel))).toBe(code)
    expect(stream.aborted).toBeDefined()
    await channel.done
    expect(await codeOf(channel.send(new Uint8Array(1)))).toBe(code)
  })

  test('C73: it sends nothing, or takes nothing, for too long', async () => {
    const silent = new FakeStream()
    const impatient = { ...LIMITS, stallMs: 20 }
    expect(await codeOf(readAll(new FramedChannel(silent, impatient)))).toBe('ROLLCALL_SYNC_FAILED')
    expect(silent.aborted).toBeDefined()
    const full = new FakeStream()
    full.takes = false
    const channel = new FramedChannel(full, impatient)
    const sends = [channel.send(new Uint8Array(1)), channel.send(new Uint8Array(1))]
    expect(await Promise.all(sends.map(codeOf))).toEqual(['ROLLCALL_SYNC_FAILED', 'ROLLCALL_SYNC_FAILED'])
    await expect(channel.close()).resolves.toBeUndefined()
  })

  test('a slow consumer is not a stalled peer', async () => {
    const stream = new FakeStream()
    const channel = new FramedChannel(stream, { ...LIMITS, stallMs: 20 })
    stream.arrive([0, 0, 0, 1, 5], [0, 0, 0, 1, 6], END, 'end')
    const got: number[] = []
    for await (const message of channel.messages) {
      got.push(...message)
      await turn(60)
    }
    expect(got).toEqual([5, 6])
  })
})

test('what the caller does wrong is refused and breaks nothing', async () => {
  const stream = new FakeStream()
  const channel = new FramedChannel(stream, LIMITS)
  expect(await codeOf(channel.send(new Uint8Array(1_001)))).toBe('ROLLCALL_LIMIT_EXCEEDED')
  await channel.send(new Uint8Array(1_000))
  stream.arrive(END, 'end')
  expect(await readAll(channel)).toEqual([])
  expect(await codeOf(readAll(channel))).toBe('ROLLCALL_INVALID_ARGUMENT')
  await channel.close()
  await channel.close()
  await channel.done
  expect(stream.aborted).toBeUndefined()
  expect(await codeOf(channel.send(new Uint8Array(1)))).toBe('ROLLCALL_SYNC_FAILED')
})

test('leaving the loop and closing reads the rest away, so that the peer can end in order', async () => {
  const stream = new FakeStream()
  const channel = new FramedChannel(stream, LIMITS)
  stream.arrive([0, 0, 0, 1, 5], [0, 0, 0, 1, 6])
  for await (const message of channel.messages) {
    expect([...message]).toEqual([5])
    break
  }
  await channel.close()
  stream.arrive([0, 0, 0, 1, 7], END, 'end')
  await channel.done
  expect(stream.aborted).toBeUndefined()
})

test('an open channel keeps nothing of what went through it', async () => {
  const stream = new FakeStream()
  const channel = new FramedChannel(stream, LIMITS)
  const incoming = channel.messages[Symbol.asyncIterator]()
  const pass = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      stream.arrive([0, 0, 0, 1, 7])
      await incoming.next()
      await channel.send(Uint8Array.of(7))
    }
    stream.written.length = 0
  }
  await pass(1_000)
  const before = await heapUsed()
  await pass(10_000)
  expect((await heapUsed()) - before).toBeLessThan(1e6)
  channel.abort(new Error('over'))
})

describe.each([
  ['2', makeLine2],
  ['3', makeLine3],
])('on libp2p %s', (_line, make) => {
  async function pair(
    options = {},
  ): Promise<{ a: Made; b: Made; atA: Recorder; connection: ConnectionLike }> {
    const a = await make(options)
    const atA = new Recorder()
    cleanups.push(() => a.transport.stop())
    await a.transport.start(atA)
    const b = await make({ ...options, join: a.transport.addresses() })
    cleanups.push(() => b.transport.stop())
    await b.transport.start(new Recorder())
    await until('they meet', () => b.transport.neighbours().length + a.transport.neighbours().length === 2)
    const [connection] = b.node.getConnections()
    return { a, b, atA, connection: connection! }
  }

  const syncStreams = (connection: ConnectionLike): number =>
    connection.streams.filter(({ protocol }) => protocol?.startsWith('/rollcall/') === true).length

  test('300 syncs one after the other leave no stream behind', async () => {
    const { a, b, atA, connection } = await pair()
    for (let n = 0; n < 300; n += 1) {
      const near = await b.transport.open(a.transport.id, 'sync', AbortSignal.timeout(5_000))
      await near.send(Uint8Array.from([n & 0xff]))
      await near.close()
      await until('a sees the channel', () => atA.channels.length === n + 1)
      const far = atA.channels[n]!.channel
      const got = []
      for await (const message of far.messages) got.push(...message)
      expect(got).toEqual([n & 0xff])
      await far.close()
      for await (const message of near.messages) expect(message).toBe('nothing')
    }
    await until('no stream is left', () => syncStreams(connection) === 0)
  })

  test('C73: a peer that stalls is let go on both sides', async () => {
    const { a, b, atA, connection } = await pair({ channelStallMs: 300 })
    const near = await b.transport.open(a.transport.id, 'sync', AbortSignal.timeout(5_000))
    await until('a sees the channel', () => atA.channels.length === 1)
    // A reads nothing: b stalls. B sends nothing more: a stalls.
    const sending = (async () => {
      for (;;) await near.send(new Uint8Array(256 * 1024))
    })()
    expect(await codeOf(sending)).toBe('ROLLCALL_SYNC_FAILED')
    const far = atA.channels[0]!.channel
    const reading = (async () => {
      for await (const message of far.messages) expect(message.length).toBe(256 * 1024)
    })()
    expect(await codeOf(reading)).toBe('ROLLCALL_SYNC_FAILED')
    await until('no stream is left', () => syncStreams(connection) === 0)
  })
})

test('on libp2p 3, who opens a channel on a connection that is full is not followed when it is open', async () => {
  const [a, b] = [await makeLine3(), await makeLine3()]
  for (const { transport } of [a, b]) cleanups.push(() => transport.stop())
  await a.transport.start(new Recorder())
  await b.transport.start(new Recorder())
  await b.node.dial(
    a.transport.addresses().map((address) => multiaddr(address)),
    { signal: AbortSignal.timeout(5_000) },
  )
  await until('they meet', () => b.transport.neighbours().length === 1)
  const { muxer } = b.node.getConnections()[0] as unknown as { muxer: Muxer3 }
  const createStream = muxer.createStream.bind(muxer)
  muxer.createStream = async (options) => {
    const stream = await createStream(options)
    const send = stream.send.bind(stream)
    stream.send = (bytes) => {
      stream.send = send
      send(bytes)
      setTimeout(() => stream.dispatchEvent(new Event('drain')), 10)
      return false
    }
    return stream
  }
  const { signal } = new AbortController()
  await b.transport.open(a.transport.id, 'sync', signal)
  expect(getEventListeners(signal, 'abort')).toEqual([])

  const late = new AbortController()
  const opening = b.transport.open(a.transport.id, 'sync', late.signal)
  late.abort(new Error('too late'))
  await expect(opening).rejects.toThrow('too late')
})

/** What the test above takes hold of. */
interface Muxer3 {
  createStream(options: unknown): Promise<EventTarget & { send(bytes: Uint8Array): boolean }>
}
