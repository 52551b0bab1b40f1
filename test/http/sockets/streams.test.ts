import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { EventSource } from 'eventsource'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Streams } from '../../../src/http/streams.ts'
import type { StreamsOptions } from '../../../src/http/streams.ts'
import type { Registry } from '../../../src/registry/registry.ts'
import type { Snapshot } from '../../../src/registry/watch-types.ts'
import type { Clock, Timer } from '../../../src/tracker/ports.ts'
import { backgroundClock } from '../../../src/tracker/system.ts'
import { heapUsed } from '../../cluster/memory.ts'
import { Reader, serverOf } from '../face.ts'
import { alone } from '../scene.ts'

const S = { name: 's', version: '1.0.0' }
const MIB = 1_048_576
const OPTIONS = { heartbeatMs: 15_000, maxBufferBytes: MIB, maxStreams: 1_000 }

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const HEARTBEAT_MS = 15_000

/** The time of the system, but for heartbeats, which are called by hand. */
class HandBeaten implements Clock {
  #beat: (() => void) | undefined

  now = (): number => backgroundClock.now()
  wallNow = (): number => backgroundClock.wallNow()

  setTimer(callback: () => void, ms: number): Timer {
    if (ms !== HEARTBEAT_MS) return backgroundClock.setTimer(callback, ms)
    this.#beat = callback
    return { cancel: () => (this.#beat = undefined) }
  }

  beat(): void {
    this.#beat?.()
  }
}

interface Face {
  readonly registry: Registry
  readonly streams: Streams
  readonly server: Server
  readonly port: number
}

async function open(options: Partial<StreamsOptions> = {}, port = 0): Promise<Face> {
  const registry = await alone()
  const streams = new Streams(registry, { ...OPTIONS, ...options })
  const server = serverOf(streams)
  await once(server.listen(port, '127.0.0.1'), 'listening')
  closing.push(async () => {
    await registry.close()
    server.closeAllConnections()
    if (server.listening) await once(server.close(), 'close')
  })
  return { registry, streams, server, port: (server.address() as AddressInfo).port }
}

/** What an EventSource is told, under the names that matter here. */
function listen(
  url: string,
  names: readonly string[],
): { readonly told: MessageEvent[]; readonly source: EventSource } {
  const source = new EventSource(url)
  closing.push(() => source.close())
  const told: MessageEvent[] = []
  for (const name of names) {
    source.addEventListener(name, (event) => told.push(event))
  }
  return { told, source }
}

const snapshotOf = ({ data }: { readonly data: unknown }): Snapshot => JSON.parse(String(data)) as Snapshot

const numbersIn = (reader: Reader): number[] => reader.events.map(({ id }) => Number(id?.split(':')[1]))

const weightsIn = (reader: Reader): (number | undefined)[] =>
  reader.events.map((event) => snapshotOf(event).instances[0]?.weight)

describe('an EventSource', () => {
  test('whose connection breaks again and again is told every event once, in order', async () => {
    const { registry, server, port } = await open()
    const { told } = listen(`http://127.0.0.1:${port}/v1/events`, ['begin', 'reset', 'service_up'])
    await vi.waitFor(() => expect(told).toHaveLength(1))
    const registered: string[] = []
    const register = (): void => {
      const name = `s${registered.length}`
      registered.push(name)
      registry.register({ name, version: '1.0.0' })
    }
    for (let broken = 0; broken < 3; broken++) {
      for (let n = 0; n < 50; n++) {
        register()
        if (n === 25) server.closeAllConnections()
        if (n % 10 === 0) await sleep(5)
      }
      await vi.waitFor(() => expect(told).toHaveLength(1 + registered.length), 5_000)
    }
    expect(told.map(({ type }) => type)).toEqual(['begin', ...registered.map(() => 'service_up')])
    const names = told
      .slice(1)
      .map(({ data }) => (JSON.parse(String(data)) as { instance: { name: string } }).instance.name)
    expect(names).toEqual(registered)
  })

  test('C60: of a server that came back in another life is told reset, and what is', async () => {
    const former = await open()
    former.registry.register(S)
    const { told } = listen(`http://127.0.0.1:${former.port}/v1/watch/s`, ['snapshot', 'reset'])
    await vi.waitFor(() => expect(told).toHaveLength(1))
    await former.registry.close()
    former.server.closeAllConnections()
    await once(former.server.close(), 'close')
    const { registry } = await open({}, former.port)
    registry.register({ ...S, version: '3.0.0' })
    await vi.waitFor(() => expect(told.at(-1)?.type).toBe('reset'), 5_000)
    const last = snapshotOf(told.at(-1)!)
    expect(last).toMatchObject({ reset: true, instances: [{ version: '3.0.0' }] })
    registry.register({ ...S, version: '4.0.0' })
    await vi.waitFor(() => expect(told.at(-1)?.type).toBe('snapshot'))
  })

  test('C62: that comes back to a watch is told nothing anew, and everything since', async () => {
    const { registry, server, port } = await open()
    const handle = registry.register({ ...S, weight: 0 })
    const { told } = listen(`http://127.0.0.1:${port}/v1/watch/s`, ['snapshot', 'reset'])
    for (let weight = 1; weight <= 3; weight++) {
      await vi.waitFor(() => expect(told).toHaveLength(weight), 5_000)
      const reconnected = once(server, 'request')
      server.closeAllConnections()
      if (weight % 2 === 0) await reconnected
      handle.update({ weight })
    }
    await vi.waitFor(() => expect(told).toHaveLength(4), 5_000)
    expect(told.map(({ type }) => type)).toEqual(['snapshot', 'snapshot', 'snapshot', 'snapshot'])
    expect(told.map((event) => snapshotOf(event).instances[0]?.weight)).toEqual([0, 1, 2, 3])
  })
})

test('C61: a reader that stands still for 10,000 states is then told few of them, and the last', async () => {
  const { registry, port } = await open()
  const handle = registry.register({ ...S, metadata: { text: 'x'.repeat(15_000) } })
  const reader = Reader.ask(port, '/v1/watch/s')
  await vi.waitFor(() => expect(reader.events).toHaveLength(1))
  reader.pause()
  for (let weight = 1; weight <= 10_000; weight++) {
    handle.update({ weight })
    if (weight % 10 === 0) await new Promise(setImmediate)
  }
  reader.resume()
  await vi.waitFor(() => expect(weightsIn(reader).at(-1)).toBe(10_000), 5_000)
  // What the system holds of one connection, up to some MB.
  expect(reader.events.length).toBeLessThan(700)
  const weights = weightsIn(reader).map(Number)
  expect(weights).toEqual([...new Set(weights)].sort((a, b) => a - b))
})

/** A reader that asks, and never reads a byte. */
async function askAndForget(to: number | string, path: string): Promise<Socket> {
  const socket = (typeof to === 'number' ? connect(to, '127.0.0.1') : connect(to)).pause()
  socket.on('error', () => undefined)
  closing.push(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

/** Bytes that this system holds for connections of a port on its side, by connection. */
async function heldBySystem(port: number): Promise<number[]> {
  const [, ...rows] = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n')
  const LISTENING = '0A'
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(hex(port)) === true && state !== LISTENING)
    .map(([, , , , queues]) => Number.parseInt(queues?.split(':')[0] ?? '', 16))
}

const hex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, '0')}`

test.runIf(process.platform === 'linux')(
  'of a reader that never reads and is cut off, the system keeps nothing either',
  async () => {
    const clock = new HandBeaten()
    const { registry, streams, port } = await open({ clock, heartbeatMs: HEARTBEAT_MS })
    for (let n = 0; n < 1_000; n++) registry.register({ ...S, metadata: { text: 'x'.repeat(15_000) } })
    await askAndForget(port, '/v1/watch/s')
    await vi.waitFor(async () => expect((await heldBySystem(port))[0]).toBeGreaterThan(100_000))
    for (let beat = 0; beat < 2; beat++) clock.beat()
    expect(streams.size).toBe(0)
    await vi.waitFor(async () => expect(await heldBySystem(port)).toEqual([]))
  },
)

/** Bytes, after a full collection. */
const memoryUsed = async (): Promise<number> => (await heapUsed()) + process.memoryUsage().arrayBuffers

test(
  '500 readers that never read cost little, delay nobody, and are cut off',
  { timeout: 60_000 },
  async () => {
    const clock = new HandBeaten()
    const { registry, streams, server, port } = await open({ clock, heartbeatMs: HEARTBEAT_MS })
    // Of what is not read the system holds 0.2 MB here, and 4 MB on a port.
    const directory = await mkdtemp(join(tmpdir(), 'rollcall-'))
    closing.push(() => rm(directory, { recursive: true }))
    const path = join(directory, 'http.sock')
    const beside = createServer((...request) => server.emit('request', ...request)).listen(path)
    closing.push(() => once(beside.close(), 'close'))
    await once(beside, 'listening')
    const handle = registry.register({ ...S, metadata: { text: 'x'.repeat(1_000) } })
    const before = await memoryUsed()
    for (let n = 0; n < 500; n++) await askAndForget(path, n % 2 === 0 ? '/v1/events' : '/v1/watch/s')
    const [events, watch] = [Reader.ask(port, '/v1/events'), Reader.ask(port, '/v1/watch/s')]
    await vi.waitFor(() => expect([events, watch].map(({ names }) => names.length)).toEqual([1, 1]))

    let slowestMs = 0
    let told = 0
    const memory: number[] = []
    for (let weight = 1; weight <= 10_000; weight++) {
      handle.update({ weight })
      await new Promise(setImmediate)
      if (weight % 1_000 !== 0) continue
      const start = performance.now()
      await vi.waitFor(() => expect(weightsIn(watch).at(-1)).toBe(weight), { timeout: 5_000, interval: 1 })
      slowestMs = Math.max(slowestMs, performance.now() - start)
      await vi.waitFor(() => expect(numbersIn(events).at(-1)).toBe(weight + 1))
      told += events.forget()
      watch.forget()
      memory.push(await memoryUsed())
    }
    // Those of events have fallen behind what is kept.
    expect(streams.size).toBe(252)
    expect(told).toBe(10_001)
    expect(slowestMs).toBeLessThan(500)
    // Both ends of a connection, and what is written and not taken.
    expect((memory[0]! - before) / 500).toBeLessThan(100_000)
    // Had each of them but a list of what it has missed, it would be 200 MB.
    expect(memory.at(-1)! - memory[0]!).toBeLessThan(5 * MIB)
    for (let beat = 0; beat < 2; beat++) clock.beat()
    expect(streams.size).toBe(2)
    await vi.waitFor(async () => expect(await promisify(beside.getConnections.bind(beside))()).toBe(0))
  },
)
