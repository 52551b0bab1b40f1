import { afterEach, describe, expect, test } from 'vitest'
import { backoffMs } from '../../src/transports/libp2p/backoff.ts'
import type { PeerIdLike } from '../../src/transports/libp2p/libp2p-like.ts'
import type { Libp2pTransportOptions } from '../../src/transports/libp2p/index.ts'
import { Watchdog } from '../../src/transports/libp2p/watchdog.ts'
import {
  bytes,
  destroy,
  makeLine2,
  makeLine3,
  pubsubOf,
  Recorder,
  turn,
  until,
  type Made,
} from './libp2p-harness.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()))
})

interface Running extends Made {
  readonly events: Recorder
}

async function start(made: Made): Promise<Running> {
  const events = new Recorder()
  cleanups.push(() => made.transport.stop())
  await made.transport.start(events)
  return { ...made, events }
}

const start2 = async (options: Libp2pTransportOptions = {}): Promise<Running> =>
  start(await makeLine2(options))

/** What the tracker does: each node tells the others where it is. */
function introduce(nodes: readonly Running[]): void {
  for (const { transport } of nodes) {
    for (const other of nodes) transport.learn(other.transport.id, other.transport.addresses())
  }
}

const countOf = (node: Running, text: string): number =>
  node.events.heard.filter((heard) => heard.text.startsWith(text)).length

let round = 0

/** Publishes until everybody else heard it: gossip promises no single message. */
async function publishToAll(from: Running, others: readonly Running[]): Promise<void> {
  round += 1
  const text = `round ${String(round)}:`
  let attempt = 0
  await until('all hear it', async () => {
    attempt += 1
    await from.transport.publish(bytes(`${text}${String(attempt)}`))
    await turn(20)
    return others.every((other) => countOf(other, text) > 0)
  })
}

test.each([
  ['2', [makeLine2, makeLine2, makeLine2, makeLine2, makeLine2]],
  ['2 and 3', [makeLine2, makeLine3, makeLine2, makeLine3, makeLine2]],
])(
  'libp2p %s: five nodes with one seed become a full mesh, which outlives the seed',
  async (_line, makes) => {
    const seed = await start(await makes[0]!({}))
    const join = seed.transport.addresses()
    const rest: Running[] = []
    for (const make of makes.slice(1)) rest.push(await start(await make({ join })))
    await until('all know the seed', () => seed.transport.neighbours().length === 4)
    introduce([seed, ...rest])
    await until('everybody is a neighbour of everybody', () =>
      [seed, ...rest].every(({ transport }) => transport.neighbours().length === 4),
    )
    await publishToAll(rest[0]!, [seed, ...rest.slice(1)])
    await destroy(seed.node)
    await until('they see it go, with proof', () =>
      rest.every(({ events }) => events.refusals.includes(seed.transport.id)),
    )
    for (const node of rest)
      await publishToAll(
        node,
        rest.filter((other) => other !== node),
      )
    for (const node of rest) expect(node.transport.neighbours()).toHaveLength(3)
  },
)

test.each([
  ['2', makeLine2],
  ['3', makeLine3],
])(
  'libp2p %s: connected means that gossip and sync reach the peer, from the first message on',
  async (_line, make) => {
    for (let n = 0; n < 10; n += 1) {
      const a = await start(await make({}))
      const b = await make({ join: a.transport.addresses() })
      const events = new Recorder()
      cleanups.push(() => b.transport.stop())
      const opened = new Promise<unknown>((resolve) => {
        events.onConnected = (peer) => {
          void b.transport.publish(bytes('first words'))
          resolve(b.transport.open(peer, 'sync', AbortSignal.timeout(5_000)))
        }
      })
      await b.transport.start(events)
      await opened
      await until('a heard the first words', () => countOf(a, 'first words') === 1, 2_000)
      await until('a sees the channel', () => a.events.channels.length === 1, 2_000)
      await Promise.all([a.transport.stop(), b.transport.stop()])
    }
  },
)

test('a second connection that carries nothing is closed, and nobody notices', async () => {
  const a = await start2({ watchdogMs: 200 })
  const b = await start2({ watchdogMs: 200, join: a.transport.addresses() })
  await until('they meet', () => a.transport.neighbours().length + b.transport.neighbours().length === 2)
  await b.node.dial(a.node.getMultiaddrs(), { signal: AbortSignal.timeout(5_000), force: true } as never)
  await until('there are two', () => a.node.getConnections().length === 2)
  await until(
    'there is one',
    () => a.node.getConnections().length === 1 && b.node.getConnections().length === 1,
  )
  await publishToAll(a, [b])
  await publishToAll(b, [a])
  expect([...a.events.links, ...b.events.links]).toEqual([`+${b.transport.id}`, `+${a.transport.id}`])
})

// 120 connections cost some six seconds of CPU in one process; the deadlines are for a machine that has other work.
test(
  'sixteen nodes on one host: one publish reaches all, and each is heard by all',
  { timeout: 60_000 },
  async () => {
    const seed = await start2()
    const nodes = [seed]
    for (let n = 0; n < 15; n += 1) nodes.push(await start2({ join: seed.transport.addresses() }))
    await until('all have the seed', () => seed.transport.neighbours().length === 15, 20_000)
    introduce(nodes)
    const full = (): boolean => nodes.every(({ transport }) => transport.neighbours().length === 15)
    await until('everybody is a neighbour of everybody', full, 30_000)
    for (const [index, node] of nodes.entries())
      await node.transport.publish(bytes(`hello from ${String(index)}`))
    await until('all heard all', () => nodes.every((node) => countOf(node, 'hello') === 15))
  },
)

test('a large cluster: each node keeps a few neighbours of its own, and replaces one that is lost', async () => {
  const options = { fullMeshNodes: 3, largeDegree: 3, expectedNodes: 64, maxBackoffMs: 200 }
  const nodes: Running[] = []
  for (let n = 0; n < 10; n += 1) nodes.push(await start2(options))
  introduce(nodes)
  const enough = (count: number) => (): boolean =>
    nodes.every(({ transport }) => transport.neighbours().length >= count)
  await until('all have three', enough(3))
  const links = nodes.reduce((sum, { transport }) => sum + transport.neighbours().length, 0)
  // Nine each would be everybody; each chooses three, and is chosen by three.
  expect(links).toBeLessThan(10 * 9)
  await publishToAll(nodes[0]!, nodes.slice(1))
  const gone = nodes.splice(0, 2)
  for (const { node } of gone) await destroy(node)
  await until('the places of the lost are filled', enough(3))
  await publishToAll(nodes[0]!, nodes.slice(1))
})

test('what libp2p keeps of a peer goes with the peer, but not before its last connection', async () => {
  const watchdogMs = 50
  const node = await start2({ watchdogMs })
  const join = node.transport.addresses()
  const [guest, other] = [await start2({ join }), await start2({ join })]
  const { peerStore } = node.node as unknown as { peerStore: { all(): Promise<{ id: PeerIdLike }[]> } }
  const kept = async (): Promise<string[]> => (await peerStore.all()).map(({ id }) => id.toString()).sort()
  const both = [guest.transport.id, other.transport.id].sort()
  await until('they meet', () => node.transport.neighbours().length === 2)
  introduce([node, guest, other])

  node.transport.forget(guest.transport.id)
  await turn(4 * watchdogMs)
  expect(await kept()).toEqual(both)
  await guest.transport.stop()
  await until('the guest is forgotten', async () => (await kept()).length === 1)
  expect(await kept()).toEqual([other.transport.id])
  expect([...pubsubOf(node.node).peers!.keys()]).toEqual([other.transport.id])

  await other.transport.stop()
  await until('the other is gone', () => node.transport.neighbours().length === 0)
  await turn(4 * watchdogMs)
  expect(await kept()).toEqual([other.transport.id])
  node.transport.forget(other.transport.id)
  await until('the other is forgotten', async () => (await kept()).length === 0)
})

test('C26: twenty dead seeds cost next to nothing', async () => {
  const dead: string[] = []
  for (let n = 0; n < 20; n += 1) dead.push(`127.0.0.1:${String(1 + n)}`)
  const made = await makeLine2({ join: dead })
  let dials = 0
  const dial = made.node.dial.bind(made.node)
  Object.assign(made.node, {
    dial: (...args: Parameters<typeof dial>) => {
      dials += 1
      return dial(...args)
    },
  })
  const { events } = await start(made)
  await until('all are reported', () => events.problems.length === 20)
  const from = performance.now()
  await until('the first waits are over', () => performance.now() - from > 2_000)
  // Waits of 0.25–0.5 s, 0.5–1 s, 1–2 s: at most four dials each in the first two seconds.
  expect(dials).toBeLessThanOrEqual(20 * 5)
  expect(dials).toBeGreaterThan(20)
  expect(events.problems).toHaveLength(20)
})

describe('watchdog', () => {
  test.each([
    ['2', 'outbound', makeLine2],
    ['2', 'inbound', makeLine2],
    ['3', 'outbound', makeLine3],
    ['3', 'inbound', makeLine3],
  ] as const)('libp2p %s heals an %s gossip stream that was reset', async (_line, direction, make) => {
    const a = await start(await make({ watchdogMs: 100 }))
    const b = await start(await make({ watchdogMs: 60_000, join: a.transport.addresses() }))
    introduce([a, b])
    await until('they meet', () => a.transport.neighbours().length + b.transport.neighbours().length === 2)
    await publishToAll(a, [b])
    await publishToAll(b, [a])
    const { streamsOutbound, streamsInbound } = pubsubOf(a.node)
    const stream = (direction === 'outbound' ? streamsOutbound : streamsInbound)?.get(b.transport.id)
    stream!.rawStream.abort(new Error('reset'))
    await until('it is hung up and there again', () => a.events.links.length >= 3)
    await publishToAll(a, [b])
    await publishToAll(b, [a])
    expect([...a.events.refusals, ...b.events.refusals]).toEqual([])
  })

  const watch = (floods: boolean, healthy = (): boolean => true) => {
    const cured: string[] = []
    const watchdog = new Watchdog({
      periodMs: 5,
      floods,
      neighbours: () => ['peer'],
      isHealthy: healthy,
      cure: (peer) => cured.push(peer),
      tidy: () => undefined,
    })
    cleanups.push(() => {
      watchdog.stop()
      return Promise.resolve()
    })
    watchdog.start()
    return { watchdog, cured }
  }

  /** Until the watchdog knows the peer, what it hears of it does not count. */
  const looked = (): Promise<void> => turn(30)

  test('cures a neighbour whose messages come only by way of others, less and less eagerly', async () => {
    const { watchdog, cured } = watch(true)
    await looked()
    for (let n = 0; n < 7; n += 1) watchdog.heard('peer', 'other')
    watchdog.heard('peer', 'peer')
    for (let n = 0; n < 7; n += 1) watchdog.heard('peer', 'other')
    await looked()
    expect(cured).toEqual([])
    watchdog.heard('peer', 'other')
    await until('it is cured', () => cured.length === 1)
    for (let n = 0; n < 15; n += 1) watchdog.heard('peer', 'other')
    await looked()
    expect(cured).toHaveLength(1)
    watchdog.heard('peer', 'other')
    await until('it is cured again', () => cured.length === 2)
  })

  test('thinks nothing of a detour where publishers do not flood', async () => {
    const { watchdog, cured } = watch(false)
    await looked()
    for (let n = 0; n < 100; n += 1) watchdog.heard('peer', 'other')
    await looked()
    expect(cured).toEqual([])
  })

  test('lets one bad look pass', async () => {
    let looks = 0
    const { cured } = watch(true, () => {
      looks += 1
      return looks % 2 === 0
    })
    await until('it looked often', () => looks > 10)
    expect(cured).toEqual([])
  })
})

describe('what a bad network lost when a connection was made', () => {
  const kinds = [
    ['2', makeLine2],
    ['3', makeLine3],
  ] as const

  /** Does nothing for some calls, as if what they send were lost. Returns how often it was called. */
  function lose(service: object, method: string, isLost: (call: number) => boolean): () => number {
    const target = service as Record<string, (...args: unknown[]) => Promise<unknown>>
    const original = target[method]!.bind(service)
    let called = 0
    target[method] = async (...args) => {
      called += 1
      if (!isLost(called)) return original(...args)
      // Gossipsub itself tells nobody when it opens no stream.
      if (method === 'identify') throw new Error('lost')
      return undefined
    }
    return () => called
  }

  const identifyOf = (node: Made['node']): object => (node.services as { identify: object }).identify

  test.each(kinds)(
    'libp2p %s: who does not learn who the other is asks again, on the same connection',
    async (_line, make) => {
      const a = await make({ memberGraceMs: 200 })
      const b = await make({ memberGraceMs: 200 })
      const asked = [a, b].map(({ node }) => lose(identifyOf(node), 'identify', (call) => call === 1))
      let opened = 0
      a.node.addEventListener('connection:open', () => (opened += 1))
      const both = [await start(a), await start(b)]
      both[0]!.transport.learn(b.transport.id, b.transport.addresses())
      await until('they meet', () => both.every(({ events }) => events.links.length > 0))
      expect(opened).toBe(1)
      expect(asked.map((count) => count())).toEqual([2, 2])
      await publishToAll(both[0]!, [both[1]!])
      await publishToAll(both[1]!, [both[0]!])
    },
  )

  test.each(kinds)(
    'libp2p %s: a member that never says who it is, or to which no gossip stream opens, is hung up and dialled again',
    async (_line, make) => {
      for (const lost of ['identify', 'gossip'] as const) {
        const a = await make({ memberGraceMs: 200 })
        const b = await make({ memberGraceMs: 60_000 })
        let opened = 0
        const [service, method] =
          lost === 'identify'
            ? [identifyOf(a.node), lost]
            : ([pubsubOf(a.node), 'createOutboundStream'] as const)
        lose(service, method, () => opened < 2)
        a.node.addEventListener('connection:open', () => (opened += 1))
        const both = [await start(a), await start(b)]
        introduce(both)
        await until(`they meet without ${lost}`, () => both.every(({ events }) => events.links.length > 0))
        // Two where one of them dials, more where both do at once.
        expect(opened, lost).toBeGreaterThanOrEqual(2)
        await publishToAll(both[0]!, [both[1]!])
        await publishToAll(both[1]!, [both[0]!])
      }
    },
  )

  test('a brought node leaves a connection alone that is neither a seed nor a member', async () => {
    const a = await start(await makeLine3({ memberGraceMs: 100 }))
    const b = await makeLine3({ memberGraceMs: 60_000 })
    lose(identifyOf(a.node), 'identify', () => true)
    await start(b)
    await b.node.dial(a.node.getMultiaddrs()[0], { signal: AbortSignal.timeout(5_000) })
    await until('they are connected', () => a.node.getConnections().length === 1)
    await turn(500)
    expect(a.node.getConnections()).toHaveLength(1)
  })
})

test('waits double from half a second to the cap, each between half and all of it', () => {
  const waits = (chance: number): number[] => [1, 2, 3, 7, 8, 1_000].map((n) => backoffMs(n, 30_000, chance))
  expect(waits(0)).toEqual([250, 500, 1_000, 15_000, 15_000, 15_000])
  expect(waits(1)).toEqual([500, 1_000, 2_000, 30_000, 30_000, 30_000])
})

describe('stop', () => {
  test.each([
    ['2', makeLine2],
    ['3', makeLine3],
  ])(
    'libp2p %s: is quick with neighbours, and a message published just before arrives',
    async (_line, make) => {
      for (let n = 0; n < 5; n += 1) {
        const a = await start(await make({}))
        const b = await start(await make({ join: a.transport.addresses() }))
        await until(
          'they meet',
          () => a.transport.neighbours().length + b.transport.neighbours().length === 2,
        )
        await b.transport.publish(bytes('last words'))
        const from = performance.now()
        await b.transport.stop()
        // 5–20 ms on a machine at rest.
        expect(performance.now() - from).toBeLessThan(500)
        await until('they arrive', () => countOf(a, 'last words') === 1, 2_000)
        await a.transport.stop()
      }
    },
  )
})
