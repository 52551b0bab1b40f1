import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { Streams } from '../../src/http/streams.ts'
import { heapUsed } from '../cluster/memory.ts'
import { CountedClock } from '../counted-clock.ts'
import { connectTo, Reader, until } from './face.ts'
import { settle } from '../settle.ts'
import { alone, HEARTBEAT_MS, listenersOf, Scene } from './scene.ts'

const PATHS = ['/v1/events', '/v1/watch/s']

const openAll = async (scene: Scene): Promise<Reader[]> => {
  const readers = PATHS.map((path) => scene.ask(path))
  await until(() => readers.every(({ events }) => events.length === 1))
  return readers
}

test('heartbeats are comments, and one timer beats for all', async () => {
  await using scene = await Scene.open()
  const readers = await openAll(scene)
  expect(scene.clock.pending).toBe(1)
  await scene.clock.pass(HEARTBEAT_MS - 1)
  expect(readers.map(({ comments }) => comments.length)).toEqual([0, 0])
  await scene.clock.pass(1)
  expect(readers.map(({ comments }) => comments.length)).toEqual([1, 1])
  await scene.clock.pass(3 * HEARTBEAT_MS)
  expect(readers.map(({ comments }) => comments.length)).toEqual([4, 4])
  expect(readers.map(({ events, isOver }) => [events.length, isOver])).toEqual([
    [1, false],
    [1, false],
  ])
  expect(scene.clock.pending).toBe(1)
})

test('heartbeats go on when one of two goes, and begin anew when somebody comes after the last', async () => {
  await using scene = await Scene.open()
  const [one, other] = await openAll(scene)
  one!.leave()
  await until(() => scene.streams.size === 1)
  await scene.clock.pass(HEARTBEAT_MS)
  expect(other!.comments).toHaveLength(1)
  other!.leave()
  await until(() => scene.streams.size === 0)
  expect(scene.clock.pending).toBe(0)
  const [next] = await openAll(scene)
  await scene.clock.pass(HEARTBEAT_MS)
  expect(next!.comments).toHaveLength(1)
})

test('above maxStreams is refused, until one has gone', async () => {
  await using scene = await Scene.open({ maxStreams: 2 })
  const [one] = await openAll(scene)
  for (const path of PATHS) {
    const refused = scene.ask(path)
    await until(() => refused.isOver)
    expect([refused.response!.statusCode, refused.text]).toEqual([400, 'ROLLCALL_HTTP_BUSY'])
  }
  one!.leave()
  await until(() => scene.streams.size === 1)
  const next = scene.ask('/v1/events')
  await until(() => next.events.length === 1)
})

/** Requests that have not arrived anywhere are refused all the same. */
function expectClosed(streams: Streams): void {
  const [request, response] = [{ headers: {} } as never, {} as never]
  const error = expect.objectContaining({ code: 'ROLLCALL_CLOSED' }) as Error
  expect(() => streams.events(request, response)).toThrow(error)
  expect(() => streams.watch(request, response, 's', undefined, {})).toThrow(error)
}

describe('close', () => {
  test('ends all, lets go of the registry and of time, and refuses more', async () => {
    const registry = await alone()
    const before = listenersOf(registry)
    const clock = new CountedClock()
    const streams = new Streams(registry, { heartbeatMs: 10, maxBufferBytes: 1_000, maxStreams: 10, clock })
    const server = createServer((request, response) => {
      if (request.url === '/v1/events') streams.events(request, response)
      else streams.watch(request, response, 's', undefined, {})
    })
    const readers = PATHS.map((path) => Reader.ask(server, path))
    await until(() => readers.every(({ events }) => events.length === 1))
    registry.register({ name: 's', version: '1.0.0' })
    streams.close()
    streams.close()
    await until(() => readers.every(({ isOver }) => isOver))
    expect(readers.map(({ names }) => names)).toEqual([['begin', 'service_up'], ['snapshot']])
    expect(readers.map(({ response }) => response?.complete)).toEqual([true, true])
    expect([streams.size, clock.pending]).toEqual([0, 0])
    expect(listenersOf(registry)).toEqual(before)
    expectClosed(streams)
    await registry.close()
  })

  test('is done when the registry closes', async () => {
    await using scene = await Scene.open()
    const readers = await openAll(scene)
    const closed = scene.registry.close()
    expectClosed(scene.streams)
    await closed
    await until(() => readers.every(({ isOver }) => isOver))
    expect(readers.map(({ response }) => response?.complete)).toEqual([true, true])
    expect([scene.streams.size, scene.clock.pending]).toEqual([0, 0])
  })

  test('of a reader that takes nothing is over within two heartbeats', async () => {
    await using scene = await Scene.open()
    const readers = await openAll(scene)
    for (const reader of readers) reader.pause()
    for (let n = 0; n < 30; n++) {
      scene.registry.register({ name: 's', version: '1.0.0', metadata: { text: 'x'.repeat(10_000) } })
      await scene.clock.pass(10)
    }
    await scene.registry.close()
    await settle()
    expect(scene.streams.size).toBe(2)
    await scene.clock.pass(2 * HEARTBEAT_MS)
    expect([scene.streams.size, scene.clock.pending]).toEqual([0, 0])
  })

  test('also when all has been written, and a part has not been taken', async () => {
    await using scene = await Scene.open()
    const reader = scene.ask('/v1/events')
    await until(() => reader.events.length === 1)
    reader.pause()
    for (let n = 0; n < 38; n++) {
      scene.registry.register({ name: 's', version: '1.0.0', metadata: { text: 'x'.repeat(600) } })
      await scene.clock.pass(10)
    }
    scene.streams.close()
    await settle()
    expect(scene.streams.size).toBe(1)
    await scene.clock.pass(2 * HEARTBEAT_MS)
    expect([scene.streams.size, scene.clock.pending]).toEqual([0, 0])
  })
})

describe('a reader that is gone', () => {
  test('leaves nothing behind, a thousand times over', async () => {
    await using scene = await Scene.open()
    const comeAndGo = async (): Promise<void> => {
      for (let n = 0; n < 500; n++) {
        for (const reader of await openAll(scene)) reader.leave()
        await until(() => scene.streams.size === 0)
      }
    }
    const before = [listenersOf(scene.registry), scene.clock.pending]
    await comeAndGo()
    const heap = await heapUsed()
    await comeAndGo()
    expect([listenersOf(scene.registry), scene.clock.pending]).toEqual(before)
    // What stayed of a thousand readers would be some MB.
    expect((await heapUsed()) - heap).toBeLessThan(1_000_000)
  })

  test('while an earlier response of its connection is on its way is noticed all the same', async () => {
    await using scene = await Scene.open()
    const near = connectTo(scene.server)
    const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    near.write(ask('/v1/events') + ask('/v1/events') + ask('/v1/watch/s'))
    await until(() => scene.streams.size === 3)
    near.destroy()
    await until(() => scene.streams.size === 0)
    expect(scene.clock.pending).toBe(0)
  })

  test('before it was answered is noticed all the same', async () => {
    await using scene = await Scene.open()
    const server = createServer((request, response) => {
      request.socket.destroy()
      setImmediate(() => {
        if (request.url === '/v1/events') scene.streams.events(request, response)
        else scene.streams.watch(request, response, 's', undefined, {})
      })
    })
    for (const path of PATHS) {
      const reader = Reader.ask(server, path)
      await until(() => reader.isOver)
      await settle()
      expect([scene.streams.size, scene.clock.pending]).toEqual([0, 0])
    }
  })
})

test('HEAD is answered by the headers alone, and is over', async () => {
  await using scene = await Scene.open()
  for (const path of PATHS) {
    const reader = scene.ask(path, { method: 'HEAD' })
    await until(() => reader.isOver)
    expect(reader.response!.headers['content-type']).toBe('text/event-stream')
    expect([scene.streams.size, scene.clock.pending]).toEqual([0, 0])
  }
})
