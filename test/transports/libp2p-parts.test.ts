import { afterEach, describe, expect, test } from 'vitest'
import { Gossip } from '../../src/transports/libp2p/gossip.ts'
import type { PubsubLike } from '../../src/transports/libp2p/libp2p-like.ts'
import { Mesh, type DialResult, type MeshNode } from '../../src/transports/libp2p/mesh.ts'
import { Neighbours } from '../../src/transports/libp2p/neighbours.ts'
import { resolveMeshOptions, type MeshOptions } from '../../src/transports/libp2p/options.ts'
import { PeerBook } from '../../src/transports/libp2p/peer-book.ts'
import { until } from './libp2p-harness.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

/** A mesh on a network that is a function. */
function mesh(options: MeshOptions, reach: (addresses: readonly string[]) => string | undefined) {
  const book = new PeerBook()
  const connected = new Set<string>()
  const dials: string[] = []
  const said: string[] = []
  let dialling = 0
  let mostDialling = 0
  const node: MeshNode = {
    id: 'm',
    async dial(addresses): Promise<DialResult> {
      dials.push(...addresses)
      dialling += 1
      mostDialling = Math.max(mostDialling, dialling)
      await new Promise((resolve) => setTimeout(resolve, 20))
      dialling -= 1
      const peer = reach(addresses)
      if (peer === undefined) return { ok: false, failure: 'unreachable', message: 'nobody' }
      connected.add(peer)
      return { ok: true, peer }
    },
    isConnected: (peer) => connected.has(peer),
    unwell: (where) => said.push(where),
    missed: () => undefined,
    well: () => undefined,
    isSelf: () => false,
  }
  const made = new Mesh(node, book, resolveMeshOptions(options))
  cleanups.push(() => {
    made.stop()
  })
  made.start()
  const learn = (peer: string): void => {
    book.learn(peer, [`/ip4/127.0.0.1/tcp/${String(1_000 + Number(peer.slice(1)))}`])
    made.learn(peer)
  }
  return { made, learn, connected, dials, said, most: () => mostDialling }
}

/** Ids above 'm', which a mesh with the id 'm' dials at once. */
const peers = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${String(index)}`)
const peerOf = ([address]: readonly string[]): string => /[^/]+$/.exec(address ?? '')![0]

describe('mesh', () => {
  test('of a small cluster dials everybody, a few at a time', async () => {
    const { learn, connected, dials, most } = mesh({}, peerOf)
    for (const peer of peers(23)) learn(peer)
    await until('all are connected', () => connected.size === 23)
    expect(dials).toHaveLength(23)
    expect(most()).toBeLessThanOrEqual(4)
  })

  test('of a large cluster dials its degree, and another for one that does not answer', async () => {
    const dead = new Set<string>()
    const { learn, connected, made } = mesh({ maxBackoffMs: 100 }, (addresses) => {
      const peer = peerOf(addresses)
      return dead.has(peer) ? undefined : peer
    })
    for (const peer of peers(200)) learn(peer)
    await until('the degree is reached', () => connected.size >= 12)
    // While the cluster was small, everybody was wanted; what is connected stays.
    const before = connected.size
    expect(before).toBeLessThanOrEqual(24)
    for (const peer of [...connected]) {
      dead.add(peer)
      connected.delete(peer)
      made.lost(peer, true)
    }
    await until('all are replaced', () => connected.size >= 12)
    expect([...connected].filter((peer) => dead.has(peer))).toEqual([])
    const from = performance.now()
    await until('it has settled', () => performance.now() - from > 300)
    expect(connected.size).toBeLessThanOrEqual(24)
  })

  test('that was alone forgets its failures as soon as somebody is there', async () => {
    const { made, dials } = mesh({ join: ['127.0.0.1:1'] }, () => undefined)
    await until('it failed four times', () => dials.length === 4)
    const from = performance.now()
    made.joined('n1', false)
    await until('nothing happens', () => performance.now() - from > 500)
    expect(dials).toHaveLength(4)
    made.joined('n1', true)
    // The wait after four failures is two to four seconds.
    await until('it dials at once', () => dials.length === 5, 500)
  })

  test('dials a known seed by its identity, and takes whoever is there when that one is gone', async () => {
    const answers: string[] = ['n1', 'n2']
    const { made, dials, connected } = mesh({ join: ['127.0.0.1:1'] }, () => answers.shift())
    await until('the seed is known', () => connected.has('n1'))
    connected.delete('n1')
    made.lost('n1', true)
    await until('the seed is dialled again', () => dials.length === 2)
    expect(dials).toEqual(['/ip4/127.0.0.1/tcp/1', '/ip4/127.0.0.1/tcp/1/p2p/n1'])
  })

  test('leaves the first dial to the lower id, but not for ever', async () => {
    const { learn, connected } = mesh({}, peerOf)
    const from = performance.now()
    learn('a1')
    learn('n1')
    await until('the higher one is dialled at once', () => connected.has('n1'), 1_000)
    expect(connected.has('a1')).toBe(false)
    await until('the lower one after a while', () => connected.has('a1'), 4_000)
    expect(performance.now() - from).toBeGreaterThan(1_900)
  })

  test('forgets', async () => {
    const { learn, made, dials } = mesh({ maxBackoffMs: 100 }, () => undefined)
    learn('n1')
    await until('it is dialled', () => dials.length >= 2)
    made.forget('n1')
    const before = dials.length
    const from = performance.now()
    await until('time passes', () => performance.now() - from > 400)
    expect(dials.length).toBeLessThanOrEqual(before + 1)
  })
})

describe('neighbours', () => {
  function neighbours() {
    const said: string[] = []
    const state = { subscribed: false, reaches: false }
    const made = new Neighbours(
      {
        syncProtocol: '/sync/1',
        graceMs: 100,
        isSubscribed: () => state.subscribed,
        reaches: () => state.reaches,
      },
      {
        connected: (peer) => said.push(`+${peer}`),
        disconnected: (peer) => said.push(`-${peer}`),
        stranger: (peer, standing) => said.push(`?${peer} ${standing}`),
        outdated: (peer) => said.push(`!${peer}`),
      },
    )
    cleanups.push(() => {
      made.stop()
    })
    return { made, said, state }
  }

  test('are connected, subscribed, identified and reached, in whatever order, and said once', async () => {
    const { made, said, state } = neighbours()
    made.opened('p')
    made.identified('p', ['/sync/1'])
    state.subscribed = true
    made.look('p')
    expect(said).toEqual([])
    state.reaches = true
    await until('it is seen without an event', () => said.length > 0)
    made.look('p')
    made.opened('p')
    expect(said).toEqual(['+p'])
    expect(made.list()).toEqual(['p'])
    expect(made.closed('p')).toBe(true)
    expect(made.closed('p')).toBe(false)
    expect(said).toEqual(['+p', '-p'])
  })

  test('one that unsubscribes is none any more', () => {
    const { made, said, state } = neighbours()
    Object.assign(state, { subscribed: true, reaches: true })
    made.identified('p', ['/sync/1'])
    state.subscribed = false
    made.look('p')
    expect(said).toEqual(['+p', '-p'])
    expect(made.closed('p')).toBe(false)
  })

  test('one that is subscribed but listed no sync is asked once more', () => {
    const { made, said, state } = neighbours()
    Object.assign(state, { subscribed: true, reaches: true })
    made.identified('p', ['/other'])
    made.look('p')
    expect(said).toEqual(['!p'])
    made.identified('p', ['/sync/1'])
    expect(said).toEqual(['!p', '+p'])
  })

  test('who has not become one in time is a stranger, again and again, until it is closed', async () => {
    const { made, said, state } = neighbours()
    made.opened('s')
    await until('it is said twice', () => said.length > 1)
    expect(new Set(said)).toEqual(new Set(['?s unidentified']))
    made.identified('s', ['/other'])
    await until('that it speaks something else is said', () => said.includes('?s foreign'))
    made.identified('s', ['/sync/1'])
    await until('that it speaks is said', () => said.includes('?s mute'))
    made.closed('s')
    said.splice(0)
    Object.assign(state, { subscribed: true, reaches: true })
    made.identified('p', ['/sync/1'])
    const from = performance.now()
    await until('the grace is over', () => performance.now() - from > 200)
    expect(said).toEqual(['+p'])
  })
})

describe('gossip', () => {
  const open = { status: 'open', readStatus: 'ready', writeStatus: 'writing' }

  function flush(outbound: object): Promise<void> {
    const pubsub = { streamsOutbound: new Map([['p', outbound]]) } as unknown as PubsubLike
    const gossip = new Gossip(pubsub, 'topic', 'self', 1_000, {
      message: () => true,
      oversized: () => undefined,
      subscription: () => undefined,
    })
    return gossip.flush(200)
  }

  test.each([
    ['gossipsub 14, queued', { rawStream: open, pushable: { readableLength: 1 } }],
    [
      'gossipsub 14, held by the window',
      { rawStream: { ...open, sendingData: {} }, pushable: { readableLength: 0 } },
    ],
    ['gossipsub 17', { rawStream: { ...open, writeBufferLength: 1 } }],
  ])('a flush waits for what has not left, but not for ever: %s', async (_where, outbound) => {
    const from = performance.now()
    await flush(outbound)
    expect(performance.now() - from).toBeGreaterThanOrEqual(195)
  })

  test.each([
    ['nothing waits', { rawStream: { ...open, writeBufferLength: 0 }, pushable: { readableLength: 0 } }],
    ['the stream is closed', { rawStream: { ...open, writeStatus: 'closed', writeBufferLength: 1 } }],
  ])('a flush is over at once when %s', async (_what, outbound) => {
    const from = performance.now()
    await flush(outbound)
    expect(performance.now() - from).toBeLessThan(150)
  })

  test('above the limit is neither sent nor taken', async () => {
    const published: number[] = []
    const oversized: string[] = []
    const validators: PubsubLike['topicValidators'] = new Map()
    const pubsub = {
      topicValidators: validators,
      addEventListener: () => undefined,
      subscribe: () => undefined,
      publish: (_topic: string, data: Uint8Array) => Promise.resolve(published.push(data.length)),
    } as unknown as PubsubLike
    const heard: number[] = []
    const gossip = new Gossip(pubsub, 'topic', 'self', 1_000, {
      message: (_author, _via, data) => heard.push(data.length) > 0,
      oversized: (via, bytes) => oversized.push(`${via} ${String(bytes)}`),
      subscription: () => undefined,
    })
    gossip.start()
    await gossip.publish(new Uint8Array(1_000))
    await gossip.publish(new Uint8Array(1_001))
    const validate = validators.get('topic')!
    const message = (size: number) => ({
      type: 'signed',
      from: 'author',
      topic: 'topic',
      data: new Uint8Array(size),
    })
    expect([validate('via', message(1_000)), validate('via', message(1_001))]).toEqual(['accept', 'ignore'])
    expect(published).toEqual([1_000])
    expect(heard).toEqual([1_000])
    expect(oversized).toEqual(['self 1001', 'via 1001'])
  })
})
