import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import * as http from 'node:http'
import * as net from 'node:net'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { follow } from '../../src/tracker/follow.ts'
import { Monitor } from '../../src/tracker/monitor.ts'
import { codeOf } from '../wire/codes.ts'

const closing = (monitor: Monitor): Promise<unknown> => new Promise((resolve) => monitor.onClose(resolve))

async function listening<S extends net.Server>(server: S): Promise<S> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return server
}

describe.each([
  ['net', () => net.createServer()],
  ['http', () => http.createServer()],
])('a %s server', (_kind, create) => {
  test('closes it when it closes, and all listeners are gone', async () => {
    const server = await listening(create())
    const before = server.listenerCount('close')
    const monitor = Monitor.of(server)
    expect(monitor.closed).toBe(false)
    server.close()
    expect(await closing(monitor)).toBe('close')
    expect(server.listenerCount('close')).toBe(before)
    expect(server.listenerCount('exit')).toBe(0)
  })

  test('is alive before it listens', async () => {
    const server = create()
    const monitor = Monitor.of(server)
    expect(monitor.closed).toBe(false)
    await listening(server)
    expect(monitor.closed).toBe(false)
    server.close()
    expect(await closing(monitor)).toBe('close')
  })

  test('that has closed gives a closed monitor; one that listens again an open one', async () => {
    const server = await listening(create())
    server.close()
    await once(server, 'close')
    expect(Monitor.of(server).closed).toBe(true)
    await listening(server)
    expect(Monitor.of(server).closed).toBe(false)
  })
})

describe('a socket', () => {
  test('closes it when it closes, and is dead once destroyed', async () => {
    const server = await listening(net.createServer((socket) => socket.destroy()))
    const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1').resume()
    const monitor = Monitor.of(socket)
    expect(monitor.closed).toBe(false)
    expect(await closing(monitor)).toBe('close')
    expect(Monitor.of(socket).closed).toBe(true)
  })

  test('so does any stream', async () => {
    const stream = new PassThrough()
    const monitor = Monitor.of(stream)
    stream.destroy()
    expect(await closing(monitor)).toBe('close')
    expect(Monitor.of(stream).closed).toBe(true)
  })
})

test('a worker closes it when it exits, and is dead then', async () => {
  const worker = new Worker('require("node:worker_threads").parentPort.once("message", () => {})', {
    eval: true,
  })
  const monitor = Monitor.of(worker)
  await once(worker, 'online')
  expect([monitor.closed, Monitor.of(worker).closed]).toEqual([false, false])
  worker.postMessage('go')
  expect(await closing(monitor)).toBe('exit')
  expect(Monitor.of(worker).closed).toBe(true)
  expect(worker.listenerCount('exit')).toBe(0)
})

describe('a child process', () => {
  test('closes it when it exits, and is dead then', async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.once("data", () => process.exit(3))'])
    const monitor = Monitor.of(child)
    await once(child, 'spawn')
    expect([monitor.closed, Monitor.of(child).closed]).toEqual([false, false])
    child.stdin.end('go')
    expect(await closing(monitor)).toBe('exit')
    expect(Monitor.of(child).closed).toBe(true)
  })

  test('also by a signal', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const monitor = Monitor.of(child)
    await once(child, 'spawn')
    child.kill('SIGKILL')
    await closing(monitor)
    expect(Monitor.of(child).closed).toBe(true)
  })

  test('that could not be spawned closes it, too', async () => {
    const child = spawn('/nonexistent')
    const monitor = Monitor.of(child)
    child.on('error', () => {})
    await closing(monitor)
    expect(Monitor.of(child).closed).toBe(true)
  })
})

describe('a monitor or a signal', () => {
  test('a monitor closes those that follow it, with its reason', () => {
    const source = new Monitor()
    const followers = [Monitor.of(source), Monitor.of(source)]
    followers[0]!.close('alone')
    expect(source.closed).toBe(false)
    source.close('over')
    expect(followers.map(({ reason }) => reason)).toEqual(['alone', 'over'])
    expect(Monitor.of(source).reason).toBe('over')
  })

  test('a signal closes it with its reason', () => {
    const controller = new AbortController()
    const monitor = Monitor.of(controller.signal)
    controller.abort('enough')
    expect(monitor.reason).toBe('enough')
    expect(Monitor.of(controller.signal).reason).toBe('enough')
  })
})

describe('any emitter', () => {
  test.each(['close', 'exit'])('of %s closes it', (event) => {
    const emitter = new EventEmitter()
    const monitor = Monitor.of(emitter)
    emitter.emit('other')
    expect(monitor.closed).toBe(false)
    emitter.emit(event)
    expect(monitor.reason).toBe(event)
    expect(emitter.eventNames()).toEqual([])
  })

  test('many monitors of one emitter share its listeners, and closing them removes these', () => {
    const emitter = new EventEmitter()
    const monitors = Array.from({ length: 20 }, () => Monitor.of(emitter))
    expect([emitter.listenerCount('close'), emitter.listenerCount('exit')]).toEqual([1, 1])
    for (const monitor of monitors.slice(1)) monitor.close()
    expect(emitter.listenerCount('close')).toBe(1)
    monitors[0]!.close()
    expect(emitter.eventNames()).toEqual([])
    // And it can be followed anew.
    const again = Monitor.of(emitter)
    emitter.emit('close')
    expect(again.closed).toBe(true)
  })

  test('one that ends twice, as a child that exits and closes, ends those that follow it later as well', () => {
    const emitter = new EventEmitter()
    const first = Monitor.of(emitter)
    emitter.emit('exit')
    const second = Monitor.of(emitter)
    emitter.emit('close')
    expect([first.reason, second.reason]).toEqual(['exit', 'close'])
  })
})

test('following calls back once, and is over then', () => {
  const emitter = new EventEmitter()
  const seen: unknown[] = []
  follow(emitter, (reason) => seen.push('first', reason))
  emitter.emit('close')
  follow(emitter, (reason) => seen.push('second', reason))
  emitter.emit('exit')
  expect(seen).toEqual(['first', 'close', 'second', 'exit'])
})

test.each([undefined, null, 1, 'server', {}, { on: true }, () => {}])(
  'what has no end is refused: %s',
  (thing) => {
    expect(codeOf(() => Monitor.of(thing as object))).toBe('ROLLCALL_INVALID_ARGUMENT')
  },
)
