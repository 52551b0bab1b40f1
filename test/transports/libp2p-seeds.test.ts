import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { RollcallErrorCode } from '../../src/errors.ts'
import type { Libp2pTransportOptions } from '../../src/transports/libp2p/index.ts'
import { bytes, makeLine2, Recorder, until, type Made } from './libp2p-harness.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Running extends Made {
  readonly events: Recorder
  /** Dials so far. */
  dials(): number
}

/** Short waits, so that a test sees many attempts. */
const IMPATIENT = { maxBackoffMs: 100, dialTimeoutMs: 1_000, memberGraceMs: 300 }

async function start(options: Libp2pTransportOptions = {}): Promise<Running> {
  const made = await makeLine2({ ...IMPATIENT, ...options })
  const events = new Recorder()
  let dials = 0
  const dial = made.node.dial.bind(made.node)
  Object.assign(made.node, {
    dial: (...args: Parameters<typeof dial>) => {
      dials += 1
      return dial(...args)
    },
  })
  cleanups.push(() => made.transport.stop())
  await made.transport.start(events)
  return { ...made, events, dials: () => dials }
}

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`
}

/** The seed is tried again and again, said once, and the node lives: it still meets others. */
async function expectReportedOnce(node: Running, code: RollcallErrorCode, attempts = 3): Promise<void> {
  await until('the seed is reported', () => node.events.problems.length > 0)
  const before = node.dials()
  await until('it is tried again', () => node.dials() >= before + attempts, 15_000)
  expect(node.events.codes()).toEqual([code])
  const other = await start({ join: node.transport.addresses() })
  await until('the node still finds others', () => node.transport.neighbours().includes(other.transport.id))
}

describe('C42: a seed that is none', () => {
  test('where nothing listens', async () => {
    const server = createServer()
    const address = await listen(server)
    for (const cleanup of cleanups.splice(0)) await cleanup()
    const node = await start({ join: address })
    await expectReportedOnce(node, 'ROLLCALL_PEER_UNREACHABLE')
    expect(node.events.problems[0]).toMatchObject({ where: address })
  })

  test('a web server', async () => {
    const address = await listen(createHttpServer((_, response) => response.end('hello')))
    await expectReportedOnce(await start({ join: address }), 'ROLLCALL_PEER_REFUSED')
  })

  test('a server that says something else', async () => {
    const address = await listen(createServer((socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'.repeat(20))))
    await expectReportedOnce(await start({ join: address }), 'ROLLCALL_PEER_REFUSED')
  })

  test('a server that closes at once', async () => {
    const address = await listen(createServer((socket) => socket.end()))
    await expectReportedOnce(await start({ join: address }), 'ROLLCALL_PEER_REFUSED')
  })

  test('a server that says nothing', async () => {
    const address = await listen(createServer())
    const node = await start({ join: address, dialTimeoutMs: 100 })
    await expectReportedOnce(node, 'ROLLCALL_PEER_UNREACHABLE')
  })

  test('the node itself', async () => {
    const first = await start()
    const [address] = first.transport.addresses()
    await first.transport.stop()
    const node = await start({ listen: address!, join: address! })
    await until('it is reported', () => node.events.problems.length > 0)
    expect(node.events.codes()).toEqual(['ROLLCALL_PEER_REFUSED'])
    expect(node.dials()).toBe(0)
  })

  test('a node of another cluster: hung up, and never a neighbour', async () => {
    const other = await start({ cluster: 'other' })
    const node = await start({ join: other.transport.addresses() })
    await expectReportedOnce(node, 'ROLLCALL_PEER_REFUSED', 2)
    expect(node.events.links.filter((link) => link.endsWith(other.transport.id))).toEqual([])
    expect(other.events.links).toEqual([])
  })

  test('a name that does not resolve', async () => {
    const node = await start({ join: 'no-such-host.invalid:7400' })
    await until('it is reported', () => node.events.problems.length > 0)
    expect(node.events.codes()).toEqual(['ROLLCALL_PEER_UNREACHABLE'])
  })
})

describe('a secret', () => {
  const SECRET = 'correct horse battery staple'

  test('lets those in who have it, and gossip and sync flow', async () => {
    const a = await start({ secret: SECRET })
    const b = await start({ secret: new TextEncoder().encode(SECRET), join: a.transport.addresses() })
    await until('they meet', () => a.transport.neighbours().length + b.transport.neighbours().length === 2)
    await until('a hears b', async () => {
      await b.transport.publish(bytes('hello'))
      return a.events.heard.length > 0
    })
    const near = await b.transport.open(a.transport.id, 'sync', AbortSignal.timeout(1_000))
    const reading = (async () => {
      await until('a sees the channel', () => a.events.channels.length > 0)
      let length = 0
      for await (const message of a.events.channels[0]!.channel.messages) length += message.length
      return length
    })()
    for (let n = 0; n < 40; n += 1) await near.send(new Uint8Array(512 * 1024))
    await near.close()
    expect(await reading).toBe(20 * 1024 * 1024)
    await a.events.channels[0]!.channel.close()
  })

  test.each([
    ['another secret', { secret: 'incorrect horse battery staple' }],
    ['no secret', {}],
  ])('C42: keeps out who has %s, at once, and both sides say so once', async (_name, options) => {
    const a = await start({ secret: SECRET })
    for (let stranger = 0; stranger < 5; stranger += 1) {
      const startedAt = performance.now()
      const b = await start({ ...options, join: a.transport.addresses() })
      await until('the stranger is told', () => b.events.problems.length > 0)
      // Without the check of the first bytes, two in five such dials hang until they time out.
      if ('secret' in options) expect(performance.now() - startedAt).toBeLessThan(800)
      await until('it tries again', () => b.dials() > 3)
      expect(b.events.codes()).toEqual(['ROLLCALL_PEER_REFUSED'])
      expect(b.events.links).toEqual([])
      await b.transport.stop()
    }
    await until('the member says so', () => a.events.problems.length > 0)
    expect(a.events.codes()).toEqual(['ROLLCALL_PEER_REFUSED'])
    expect(a.events.links).toEqual([])
  })
})

test('allow keeps out who is not on the list, in both directions', async () => {
  const friend = await start()
  const stranger = await start()
  const seeds = [friend, stranger].flatMap(({ transport }) => transport.addresses())
  const node = await start({ allow: [friend.transport.id], join: seeds })
  await until('the friend is in', () => node.transport.neighbours().length === 1)
  const intruder = await start({ join: node.transport.addresses() })
  await until('the intruder is told', () => intruder.events.problems.length > 0)
  await until('both are reported', () =>
    node.events.problems.some(({ where }) => where === intruder.transport.id),
  )
  expect(node.transport.neighbours()).toEqual([friend.transport.id])
  expect(new Set(node.events.codes())).toEqual(new Set(['ROLLCALL_PEER_REFUSED']))
  const wheres = node.events.problems.map(({ where }) => where)
  expect(new Set(wheres).size).toBe(wheres.length)
})

test('dns: every address of a name is a node, looked up at every attempt', async () => {
  const a = await start()
  const port = /tcp\/(\d+)/.exec(a.transport.addresses()[0]!)![1]!
  const node = await start({ join: `dns:localhost:${port}` })
  await until('they meet', () => node.transport.neighbours().includes(a.transport.id))
})

test('C74: a peer of another sync protocol only is refused in words', async () => {
  const a = await start()
  await a.node.unhandle('/rollcall/rollcall/sync/1')
  await a.node.handle('/rollcall/rollcall/sync/2', () => undefined, {})
  const node = await start({ join: a.transport.addresses() })
  await until('it is reported', () => node.events.problems.length > 0)
  expect(node.events.problems[0]).toMatchObject({
    where: a.transport.id,
    error: { code: 'ROLLCALL_PROTOCOL_MISMATCH', message: expect.stringContaining('version 2') as string },
  })
  expect(node.transport.neighbours()).toEqual([])
})

test('C73: garbage on the port is dropped and the node lives on', async () => {
  const node = await start()
  const port = Number(/tcp\/(\d+)/.exec(node.transport.addresses()[0]!)![1]!)
  const { connect } = await import('node:net')
  for (const garbage of [
    Buffer.alloc(65_536, 0xff),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]),
  ]) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(garbage)
    await once(socket, 'close')
  }
  const other = await start({ join: node.transport.addresses() })
  await until('it still meets others', () => node.transport.neighbours().includes(other.transport.id))
})
