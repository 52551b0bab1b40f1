import { describe, expect, test } from 'vitest'
import { cluster, expectSame, from, SimNode, simAddress } from '../../src/testing/index.ts'
import type { SimulatedNetwork } from '../../src/testing/index.ts'
import {
  expectOrderly,
  incarnationOf,
  instanceOf,
  metadataAt,
  onSeeds,
  PERIOD_MS,
  ROUGH,
  service,
  tapChunks,
  told,
} from './scenario.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { decodeSyncMessage } from '../../src/wire/sync-message.ts'
import type { Five, Three, Two } from './scenario.ts'

describe('C1: a late full state never undoes a newer delta', () => {
  test('a newcomer that has v3 from the owner stays at v3 when a stale peer comes', async () => {
    await onSeeds(5, {}, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      const registration = a.registry.register(service('s', { v: 1 }))
      await net.run(2 * PERIOD_MS)
      net.isolate(b)
      const c = await SimNode.start({ net, name: 'c', join: [a.address, b.address], options: {} })
      await net.until('c has v1', 5_000, () => metadataAt(c, 's')[0]?.['v'] === 1)
      for (const v of [2, 3]) {
        registration.update({ metadata: { v } })
        await net.run(PERIOD_MS)
      }
      expect(metadataAt(c, 's')).toEqual([{ v: 3 }])
      expect(metadataAt(b, 's')).toEqual([{ v: 1 }])
      // From now on b reaches c only, and its state of a is two writes old.
      net.cutLink(a, b)
      c.forgetEvents()
      net.heal()
      await net.until('b has v3, by c', 5_000, () => metadataAt(b, 's')[0]?.['v'] === 3)
      await net.run(10 * PERIOD_MS)
      expect(told(c, a.id)).toEqual([])
      expect(metadataAt(c, 's')).toEqual([{ v: 3 }])
      registration.unregister()
      await net.run(2 * PERIOD_MS)
      for (const node of [a, b, c]) expect(metadataAt(node, 's')).toEqual([])
      expectSame(a, b, c)
    })
  })

  test('nor when the full state of v1 was under way to it while v3 came', async () => {
    await onSeeds(5, {}, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      const registration = a.registry.register(service('s', { v: 1 }))
      await net.run(2 * PERIOD_MS)
      net.cutLink(a, b)
      net.setFaults(a, simAddress('c'), { loss: 1 })
      // What b answers to c's wish is five seconds under way.
      let asked = false
      net.tap(({ kind, from: sender, payload }) => {
        if (asked || kind !== 'sync' || sender !== simAddress('c') || payload === undefined) return
        asked = decodeSyncMessage(payload, WIRE_LIMITS).kind === 'wants'
        if (asked) net.setFaults(b, simAddress('c'), { delayMs: [5_000, 5_000] })
      })
      const chunks = tapChunks(net)
      const c = await SimNode.start({ net, name: 'c', join: [a.address, b.address], options: {} })
      const fullState = () => chunks.find(({ owner }) => owner === a.id)
      await net.until('b sends c the full state of v1', 5_000, () => fullState() !== undefined)
      expect(fullState()).toMatchObject({ from: 0, last: true })
      // Before it arrives, a itself tells c of two updates.
      for (const v of [2, 3]) registration.update({ metadata: { v } })
      net.setFaults(a, c, { loss: 0, delayMs: [1, 1] })
      await net.until('c has v3', 4_900, () => metadataAt(c, 's')[0]?.['v'] === 3)
      c.forgetEvents()
      await net.run(10 * PERIOD_MS)
      expect(told(c, a.id)).toEqual([])
      expect(metadataAt(c, 's')).toEqual([{ v: 3 }])
      net.setFaults(b, c, { delayMs: [1, 5] })
      registration.unregister()
      await net.run(8 * PERIOD_MS)
      expectSame(a, b, c)
      for (const node of [a, b, c]) expect(metadataAt(node, 's')).toEqual([])
    })
  })

  test('no interleaving of losses, repeats and splits takes a value back', async () => {
    await onSeeds(12, ROUGH, async (net) => {
      const nodes = (await cluster(5, { net, syncPeriodMs: 4_000, maxLogWrites: 8 })) as Five
      const random = net.random.fork('C1')
      const registrations = nodes.map((node) => node.registry.register(service(node.name, { v: 0 })))
      for (let v = 1; v <= 60; v++) {
        random.pick(registrations).update({ metadata: { v } })
        if (random.chance(0.2)) net.partition(random.pick(nodes), random.pick(nodes))
        if (random.chance(0.1)) net.heal()
        await net.run(random.between(0, PERIOD_MS))
      }
      net.heal()
      await net.until('all agree', 60_000, () => isSettled(nodes))
      for (const node of nodes) {
        const last = new Map<string, number>()
        for (const event of [...node.events('service_up'), ...node.events('service_changed')].sort(
          (x, y) => x.atMs - y.atMs,
        )) {
          const { id, metadata } = instanceOf(event)
          const v = Number(metadata['v'])
          expect(v, `${node.name} goes back on ${id}`).toBeGreaterThanOrEqual(last.get(id) ?? 0)
          last.set(id, v)
        }
        expectOrderly(node)
      }
      for (const registration of registrations) registration.unregister()
      await net.until('all is gone', 60_000, () => nodes.every((n) => n.registry.services().length === 0))
    })
  })
})

const isSettled = (nodes: readonly SimNode[]): boolean =>
  nodes.every(
    (node) =>
      nodes.every(
        (other) =>
          JSON.stringify(metadataAt(node, other.name)) === JSON.stringify(metadataAt(other, other.name)),
      ) && node.registry.services().length === nodes.length,
  )

describe('C2: no ghosts of a former life', () => {
  test.each([
    ['quick restarts', [0, 2 * PERIOD_MS], 1_500],
    ['restarts around the down period', [0, 12_000], 30_000],
  ] as const)(
    '%s: only the last life is left, and none comes up after its down',
    async (_, pauseMs, syncPeriodMs) => {
      await onSeeds(8, { loss: 0.2, delayMs: [1, 50], repeat: 0.1, reorder: 0.1 }, async (net) => {
        const nodes = (await cluster(5, { net, syncPeriodMs, downPeriodMs: 6_000 })) as Five
        const d = nodes[3]
        const others = nodes.filter((node) => node !== d)
        const random = net.random.fork('C2')
        d.registry.register(service('s', { life: 0 }))
        await net.run(PERIOD_MS)
        for (let life = 1; life <= 20; life++) {
          d.crash()
          await net.run(random.between(pauseMs[0], pauseMs[1]))
          await d.restart()
          d.registry.register(service('s', { life }))
          await net.run(random.between(pauseMs[0], pauseMs[1]))
        }
        await net.run(20 * PERIOD_MS)
        expectSame(...nodes)
        for (const node of others) {
          expect(metadataAt(node, 's')).toEqual([{ life: 20 }])
          const known = node.tracker.nodes().filter(({ id }) => d.ids.includes(id))
          expect(known.map(({ incarnation, status }) => [incarnation, status])).toEqual([
            [d.tracker.nodes()[0]?.incarnation, 'up'],
          ])
          expectOrderly(node)
          expectNoReturn(node, d)
        }
      })
    },
  )
})

/** No life of `owner` comes up once it went down and a later one was seen. */
function expectNoReturn(node: SimNode, owner: SimNode): void {
  const over = new Set<number>()
  for (const event of node.events('service_up').filter(from(owner))) {
    const incarnation = incarnationOf(instanceOf(event).id)
    expect(over.has(incarnation)).toBe(false)
    for (const down of node.events('service_down').filter(from(owner))) {
      if (down.atMs <= event.atMs && incarnationOf(instanceOf(down).id) < incarnation) {
        over.add(incarnationOf(instanceOf(down).id))
      }
    }
  }
}

describe('C3: no sync is endless', () => {
  const endings: Record<string, (net: SimulatedNetwork, b: SimNode) => Promise<void> | void> = {
    'is killed': (_, b) => {
      b.crash()
    },
    'is cut off': (net, b) => {
      net.isolate(b)
    },
    leaves: async (net, b) => await net.settle(b.close()),
  }
  test.each(Object.keys(endings))(
    'B %s and C comes: five quiet sync periods carry not one frame',
    async (ending) => {
      for (const faults of [{}, ROUGH]) {
        await onSeeds(4, faults, async (net) => {
          const [a, b, d] = (await cluster(3, { net, names: ['a', 'b', 'd'] })) as Three
          for (const node of [a, b, d]) node.registry.register(service(node.name))
          await net.run(3 * PERIOD_MS)
          await endings[ending]?.(net, b)
          const c = await SimNode.start({ net, name: 'c', join: [a.address, d.address], options: {} })
          c.registry.register(service('c'))
          // Past the down period, long before the purge: B is remembered all the while.
          await net.run(60_000)
          expectSame(a, c, d)
          expect(a.registry.lookup('b').ok).toBe(false)
          const chunks = tapChunks(net)
          const before = net.traffic.sync.messages
          await net.run(5 * a.options.syncPeriodMs)
          expect(net.traffic.sync.messages - before).toBeGreaterThan(5 * 3)
          expect(chunks).toEqual([])
        })
      }
    },
  )
})
