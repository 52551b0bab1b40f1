import { beforeEach, describe, expect, test } from 'vitest'
import { backoffMs } from '../../../src/http/page/client/backoff.ts'
import { Connection } from '../../../src/http/page/client/connection.ts'
import { ReadError } from '../../../src/http/page/client/read-error.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'

/** A stream that a test writes. */
class Line {
  readonly lastId: string
  readonly signal: AbortSignal
  readonly body: ReadableStream<Uint8Array>
  #controller!: ReadableStreamDefaultController<Uint8Array>

  constructor(lastId: string, signal: AbortSignal) {
    this.lastId = lastId
    this.signal = signal
    this.body = new ReadableStream({ start: (controller) => void (this.#controller = controller) })
    // As the body of a response does.
    signal.addEventListener('abort', () => {
      this.#controller.error(signal.reason)
    })
  }

  write(written: string | Uint8Array): void {
    this.#controller.enqueue(typeof written === 'string' ? new TextEncoder().encode(written) : written)
  }

  end(): void {
    this.#controller.close()
  }
}

let clock: VirtualClock
let lines: Line[]
let told: string[]
let refusal: Error | undefined
let connection: Connection

beforeEach(() => {
  clock = new VirtualClock()
  lines = []
  told = []
  refusal = undefined
  connection = new Connection({
    open(lastId, signal) {
      if (refusal !== undefined) return Promise.reject(refusal)
      const line = new Line(lastId, signal)
      lines.push(line)
      return Promise.resolve(line.body)
    },
    clock,
    random: { next: () => 0 },
    opened: () => told.push(`${clock.now()} opened`),
    event({ name, data }) {
      if (name === 'bad') throw new Error('it cannot be read')
      told.push(`${clock.now()} ${name} ${data}`)
    },
    lost: (why) => told.push(`${clock.now()} lost: ${why}`),
    refused: () => told.push(`${clock.now()} refused`),
  })
})

const UP = 'id: e:1\nevent: node_up\ndata: {}\n\n'

test('tells when the stream is open, and of every event', async () => {
  connection.start()
  await clock.advance(1)
  lines[0]!.write(UP + UP)
  await clock.advance(1)
  expect(told).toEqual(['0 opened', '1 node_up {}', '1 node_up {}'])
})

test('a character that the network cut in two is whole', async () => {
  connection.start()
  await clock.advance(1)
  for (const byte of new TextEncoder().encode('data: 🦊\n\n')) lines[0]!.write(Uint8Array.of(byte))
  await clock.advance(1)
  expect(told.slice(1)).toEqual(['1 message 🦊'])
})

test('goes on after the last event where the stream broke off', async () => {
  connection.start()
  await clock.advance(1)
  lines[0]!.write(UP)
  await clock.advance(1)
  lines[0]!.end()
  await clock.advance(2_000)
  expect(lines.map(({ lastId }) => lastId)).toEqual(['', 'e:1'])
  expect(told.slice(2)).toEqual(['2 lost: the server ended the stream', '1002 opened'])
})

test('goes on after an event that cannot be read', async () => {
  connection.start()
  await clock.advance(1)
  lines[0]!.write(`${UP}id: e:2\nevent: bad\ndata: {}\n\n${UP}`)
  await clock.advance(2_000)
  expect(lines.map(({ lastId }) => lastId)).toEqual(['', 'e:2'])
  expect(told).toEqual(['0 opened', '1 node_up {}', '1 lost: it cannot be read', '1001 opened'])
})

test('tries again after 1, 2, 4, 8, 15, 15 s, and after a success from the beginning', async () => {
  refusal = new Error('nobody there')
  connection.start()
  await clock.advance(46_000)
  const at = [0, 1_000, 3_000, 7_000, 15_000, 30_000, 45_000]
  expect(told).toEqual(at.map((ms) => `${ms} lost: nobody there`))
  refusal = undefined
  await clock.advance(15_000)
  lines[0]!.end()
  await clock.advance(1_000)
  expect(told.slice(at.length)).toEqual([
    '60000 opened',
    '61000 lost: the server ended the stream',
    '62000 opened',
  ])
})

test('a stream that is silent for a minute is broken; a heartbeat is no silence', async () => {
  connection.start()
  await clock.advance(59_000)
  lines[0]!.write(': beat\n\n')
  await clock.advance(59_000)
  expect(told).toEqual(['0 opened'])
  await clock.advance(3_000)
  expect(told.slice(1)).toEqual(['119000 lost: the server fell silent', '120000 opened'])
})

test('lets go of a stream that it is done with', async () => {
  connection.start()
  await clock.advance(1)
  lines[0]!.end()
  await clock.advance(1)
  expect(lines[0]!.signal.aborted).toBe(true)
})

describe('a server that wants a token', () => {
  test('is asked once, and again when there is one', async () => {
    refusal = new ReadError(401, 'a token is needed')
    connection.start()
    await clock.advance(60_000)
    expect(told).toEqual(['0 refused'])
    refusal = undefined
    connection.start()
    await clock.advance(1)
    expect(told.slice(1)).toEqual(['60000 opened'])
  })

  test('is not asked twice at a time', async () => {
    connection.start()
    connection.start()
    await clock.advance(1)
    expect(lines).toHaveLength(1)
  })
})

test('chance takes up to half of a wait off', () => {
  expect(backoffMs(1, 0)).toBe(1_000)
  expect(backoffMs(1, 0.999_999)).toBeCloseTo(500, 0)
  expect(backoffMs(60, 0.5)).toBe(11_250)
})
