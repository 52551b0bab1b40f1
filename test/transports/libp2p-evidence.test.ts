import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Transport } from '../../src/tracker/ports.ts'
import { knock } from '../../src/transports/libp2p/evidence.ts'
import { makeLine2, makeLine3, Recorder, sever, turn, until, type Made } from './libp2p-harness.ts'
import { spawnNode, type ChildNode } from './libp2p-process.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(made: Made): Promise<Recorder> {
  const events = new Recorder()
  cleanups.push(() => made.transport.stop())
  await made.transport.start(events)
  return events
}

async function child(...args: Parameters<typeof spawnNode>): Promise<ChildNode> {
  const node = await spawnNode(...args)
  cleanups.push(() => node.end())
  return node
}

const linked = (transport: Transport, peer: string): Promise<void> =>
  until('the child is a neighbour', () => transport.neighbours().includes(peer))

describe.each([
  ['2', makeLine2],
  ['3', makeLine3],
])('evidence on libp2p %s', (_line, make) => {
  test('C24: kill -9 of a neighbour is proof long before any silence could be', async () => {
    const peer = await child()
    const { transport } = await make({ join: peer.addresses })
    const events = await start({ transport } as Made)
    await linked(transport, peer.id)
    const refused = new Promise<number>((resolve) => (events.onRefused = () => resolve(performance.now())))
    const killedAt = performance.now()
    peer.process.kill('SIGKILL')
    const took = (await refused) - killedAt
    expect(events.refusals).toEqual([peer.id])
    expect(events.links).toEqual([`+${peer.id}`, `-${peer.id}`])
    // Some tens of ms on a machine at rest; the bound leaves room for one that is not.
    expect(took).toBeLessThan(1_000)
    expect(await transport.examine(peer.id)).not.toBe('alive')
  })

  test('a frozen neighbour is no proof: not when hung up, not when probed; it is back when it goes on', async () => {
    const peer = await child()
    const made = await make({ join: peer.addresses })
    const events = await start(made)
    await linked(made.transport, peer.id)
    made.transport.learn(peer.id, peer.addresses)
    peer.process.kill('SIGSTOP')
    expect(await made.transport.examine(peer.id)).toBe('unknown')
    for (const connection of made.node.getConnections()) connection.abort(new Error('severed'))
    await until('it is no neighbour', () => made.transport.neighbours().length === 0)
    expect(await made.transport.examine(peer.id)).toBe('unknown')
    expect(events.refusals).toEqual([])
    peer.process.kill('SIGCONT')
    await linked(made.transport, peer.id)
    expect(await made.transport.examine(peer.id)).toBe('alive')
    expect(events.refusals).toEqual([])
  })
})

test('C65: after stop a process ends by itself', async () => {
  const seed = await makeLine2()
  await start(seed)
  const peer = await child({ join: [...seed.transport.addresses(), '127.0.0.1:1'] })
  await linked(seed.transport, peer.id)
  const exited = once(peer.process, 'exit')
  const said = once(peer.lines, 'line')
  peer.process.kill('SIGTERM')
  expect(await said).toEqual(['stopped'])
  const from = performance.now()
  expect(await exited).toEqual([0, null])
  // A timer that libp2p leaves behind would hold it for up to a second.
  expect(performance.now() - from).toBeLessThan(600)
})

test('C57: another node at the address of a dead one proves that the old one is gone', async () => {
  const address = await freeAddress()
  const old = await child({ listen: address })
  const made = await makeLine2({})
  const events = await start(made)
  made.transport.learn(old.id, old.addresses)
  await linked(made.transport, old.id)
  await old.end()
  await until('the old one is refused', () => events.refusals.includes(old.id))
  const next = await child({ listen: address })
  expect(next.addresses).toEqual(old.addresses)
  expect(await made.transport.examine(old.id)).toBe('refused')
  expect(events.links.filter((link) => link === `+${old.id}`)).toHaveLength(1)
})

/** A free address, free again. */
async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `/ip4/127.0.0.1/tcp/${String(port)}`
}

test('a reset of the connection of a live neighbour is no proof', async () => {
  const a = await makeLine2()
  const aEvents = await start(a)
  const b = await makeLine2({ join: a.transport.addresses() })
  const bEvents = await start(b)
  await linked(a.transport, b.transport.id)
  for (let round = 0; round < 5; round += 1) {
    sever(a.node, b.node)
    await until('they meet again', () => aEvents.links.length === 3 + 2 * round)
  }
  await turn(100)
  expect([...aEvents.refusals, ...bEvents.refusals]).toEqual([])
})

describe('a knock', () => {
  test('is refused only where nobody listens', async () => {
    const never = new AbortController().signal
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await knock({ host: '127.0.0.1', port }, never)).toBe('open')
    expect(await knock({ host: 'localhost', port }, never)).toBe('open')
    server.close()
    expect(await knock({ host: '127.0.0.1', port }, never)).toBe('refused')
    expect(await knock({ host: 'no-such-host.invalid', port }, never)).toBe('unknown')
  })

  test('on a server that drops every connection proves nothing', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await knock({ host: '127.0.0.1', port }, new AbortController().signal)).toBe('unknown')
    server.close()
  })

  test('that is broken off proves nothing', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await knock({ host: '127.0.0.1', port }, AbortSignal.timeout(1))).toBe('unknown')
    expect(await knock({ host: '127.0.0.1', port }, AbortSignal.abort())).toBe('unknown')
    server.close()
  })
})
