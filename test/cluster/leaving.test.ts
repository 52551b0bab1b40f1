import { describe, expect, test } from 'vitest'
import { Monitor } from '../../src/tracker/monitor.ts'
import type { Channel } from '../../src/tracker/ports.ts'
import { cluster, expectSame, from } from '../../src/testing/index.ts'
import type { RecordedEvent, SimNode } from '../../src/testing/index.ts'
import { decodeBeat } from '../wire/decode-beat.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { encodeSyncMessage } from '../../src/wire/sync-message.ts'
import { codeOf } from '../wire/codes.ts'
import { expectOrderly, onSeeds, PERIOD_MS, ROUGH, service, told } from './scenario.ts'
import type { Four, Three, Two } from './scenario.ts'
import { beatOf, heartbeatOf, observer } from './scripted.ts'
import type { Observer } from './scripted.ts'

const PURGE = { downPeriodMs: 6_000, permdownPeriodMs: 20_000 } as const

const reasons = (events: readonly RecordedEvent<'service_down'>[]): string[] =>
  events.map(({ payload: [{ reason }] }) => reason)

describe('C6: leave, down and purge of one incarnation', () => {
  const steps: Record<string, (node: Observer) => Promise<void> | void> = {
    leave: ({ transport }) =>
      void transport.events.gossip('b', 'c', heartbeatOf('b', { beat: 2, left: true })),
    down: ({ transport }) => transport.events.refused('b'),
    purge: ({ clock }) => clock.advance(PURGE.permdownPeriodMs + 2 * PERIOD_MS),
  }

  test('in any order, twice: one service_down, and nothing thrown', async () => {
    const orders = ordersOf(['leave', 'leave', 'down', 'down', 'purge', 'purge'])
    expect(orders).toHaveLength(90)
    for (const order of orders) {
      const node = await observer(PURGE)
      node.transport.events.gossip('b', 'b', beatOf('b'))
      expect(node.told).toEqual(['node_up b', 'service_up s'])
      for (const step of order) await steps[step]?.(node)
      // The incarnation is over: nothing of it counts any more, not even a newer beat.
      node.transport.events.gossip('b', 'b', beatOf('b', { beat: 99 }))
      const reason = { leave: 'left', down: 'refused', purge: 'silent' }[order[0] as 'leave']
      expect(node.told, order.join()).toEqual([
        'node_up b',
        'service_up s',
        `service_down s ${reason}`,
        `node_down b ${reason}`,
        'node_purged b',
      ])
      expect(node.registry.nodes()).toHaveLength(1)
      await node.registry.close()
    }
  })

  test.each([
    ['leaves, and is gone', async (b: SimNode) => b.net.settle(b.close())],
    [
      'leaves while cut off',
      async (b: SimNode) => {
        b.net.isolate(b)
        await b.net.settle(b.close())
        await b.net.run(PERIOD_MS)
        b.net.heal()
      },
    ],
    [
      'is down, comes back and leaves',
      async (b: SimNode) => {
        b.net.isolate(b)
        await b.net.run(2 * PURGE.downPeriodMs)
        b.net.heal()
        await b.net.run(3 * PERIOD_MS)
        await b.net.settle(b.close())
      },
    ],
    [
      'is purged, and then leaves',
      async (b: SimNode) => {
        b.net.isolate(b)
        await b.net.run(2 * PURGE.permdownPeriodMs)
        await b.net.settle(b.close())
        b.net.heal()
      },
    ],
    ['crashes', async (b: SimNode) => crash(b)],
  ])('a whole node %s: as many downs as ups, each once', async (_, end) => {
    await onSeeds(4, ROUGH, async (net) => {
      const [a, b, c] = (await cluster(3, { net, ...PURGE })) as Three
      b.registry.register(service('s'))
      await net.run(4 * PERIOD_MS)
      await end(b)
      await net.run(2 * PURGE.permdownPeriodMs)
      expectSame(a, c)
      for (const node of [a, c]) {
        const ups = node.events('service_up').filter(from(b)).length
        expect(ups).toBeGreaterThan(0)
        expect(node.events('service_down').filter(from(b))).toHaveLength(ups)
        expectOrderly(node)
        expect(node.tracker.nodes().filter(({ id }) => id === b.id)).toEqual([])
        expect(told(node)).not.toContain('rejected')
      }
    })
  })
})

function crash(node: SimNode): Promise<void> {
  node.crash()
  return Promise.resolve()
}

/** Every distinct order of these. */
function ordersOf(steps: readonly string[]): string[][] {
  if (steps.length === 0) return [[]]
  return [...new Set(steps)].flatMap((first) => {
    const rest = steps.toSpliced(steps.indexOf(first), 1)
    return ordersOf(rest).map((order) => [first, ...order])
  })
}

describe('C11: purged, then a third node relays an old frame of it', () => {
  test('it stays gone; only a newer beat of its own brings it back', async () => {
    const node = await observer(PURGE)
    const { events } = node.transport
    events.gossip('b', 'b', beatOf('b'))
    events.gossip('b', 'b', heartbeatOf('b', { beat: 2 }))
    await node.clock.advance(2 * PURGE.permdownPeriodMs)
    node.told.length = 0
    for (const old of [beatOf('b'), heartbeatOf('b', { beat: 2 })]) events.gossip('b', 'c', old)
    await node.clock.advance(PERIOD_MS)
    expect(node.told).toEqual([])
    expect(node.registry.nodes()).toHaveLength(1)
    events.gossip('b', 'c', beatOf('b', { beat: 3 }))
    expect(node.told).toEqual(['node_up b', 'service_up s'])
    await node.registry.close()
  })

  test('a copy held up on its way for longer than the purge revives nobody', async () => {
    const strayMs = 4 * PURGE.permdownPeriodMs
    await onSeeds(6, {}, async (net) => {
      const nodes = (await cluster(4, { net, ...PURGE })) as Four
      const [a, b, c, d] = nodes
      // What c passes on comes to a and d once more, up to four purges later.
      net.setFaults(c, [a, d], { repeat: 1, strayMs })
      b.registry.register(service('s'))
      await net.run(10 * PERIOD_MS)
      b.crash()
      await net.run(strayMs + PURGE.permdownPeriodMs)
      for (const node of [a, c, d]) {
        expect(told(node, b.id).filter((name) => name !== 'node_down')).toEqual([
          'node_up',
          'service_up',
          'service_down',
          'node_purged',
        ])
      }
      expectSame(a, c, d)
    })
  })
})

describe('C14: a monitor with five entries is closed while a sixth is being registered', () => {
  test.each(['period', 'eager'] as const)(
    '%s: all are gone everywhere, a second close is nothing',
    async (flush) => {
      await onSeeds(4, ROUGH, async (net) => {
        const [a, b, c] = (await cluster(3, { net, flush })) as Three
        const monitor = new Monitor()
        for (let n = 1; n <= 5; n++) a.registry.register(service(`s${n}`), { monitor })
        await net.run(4 * PERIOD_MS)
        for (const node of [b, c]) expect(node.registry.services()).toHaveLength(5)
        a.registry.on('service_up', ({ instance }) => {
          if (instance.name === 's6') monitor.close('while it is being registered')
        })
        const sixth = a.registry.register(service('s6'), { monitor })
        expect(a.registry.services()).toHaveLength(0)
        await net.run(6 * PERIOD_MS)
        expect(sixth.active).toBe(false)
        for (const node of [a, b, c]) {
          expect(node.registry.services()).toHaveLength(0)
          expectOrderly(node)
          node.forgetEvents()
        }
        const sent = net.traffic.gossip.bytes
        monitor.close('again')
        sixth.unregister()
        expect(codeOf(() => a.registry.register(service('s7'), { monitor }))).toBe('ROLLCALL_MONITOR_CLOSED')
        expect(net.traffic.gossip.bytes).toBe(sent)
        await net.run(6 * PERIOD_MS)
        for (const node of [a, b, c]) expect(told(node)).toEqual([])
        expectSame(a, b, c)
      })
    },
  )

  test('five that were sent and a sixth that was not go in one batch', async () => {
    await onSeeds(3, {}, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      const monitor = new Monitor()
      for (let n = 1; n <= 5; n++) a.registry.register(service(`s${n}`), { monitor })
      await net.run(2 * PERIOD_MS)
      a.registry.register(service('s6'), { monitor })
      monitor.close()
      await net.run(2 * PERIOD_MS)
      const diffs = b.events('diff').filter(from(a)).slice(-1)
      expect(diffs.map(({ payload: [diff] }) => [diff.joins.length, diff.leaves.length])).toEqual([[0, 5]])
      expectSame(a, b)
    })
  })
})

describe('C15: a leaving node hears its own leave come back', () => {
  test('it stays left: the leave is its last word, whatever it is told while it waits', async () => {
    const { transport, registry, told: events } = await observer()
    transport.peers = ['b']
    const incarnation = registry.nodes()[0]!.incarnation
    // A sync with b has begun before.
    let tell: (message: Uint8Array) => void = () => undefined
    const wants = new Promise<Uint8Array>((resolve) => (tell = resolve))
    const heads = encodeSyncMessage({ kind: 'heads', heads: [], more: false })
    const left = [{ owner: 'a', incarnation }]
    transport.events.opened('b', 'sync', channelOf([heads, wants]))
    let handOver: () => void = () => undefined
    transport.handedOver = new Promise((resolve) => (handOver = resolve))
    const closing = registry.close()
    const count = transport.published.length
    expect(decodeBeat(transport.published.at(-1)!, WIRE_LIMITS)).toMatchObject({ left: true, incarnation })
    tell(encodeSyncMessage({ kind: 'wants', wants: [], left, more: false }))
    transport.events.gossip('a', 'b', transport.published.at(-1)!)
    await new Promise(setImmediate)
    handOver()
    await closing
    expect([transport.stopped, registry.closed]).toEqual([true, true])
    expect(transport.published).toHaveLength(count)
    expect(events).toEqual([])
  })

  test.each([
    ['on a good network', {}],
    ['with loss and repeats', ROUGH],
  ] as const)(
    'a peer that was away and still counts it in does not bring it back to anyone, %s',
    async (_, faults) => {
      await onSeeds(6, faults, async (net) => {
        const nodes = (await cluster(4, { net })) as Four
        const [a, b, c, d] = nodes
        b.registry.register(service('s'))
        await net.run(4 * PERIOD_MS)
        net.partition(d, [a, b, c])
        await net.settle(b.close())
        await net.run(4 * PERIOD_MS)
        net.heal()
        await net.run(20 * PERIOD_MS)
        for (const node of [a, c, d]) {
          // Told by a dial that it is dead before it is told that it left, it is remembered until it hears of that.
          const gone = told(node, b.id)
          expect(gone.filter((name) => name !== 'node_purged')).toEqual([
            'node_up',
            'service_up',
            'service_down',
            'node_down',
          ])
          if (faults === ROUGH || node === d) continue
          expect(gone.at(-1)).toBe('node_purged')
          expect(reasons(node.events('service_down'))).toEqual(['left'])
        }
        expectSame(a, c, d)
      })
    },
  )

  test('its next life is up, whatever its wall clock says and however late its old leave is repeated', async () => {
    for (const jumpMs of [0, -3_600_000]) {
      await onSeeds(4, { delayMs: [1, 50], repeat: 0.5, strayMs: 60_000 }, async (net) => {
        const [a, b, c] = (await cluster(3, { net })) as Three
        b.registry.register(service('s', { life: 1 }))
        await net.run(4 * PERIOD_MS)
        await net.settle(b.close())
        await net.run(PERIOD_MS)
        b.jumpWall(jumpMs)
        for (const node of [a, c]) node.forgetEvents()
        await b.restart()
        b.registry.register(service('s', { life: 2 }))
        await net.run(60 * PERIOD_MS)
        expectSame(a, b, c)
        for (const node of [a, c]) expect(told(node, b.id)).toEqual(['node_up', 'service_up'])
        expect(b.registry.closed).toBe(false)
      })
    }
  })
})

/** A channel whose peer says these, and takes all it is told. */
function channelOf(messages: readonly (Uint8Array | Promise<Uint8Array>)[]): Channel {
  return {
    send: () => Promise.resolve(),
    messages: (async function* () {
      for (const message of messages) yield await message
      await new Promise(() => undefined)
    })(),
    close: () => Promise.resolve(),
    abort: () => undefined,
  }
}
