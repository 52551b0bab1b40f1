import { createServer } from 'node:http'
import { expect, test, vi } from 'vitest'
import { EventStream } from '../../src/http/event-stream.ts'
import { Reader, until } from './face.ts'
import { settle } from '../settle.ts'

/** A stream, and its reader. */
async function streamed(): Promise<[EventStream, Reader]> {
  let stream: EventStream | undefined
  const server = createServer((request, response) => (stream = new EventStream(request, response)))
  const reader = Reader.ask(server, '/')
  await until(() => reader.retryMs !== undefined)
  return [stream!, reader]
}

const event = (text: string): Buffer => Buffer.from(`data: ${text}\n\n`)
const BIG = event('x'.repeat(1_000_000))

/** Whether it is over by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isOver = false
  void promise.finally(() => (isOver = true))
  await settle()
  return isOver
}

test('what is sent arrives in order, and is sent when the reader has room for more', async () => {
  const [stream, reader] = await streamed()
  reader.pause()
  const sent = stream.send(BIG)
  expect(await isSettled(sent)).toBe(false)
  reader.resume()
  await sent
  await stream.send(event('last'))
  await until(() => reader.events.length === 2)
  expect(reader.events.map(({ data }) => data.length)).toEqual([1_000_000, 4])
  stream.end()
  await until(() => reader.isOver)
  expect(reader.response!.complete).toBe(true)
})

test('what cannot be sent any more is over at once: by the reader, by the end, by a cut', async () => {
  const ends = [(_: EventStream, reader: Reader) => reader.leave(), (stream: EventStream) => stream.cut()]
  for (const end of ends) {
    const [stream, reader] = await streamed()
    const closed = vi.fn()
    stream.onClose(closed)
    reader.pause()
    const sent = stream.send(BIG)
    expect(await isSettled(sent)).toBe(false)
    expect(stream.isOpen).toBe(true)
    end(stream, reader)
    expect(await isSettled(sent)).toBe(true)
    expect(stream.isOpen).toBe(false)
    expect(await isSettled(stream.send(BIG))).toBe(true)
    expect(closed).toHaveBeenCalledOnce()
  }
  const [stream] = await streamed()
  stream.end()
  expect(stream.isOpen).toBe(false)
  expect(await isSettled(stream.send(BIG))).toBe(true)
})
