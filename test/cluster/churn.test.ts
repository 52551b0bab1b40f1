import { describe, expect, test } from 'vitest'
import { cluster, expectSame, SimNode, simAddress, SimulatedNetwork } from '../../src/testing/index.ts'
import { heapUsed } from './memory.ts'
import {
  expectOrderly,
  instanceOf,
  metadataAt,
  onSeeds,
  PERIOD_MS,
  ROUGH,
  service,
  tapChunks,
  told,
} from './scenario.ts'
import type { Three, Two } from './scenario.ts'
import { beatOf, observer } from './scripted.ts'

const MB = 1024 * 1024

/** Ten seconds on a core of its own. */
const SLOW = { timeout: 120_000 }

/** Bytes of gossip and of sync that a cluster sends in `ms` without writes. */
async function quietTraffic(
  net: SimulatedNetwork,
  ms: number,
): Promise<Record<'gossip' | 'sync' | 'control', number>> {
  const before = net.traffic
  await net.run(ms)
  const { gossip, sync, control } = net.traffic
  return {
    gossip: (gossip.bytes - before.gossip.bytes) / (gossip.messages - before.gossip.messages),
    sync: (sync.bytes - before.sync.bytes) / (sync.messages - before.sync.messages),
    control: control.messages - before.control.messages,
  }
}

describe('C4: 10,000 times registered, updated five times, unregistered', () => {
  test("nothing of it is left in B's entries, logs and heap", SLOW, async () => {
    using net = new SimulatedNetwork({ seed: 1, logLimit: 10 })
    const [a, b] = (await cluster(2, { net, flush: 'eager' })) as Two
    const once = async (count: number): Promise<void> => {
      const registrations = Array.from({ length: count }, (_, n) =>
        a.registry.register(service(`s${n}`, { v: 0, text: 'x'.repeat(200) })),
      )
      await net.run(25)
      for (let v = 1; v <= 5; v++) {
        for (const registration of registrations)
          registration.update({ metadata: { v, text: 'x'.repeat(200) } })
        await net.run(25)
      }
      expect(b.registry.services()).toHaveLength(count)
      for (const registration of registrations) registration.unregister()
      await net.run(25)
      for (const node of [a, b]) node.forgetEvents()
    }
    // The first round fills logs and caches to what they hold at most.
    for (let round = 0; round < 20; round++) await once(100)
    const base = await heapUsed()
    for (let round = 0; round < 100; round++) await once(100)
    await net.run(10 * PERIOD_MS)
    for (const node of [a, b]) {
      expect(node.registry.services()).toHaveLength(0)
      expect(node.tracker.topics()).toEqual(['$node'])
      expect(node.tracker.nodes().map(({ entries }) => entries)).toEqual([0, 0])
    }
    // 70,000 writes of 250 B. Kept, they were 17 MB, and as numbers alone more than 1 MB.
    expect((await heapUsed()) - base).toBeLessThan(0.8 * MB)
    expectSame(a, b)
  })
})

describe('C5: an update is never a gap', () => {
  test.each([
    ['period', {}],
    ['eager', {}],
    ['eager', ROUGH],
  ] as const)(
    '%s, %o: 10,000 changes, and a tight loop of lookups never finds nothing',
    async (flush, faults) => {
      const net = new SimulatedNetwork({ seed: 1, logLimit: 10, ...faults })
      // A short log, so that some updates come as snapshots.
      const [a, b] = (await cluster(2, { net, flush, maxLogWrites: 16 })) as Two
      const registration = a.registry.register(service('s', { n: 0 }))
      await net.until('b has it', 20_000, () => b.registry.lookup('s').ok)
      const misses: string[] = []
      let lookups = 0
      const selectors = [a, b].map((node) => node.registry.select('s', '~> 1.0'))
      const look = (): void => {
        lookups++
        for (const [index, node] of [a, b].entries()) {
          const found = [
            node.registry.lookup('s').ok,
            node.registry.lookup('s', '^1.0.0').ok,
            selectors[index]!.next().ok,
            node.registry.lookupAll('s').length === 1,
            node.tracker.getByKey('$service', 's').length === 1,
          ]
          if (found.includes(false)) misses.push(`${node.name} at ${net.clock.now()}: ${found.join()}`)
        }
      }
      for (const node of [a, b]) {
        node.registry.on('service_changed', look)
        node.tracker.on('diff', look)
      }
      // Once after every step of the simulation.
      let over = false
      const loop = (): void => {
        if (over) return
        look()
        setImmediate(loop)
      }
      loop()
      for (let n = 1; n <= 10_000; n++) {
        registration.update({ metadata: { n } })
        look()
        if (n % 4 === 0) await net.run(flush === 'eager' ? 20 : 100)
      }
      await net.run(20 * PERIOD_MS)
      over = true
      expect(misses).toEqual([])
      expect(lookups).toBeGreaterThan(20_000)
      for (const node of [a, b]) {
        expect(metadataAt(node, 's')).toEqual([{ n: 10_000 }])
        expect(told(node).filter((name) => name.startsWith('service'))).not.toContain('service_down')
        const seen = node.events('service_changed').map((event) => Number(instanceOf(event).metadata['n']))
        expect(seen).toEqual([...seen].sort((x, y) => x - y))
      }
      net.end()
    },
  )
})

describe('C8: names used once', () => {
  test('100,000 service names: nothing is left, beats and memory are back at base', SLOW, async () => {
    using net = new SimulatedNetwork({ seed: 1, logLimit: 10 })
    const [a, b] = (await cluster(2, { net, flush: 'eager' })) as Two
    let names = 0
    const once = async (): Promise<void> => {
      const registrations = Array.from({ length: 1_000 }, () =>
        a.registry.register(service(`name-${++names}`)),
      )
      await net.run(60)
      expect(b.registry.services()).toHaveLength(1_000)
      // Asked for by name, as callers do: what a lookup leaves behind counts too.
      for (const { instance } of registrations)
        expect(b.registry.lookup(instance.name, '^1.0.0').ok).toBe(true)
      for (const registration of registrations) registration.unregister()
      await net.run(60)
      expect(b.registry.lookup(`name-${names}`)).toMatchObject({ ok: false, error: 'noservice' })
      for (const node of [a, b]) node.forgetEvents()
    }
    for (let round = 0; round < 10; round++) await once()
    await net.run(60_000)
    const before = { heap: await heapUsed(), traffic: await quietTraffic(net, 300_000) }
    for (let round = 0; round < 90; round++) await once()
    await net.run(60_000)
    for (const node of [a, b]) {
      expect(node.registry.services()).toHaveLength(0)
      expect(node.tracker.topics()).toEqual(['$node'])
      expect(node.tracker.list('$service')).toEqual([])
    }
    const traffic = await quietTraffic(net, 300_000)
    // Version numbers of one more digit.
    expect(traffic.gossip - before.traffic.gossip).toBeLessThan(3)
    expect(traffic.sync - before.traffic.sync).toBeLessThan(3)
    // 90,000 more names, of which an empty record alone would take 140 B each: 12 MB.
    expect(((await heapUsed()) - before.heap) / MB).toBeLessThan(2)
  })

  test(
    '500 nodes come and leave, are killed or vanish: after the purge nothing is left of them',
    SLOW,
    async () => {
      using net = new SimulatedNetwork({ seed: 1, logLimit: 10 })
      const random = net.random.fork('C8')
      const options = { downPeriodMs: 6_000, permdownPeriodMs: 20_000, flush: 'eager', maxNodes: 50 } as const
      const stay = (await cluster(3, { net, ...options })) as Three
      const [a] = stay
      const forget = (nodes: readonly SimNode[]): void => nodes.forEach((node) => node.forgetEvents())
      // Ten at a time, at ten places; each with an identity and a service of its own.
      const places: SimNode[] = []
      let count = 0
      const come = async (rounds: number): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          for (let index = 0; index < 10; index++) {
            const place = places[index]
            if (place !== undefined) await place.restart({ sameIdentity: false })
            else places.push(await SimNode.start({ net, name: `p${index}`, join: [a.address], options }))
            places[index]!.registry.register(service(`s${++count}`))
          }
          await net.until('seen', 20_000, () => stay.every((node) => node.registry.services().length === 10))
          for (const place of places) {
            if (random.chance(0.3)) await net.settle(place.close())
            else {
              if (random.chance(0.5)) net.isolate(place)
              place.crash()
            }
          }
          await net.until('gone', 20_000, () => stay.every((node) => node.registry.services().length === 0))
          net.heal()
          forget([...stay, ...places])
        }
        await net.run(3 * options.permdownPeriodMs)
        forget(stay)
      }
      // Fills what remembers a bounded number of messages, such as who has heard which.
      const talk = stay.map((node) => node.registry.register(service('talk')))
      for (let n = 0; n < 3_000; n++) {
        for (const registration of talk) registration.update({ metadata: { n } })
        await net.run(20)
        forget(stay)
      }
      for (const registration of talk) registration.unregister()
      await come(15)
      const before = await quietTraffic(net, 120_000)
      const growths: number[] = []
      for (let batch = 0; batch < 6; batch++) {
        const heap = await heapUsed()
        await come(50)
        growths.push(((await heapUsed()) - heap) / 500)
      }
      expect(count).toBe(150 + 6 * 500)
      for (const node of stay) {
        expect(node.tracker.nodes()).toHaveLength(3)
        expect(node.registry.services()).toHaveLength(0)
        expect(node.tracker.list('$node')).toHaveLength(3)
      }
      const after = await quietTraffic(net, 120_000)
      expect(after.gossip - before.gossip).toBeLessThan(3)
      expect(after.sync - before.sync).toBeLessThan(3)
      // Nobody dials the dead.
      expect(after.control).toBeLessThan(1.2 * before.control)
      // The heap goes up and down by some 100 KB as code warms up; what is kept of each node adds to every batch. Of all
      // the last 50 are remembered, as an id and three numbers.
      expect(Math.min(...growths)).toBeLessThan(400)
    },
  )
})

describe('C10: a write while every peer is away for ten times the horizon of the log', () => {
  test.each([
    ['for a moment', 5_000],
    ['past the down period', 60_000],
    ['past the purge', 300_000],
  ])('%s: it arrives by snapshot', async (_, awayMs) => {
    for (const faults of [{}, ROUGH]) {
      await onSeeds(2, faults, async (net) => {
        const options = { maxLogWrites: 200, permdownPeriodMs: 120_000 }
        const [a, b, c] = (await cluster(3, { net, ...options })) as Three
        const registrations = Array.from({ length: 20 }, (_, n) =>
          a.registry.register(service(`s${n}`, { v: 0 })),
        )
        await net.run(8 * PERIOD_MS)
        net.isolate(a)
        await net.run(awayMs / 2)
        // The log is cut at twice its limit, so its horizon is never further back than that.
        for (let write = 1; write <= 10 * 2 * options.maxLogWrites; write++) {
          registrations[write % 20]!.update({ metadata: { v: write } })
        }
        registrations.pop()!.unregister()
        await net.run(awayMs / 2)
        const chunks = tapChunks(net)
        net.heal()
        await net.until('it has arrived', 30_000, () =>
          [b, c].every((node) => metadataAt(node, 's0')[0]?.['v'] === 4_000),
        )
        await net.run(20 * PERIOD_MS)
        expectSame(a, b, c)
        for (const node of [b, c]) expect(node.registry.lookup('s19')).toMatchObject({ ok: false })
        const ofA = chunks.filter(({ owner }) => owner === a.id)
        expect(ofA.length).toBeGreaterThan(0)
        for (const chunk of ofA) expect(chunk.from).toBe(0)
        for (const node of [b, c]) expectOrderly(node)
      })
    }
  })

  test('with the default log of 4,096 writes', async () => {
    await onSeeds(1, {}, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      const registration = a.registry.register(service('s', { v: 0 }))
      await net.run(4 * PERIOD_MS)
      net.isolate(a)
      for (let v = 1; v <= 10 * a.options.maxLogWrites; v++) registration.update({ metadata: { v } })
      await net.run(8_000)
      const chunks = tapChunks(net)
      net.heal()
      await net.run(20 * PERIOD_MS)
      for (const node of [b, c]) expect(metadataAt(node, 's')).toEqual([{ v: 40_960 }])
      expect(new Set(chunks.filter(({ owner }) => owner === a.id).map((chunk) => chunk.from))).toEqual(
        new Set([0]),
      )
    })
  })
})

describe('C11: the memory of what was purged', () => {
  test('is bounded by maxNodes, and drops who went first', async () => {
    const node = await observer({ downPeriodMs: 3_000, permdownPeriodMs: 4_000, maxNodes: 100 })
    const { events } = node.transport
    const round = async (first: number): Promise<void> => {
      for (let n = first; n < first + 100; n++) events.gossip(`owner-${n}`, 'c', beatOf(`owner-${n}`))
      expect(node.registry.nodes()).toHaveLength(101)
      await node.clock.advance(8_000)
      expect(node.registry.nodes()).toHaveLength(1)
      // Those that went last are remembered, all of them.
      node.told.length = 0
      for (let n = first; n < first + 100; n++) events.gossip(`owner-${n}`, 'c', beatOf(`owner-${n}`))
      expect(node.told).toEqual([])
    }
    for (let n = 0; n < 20; n++) await round(100 * n)
    const base = await heapUsed()
    for (let n = 20; n < 120; n++) await round(100 * n)
    const grown = (await heapUsed()) - base
    // 10,000 more, at no less than 100 B each if they were kept.
    expect(grown / MB).toBeLessThan(0.6)
    await node.registry.close()
  })
})

describe('C26: twenty dead seeds', () => {
  test.each(['nothing listens there', 'nothing answers there'])(
    '%s: back-off with jitter, and next to no work',
    async (how) => {
      const join = Array.from({ length: 20 }, (_, n) => simAddress(`dead-${n}`))
      const redialMaxMs = 60_000
      const firsts: string[] = []
      for (const seed of [1, 2, 3]) {
        using net = new SimulatedNetwork({ seed, redialMaxMs, logLimit: 10 })
        if (how === 'nothing answers there') net.isolate(join)
        const dials = new Map(join.map((address) => [address, [] as number[]]))
        const a = await SimNode.start({ net, name: 'a', join, options: {} })
        net.tap(({ to, atMs }) => dials.get(to)?.push(atMs))
        await net.run(600_000)
        const steps = net.clock.steps
        for (const times of dials.values()) times.length = 0
        await net.run(600_000)
        const pauses = [...dials.values()].flatMap((times) => times.slice(1).map((at, n) => at - times[n]!))
        const all = [...dials.values()].flat().sort((x, y) => x - y)
        // It never gives up, and waits about as long as it may.
        for (const times of dials.values()) expect(times.length).toBeGreaterThan(5)
        expect(all.length).toBeLessThan(20 * 10 * 2 * (how === 'nothing answers there' ? 3 : 1) + 20)
        firsts.push(String(all[0]))
        // No two dials together: spread over the time, not in step.
        expect(new Set(pauses.map((pause) => Math.round(pause / 100))).size).toBeGreaterThan(50)
        // Own ticks are 400 of these; a node without seeds is at 400.
        expect(net.clock.steps - steps).toBeLessThan(3_000)
        expect(a.registry.closed).toBe(false)
        const late = await SimNode.start({ net, name: 'dead-7', join: [], options: {} })
        net.heal()
        await net.until(
          'a seed that comes to life is met',
          redialMaxMs + 5_000,
          () => a.tracker.nodes().length === 2,
        )
        expect(late.tracker.nodes()).toHaveLength(2)
      }
      expect(new Set(firsts).size).toBe(3)
    },
  )
})
