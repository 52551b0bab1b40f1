import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call } from '../../../src/console/call.ts'
import { openConsole } from '../../../src/console/console.ts'
import { CONSOLE_KINDS, encodeMessage, MessageReader } from '../../../src/console/message.ts'
import type { ClientMessage, ConsoleMessage } from '../../../src/console/message.ts'
import type { Registry } from '../../../src/registry/registry.ts'
import type { Snapshot } from '../../../src/registry/watch-types.ts'
import { makeFolder, startRegistry } from '../opened.ts'

async function open() {
  const registry = await startRegistry()
  const console = await openConsole(registry, { path: join(await makeFolder(), 'c.sock') })
  return { registry, console, path: console.path }
}

/** A client that says all of this at once. */
function tell(path: string, ...messages: ClientMessage[]): Socket {
  const socket = connect(path).pause()
  onTestFinished(() => void socket.destroy())
  socket.write(messages.map(encodeMessage).join(''))
  return socket
}

async function* messagesOf(socket: Socket): AsyncGenerator<ConsoleMessage, undefined> {
  const reader = new MessageReader<ConsoleMessage>(CONSOLE_KINDS)
  for await (const chunk of socket as AsyncIterable<Buffer>) yield* reader.read(chunk)!
}

/** What it is told until it is hung up on. */
async function heard(socket: Socket): Promise<ConsoleMessage[]> {
  const messages: ConsoleMessage[] = []
  for await (const message of messagesOf(socket)) messages.push(message)
  return messages
}

const isWatched = (registry: Registry): boolean => registry.listenerCount('service_up') > 0

test('a connection is one call, or one session: what follows is ignored', async () => {
  const { registry, path } = await open()
  const nodes: ClientMessage = { kind: 'call', command: 'nodes', args: {} }
  const hello: ClientMessage = { kind: 'hello', terminal: false, colours: false, columns: 80, rows: 24 }
  const told = await heard(tell(path, nodes, nodes, hello))
  expect(told).toMatchObject([{ kind: 'item', value: { name: 'billing-1' } }, { kind: 'done' }])
  const input: ClientMessage = { kind: 'input', text: '1 + 1\n' }
  const asked = await heard(tell(path, hello, { ...nodes, command: 'events' }, input, { kind: 'end' }))
  expect(new Set(asked.map(({ kind }) => kind))).toEqual(new Set(['output', 'bye']))
  expect(asked).toContainEqual({ kind: 'output', text: '2\n' })
  expect(isWatched(registry)).toBe(false)
})

test('C61: one who reads late is told of the last state, and of few between', async () => {
  const { registry, path } = await open()
  const registration = registry.register({
    name: 'Orders',
    version: '1.2.0',
    metadata: { text: 'x'.repeat(8_000) },
  })
  const watch = vi.spyOn(registry, 'watch')
  const socket = tell(path, { kind: 'call', command: 'watch', args: { name: 'Orders' } })
  await vi.waitFor(() => expect(watch).toHaveBeenCalled())
  const turns = 1_000
  for (let weight = 1; weight <= 10 * turns; weight++) {
    registration.update({ weight })
    if (weight % 10 === 0) await new Promise((done) => setImmediate(done))
  }
  const weights = []
  for await (const message of messagesOf(socket)) {
    if (message.kind === 'item') weights.push((message.value as Snapshot).instances[0]!.weight)
    if (weights.at(-1) === 10 * turns) break
  }
  expect(weights).toEqual(weights.toSorted((a, b) => a - b))
  expect(weights.length).toBeLessThan(turns / 5)
})

test('who leaves, or is called off, leaves nothing behind', async () => {
  const { registry, path } = await open()
  for await (const snapshot of call(path, 'watch', { name: 'Orders' })) {
    expect(snapshot).toMatchObject({ service: 'Orders', instances: [] })
    break
  }
  const over = new AbortController()
  const events = call(path, 'events', {}, over.signal)
  const first = events.next()
  await vi.waitFor(() => expect(isWatched(registry)).toBe(true))
  over.abort()
  expect(await first).toEqual({ value: undefined, done: true })
  await vi.waitFor(() => expect(isWatched(registry)).toBe(false))
  expect(await call(path, 'events', {}, over.signal).next()).toEqual({ value: undefined, done: true })
})

test('a drain goes on, though who asked for it has left', async () => {
  const { registry, path } = await open()
  registry.register({ name: 'Orders', version: '1.2.0' })
  const socket = tell(path, { kind: 'call', command: 'drain', args: { graceMs: 300, settleMs: 0 } })
  await vi.waitFor(() => expect(registry.services()[0]?.state).toBe('draining'))
  socket.destroy()
  await once(socket, 'close')
  await vi.waitFor(() => expect(registry.services()).toEqual([]))
})
