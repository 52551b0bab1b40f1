import { gossipsub } from '@chainsafe/libp2p-gossipsub'
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { identify } from '@libp2p/identify'
import { tcp } from '@libp2p/tcp'
import { gossipsub as gossipsub3 } from 'gossipsub3'
import { identify as identify3 } from 'identify3'
import { createLibp2p } from 'libp2p'
import { createLibp2p as createLibp2p3 } from 'libp2p3'
import { noise as noise3 } from 'noise3'
import { preSharedKey as preSharedKey3 } from 'pnet3'
import { tcp as tcp3 } from 'tcp3'
import { afterEach, describe, expect, test } from 'vitest'
import { yamux as yamux3 } from 'yamux3'
import type { RollcallError } from '../../src/errors.ts'
import { fromLibp2p, libp2pTransport, swarmKey } from '../../src/transports/libp2p/index.ts'
import type { Libp2pNode } from '../../src/transports/libp2p/index.ts'
import { providePromiseWithResolvers } from '../../src/transports/libp2p/polyfill.ts'
import { bytes, nodeOfLine3, Recorder, SMALL_GOSSIP, until } from './libp2p-harness.ts'

providePromiseWithResolvers()

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const listen = { listen: ['/ip4/127.0.0.1/tcp/0'] }

/** A node as a user of line 2 builds it. */
const nodeOfLine2 = () =>
  createLibp2p({
    start: false,
    addresses: listen,
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), pubsub: gossipsub({ allowPublishToZeroTopicPeers: true }) },
  })

async function refusal(node: Libp2pNode, options = {}): Promise<string> {
  const error = await fromLibp2p(node, options).then(
    () => undefined,
    (thrown: unknown) => thrown as RollcallError,
  )
  expect(error?.code).toBe('ROLLCALL_STACK_MISMATCH')
  return error!.message
}

describe('a node whose parts do not fit is refused, and told what to install', () => {
  test('gossipsub 14 on libp2p 3', async () => {
    const old: unknown = gossipsub()
    const node = await createLibp2p3({
      start: false,
      transports: [tcp3()],
      connectionEncrypters: [noise3()],
      streamMuxers: [yamux3()],
      services: { identify: identify3(), pubsub: old as ReturnType<typeof gossipsub3> },
    })
    expect(await refusal(node)).toMatch(/libp2p 3 .*gossipsub for libp2p 2.*@libp2p\/gossipsub 17/)
  })

  test('gossipsub 17 on libp2p 2', async () => {
    const young: unknown = gossipsub3(SMALL_GOSSIP)
    const node = await createLibp2p({
      start: false,
      transports: [tcp()],
      connectionEncrypters: [noise()],
      streamMuxers: [yamux()],
      services: { identify: identify(), pubsub: young as ReturnType<typeof gossipsub> },
    })
    expect(await refusal(node)).toMatch(/libp2p 2 .*gossipsub for libp2p 3.*@chainsafe\/libp2p-gossipsub 14/)
  })

  test('no gossipsub, or under another name', async () => {
    const node = await createLibp2p3({
      start: false,
      services: { identify: identify3(), gossip: gossipsub3() },
    })
    expect(await refusal(node)).toMatch(/services\.pubsub.*@libp2p\/gossipsub 17/)
    await expect(fromLibp2p(node, { pubsub: 'gossip' })).resolves.toBeDefined()
  })

  test('unsigned gossip', async () => {
    const node = await createLibp2p({
      start: false,
      services: { identify: identify(), pubsub: gossipsub({ globalSignaturePolicy: 'StrictNoSign' }) },
    })
    expect(await refusal(node)).toMatch(/StrictNoSign.*'StrictSign'/)
  })

  test('no identify', async () => {
    // Gossipsub 17 insists on it when it is assembled, so the node is made and then robbed of it.
    const node = await nodeOfLine3()
    const { pubsub } = node.services
    expect(await refusal({ peerId: node.peerId, status: node.status, services: { pubsub } })).toMatch(
      /libp2p node/,
    )
    Object.assign(node, { services: { pubsub } })
    expect(await refusal(node)).toMatch(/identify/)
  })
})

describe.each([
  ['2', nodeOfLine2],
  ['3', () => nodeOfLine3()],
])('a node of libp2p %s that the caller brings', (_line, create) => {
  test('is started and stopped with the transport when it was not started', async () => {
    const node = await create()
    const transport = await fromLibp2p(node)
    expect(transport.id).toBe(node.peerId.toString())
    await transport.start(new Recorder())
    expect(node.status).toBe('started')
    expect(transport.addresses()).toHaveLength(1)
    await transport.stop()
    expect(node.status).toBe('stopped')
  })

  test('is left running, without a trace, when the caller had started it; connections are taken over', async () => {
    const brought = await create()
    const other = await create()
    cleanups.push(
      () => brought.stop(),
      () => other.stop(),
    )
    await brought.start()
    await other.start()
    await brought.dial(other.getMultiaddrs() as never)
    const [a, b] = [await fromLibp2p(brought), await fromLibp2p(other)]
    const [aEvents, bEvents] = [new Recorder(), new Recorder()]
    await a.start(aEvents)
    await b.start(bEvents)
    await until('they meet on the connection that was there', () =>
      [a, b].every((transport) => transport.neighbours().length === 1),
    )
    await until('b hears a', async () => {
      await a.publish(bytes('hello'))
      return bEvents.heard.length > 0
    })
    await a.stop()
    expect(brought.status).toBe('started')
    await until('b sees a leave', () => bEvents.links.join() === `+${a.id},-${a.id}`)
    expect(bEvents.refusals).toEqual([])
    expect(brought.getProtocols().filter((protocol) => protocol.startsWith('/rollcall/'))).toEqual([])
    expect(brought.getConnections()).toHaveLength(1)
    const pubsub = brought.services.pubsub as { getTopics(): string[] }
    expect(pubsub.getTopics()).toEqual([])
  })

  test('connections of the caller with others are left alone', async () => {
    const brought = await create()
    const other = await create()
    cleanups.push(() => other.stop())
    await other.start()
    const transport = await fromLibp2p(brought, { memberGraceMs: 100 })
    const events = new Recorder()
    cleanups.push(() => transport.stop())
    await transport.start(events)
    await brought.dial(other.getMultiaddrs() as never)
    const from = performance.now()
    await until('the grace is over', () => performance.now() - from > 300)
    expect(brought.getConnections()).toHaveLength(1)
    expect(events.problems).toEqual([])
    expect(transport.neighbours()).toEqual([])
  })
})

test('a node of libp2p 3 with the swarm key joins a cluster with the secret', async () => {
  const secret = 'correct horse battery staple'
  const a = await libp2pTransport({ secret })
  const node = await createLibp2p3({
    start: false,
    addresses: listen,
    transports: [tcp3()],
    connectionEncrypters: [noise3()],
    // With a pre-shared key, line 3 breaks bulk streams when the window grows.
    streamMuxers: [yamux3({ streamOptions: { maxStreamWindowSize: 256 * 1024 } })],
    connectionProtector: preSharedKey3({ psk: swarmKey(secret) }),
    services: { identify: identify3(), pubsub: gossipsub3(SMALL_GOSSIP) },
  })
  cleanups.push(() => a.stop())
  await a.start(new Recorder())
  const b = await fromLibp2p(node, { join: a.addresses() })
  cleanups.push(() => b.stop())
  await b.start(new Recorder())
  await until('they meet', () => a.neighbours().includes(b.id) && b.neighbours().includes(a.id))
})

test('an address in use: the start fails with a code, and the transport is stopped', async () => {
  const a = await libp2pTransport()
  cleanups.push(() => a.stop())
  await a.start(new Recorder())
  const b = await libp2pTransport({ listen: a.addresses()[0]! })
  await expect(b.start(new Recorder())).rejects.toMatchObject({
    code: 'ROLLCALL_START_FAILED',
    message: expect.stringMatching(
      /^libp2p did not start: listen EADDRINUSE: .* 127\.0\.0\.1:\d+$/,
    ) as string,
  })
  await expect(b.stop()).resolves.toBeUndefined()
})
