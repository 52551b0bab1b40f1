import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { Streams } from '../../src/http/streams.ts'
import { CountedClock } from './counted-clock.ts'
import { Reader, settle, until } from './face.ts'
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
    expect(readers.map(({ names }) => names)).toEqual([['open', 'service_up'], ['snapshot']])
    expect(readers.map(({ response }) => response?.complete)).toEqual([true, true])
    expect([streams.size, clock.pending]).toEqual([0, 0])
    expect(listenersOf(registry)).toEqual(before)
    for (const ask of [
      () => streams.events({ headers: {} } as never, {} as never),
      () => streams.watch({ headers: {} } as never, {} as never, 's', undefined, {}),
    ]) {
      expect(ask).toThrow(expect.objectContaining({ code: 'ROLLCALL_CLOSED' }))
    }
    await registry.close()
  })

  test('is done when the registry closes', async () => {
    await using scene = await Scene.open()
    const readers = await openAll(scene)
    await scene.registry.close()
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
})

describe('a reader that is gone', () => {
  test('leaves nothing behind, a thousand times over', async () => {
    await using scene = await Scene.open()
    const before = [listenersOf(scene.registry), scene.clock.pending]
    for (let n = 0; n < 1_000; n += PATHS.length) {
      for (const reader of await openAll(scene)) reader.leave()
      await until(() => scene.streams.size === 0)
    }
    expect([listenersOf(scene.registry), scene.clock.pending]).toEqual(before)
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
