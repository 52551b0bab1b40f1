import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { tcpProbe, type TcpTarget } from '../../../src/health/probes/tcp.ts'

const NEVER = new AbortController().signal

/** Sockets of this process that are open, besides those of others. */
const sockets = (): number =>
  process.getActiveResourcesInfo().filter((kind) => /^TCPSocket|^TCPConnect/.test(kind)).length

/** A server that counts who came and who went; closed with the test. */
async function listen(
  host: string,
): Promise<{ server: Server; port: number; came: () => number; went: () => number }> {
  let came = 0
  let went = 0
  const server = createServer((socket) => {
    came++
    socket.on('error', () => undefined)
    socket.resume().on('close', () => went++)
  }).listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { server, port: (server.address() as AddressInfo).port, came: () => came, went: () => went }
}

test.each<[string, (port: number) => string | TcpTarget]>([
  ['host:port', (port) => `127.0.0.1:${port}`],
  ['a name and a port', (port) => `localhost:${port}`],
  ['both apart', (port) => ({ host: '127.0.0.1', port })],
])('an accepted connection passes, and is closed at once: %s', async (_, target) => {
  const { port, came, went } = await listen('127.0.0.1')
  await tcpProbe(target(port))(NEVER)
  await expect.poll(() => [came(), went()]).toEqual([1, 1])
  await expect.poll(sockets).toBe(0)
})

test('an IPv6 address stands in brackets', async ({ skip }) => {
  const listening = await listen('::1').catch(() => undefined)
  if (listening === undefined) return skip('this machine has no IPv6')
  await tcpProbe(`[::1]:${listening.port}`)(NEVER)
  await expect.poll(listening.went).toBe(1)
})

test('a refused connection fails, and leaves no socket', async () => {
  const { server, port } = await listen('127.0.0.1')
  server.close()
  await once(server, 'close')
  await expect(tcpProbe(`127.0.0.1:${port}`)(NEVER)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await expect.poll(sockets).toBe(0)
})

test('aborted while it connects, or before, it fails, and leaves no socket', async () => {
  const { port, came, went } = await listen('127.0.0.1')
  const check = tcpProbe(`127.0.0.1:${port}`)
  const controller = new AbortController()
  const run = check(controller.signal)
  controller.abort()
  await expect(run).rejects.toMatchObject({ name: 'AbortError' })
  await expect(check(AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' })
  await expect.poll(sockets).toBe(0)
  expect(went()).toBe(came())
})

test.each([
  ['host', 'The target is "host": must be host:port'],
  ['::1:80', 'The target is "::1:80": must be host:port'],
  ['http://host:80', 'The target is "http://host:80": must be host:port'],
  ['host:0', 'The port is 0: must be a whole number from 1 to 65535'],
  ['host:65536', 'The port is 65536: must be a whole number from 1 to 65535'],
  [5, 'The target is 5: must be an object'],
  [null, 'The target is null: must be an object'],
  [{ host: 'h', port: '80' }, 'The port is "80": must be a whole number from 1 to 65535'],
  [{ host: '', port: 80 }, 'The host is "": must be a name or an address'],
  [{ host: 'h', port: 80, path: '/' }, 'The target has an unknown field "path"'],
])('%j is refused: %s', (target, message) => {
  expect(() => tcpProbe(target as string)).toThrow(
    expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT', message }),
  )
})
