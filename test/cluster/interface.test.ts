import { describe, expect, test, vi } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { Monitor } from '../../src/tracker/monitor.ts'
import { cluster, expectSame, from, haveMet, simAddress, simulate, SimNode } from '../../src/testing/index.ts'
import {
  expectOrderly,
  instanceOf,
  onSeeds,
  PERIOD_MS,
  ROUGH,
  service,
  tapChunks,
  told,
  type Five,
  type Three,
} from './scenario.ts'

const HOSTILE = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '<script>', '🦆', "'; --"]

test('C44: hostile names are ordinary names, as service, node, topic, key and metadata key', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const nodes = await cluster(3, { net, names: HOSTILE.slice(0, 3) })
    const [a, b, c] = nodes as Three
    const monitor = new Monitor()
    for (const name of HOSTILE) {
      const metadata = JSON.parse(`{${JSON.stringify(name)}: {"x": 1}}`) as JsonObject
      a.registry.register(service(name, metadata))
      a.tracker.track(monitor, name, name, metadata)
    }
    await net.run(2 * PERIOD_MS)
    for (const name of HOSTILE) {
      const found = b.registry.lookup(name)
      expect(found.ok && Object.entries(found.service.metadata)).toEqual([[name, { x: 1 }]])
      expect(c.tracker.getByKey(name, name).map(({ meta }) => Object.keys(meta as object))).toEqual([[name]])
    }
    expect(b.registry.services('__proto__')).toHaveLength(HOSTILE.length)
    expect(b.registry.lookup('valueOf')).toEqual({ ok: false, error: 'noservice', degraded: false })
    expect(b.tracker.list('valueOf')).toEqual([])
    expect(({} as { x?: unknown }).x).toBeUndefined()
    expectSame(a, b, c)
  })
})

describe('C52: register in a burst, then close at once', () => {
  test.each(['period', 'eager'] as const)('flush %s: nothing is announced after the leave', async (flush) => {
    await onSeeds(5, ROUGH, async (net) => {
      const [a, b, c] = (await cluster(3, { net, flush })) as Three
      for (let i = 0; i < 100; i++) a.registry.register(service(`S${i}`))
      const closing = a.close()
      await net.settle(closing)
      const left = net.clock.now()
      await net.run(60_000)
      for (const node of [b, c]) {
        const afterwards = node
          .events('service_up')
          .filter(from(a))
          .filter(({ atMs }) => atMs > left + ROUGH.delayMs[1])
        expect(afterwards).toEqual([])
        expect(node.registry.services()).toEqual([])
        expect(node.tracker.nodes().find(({ id }) => id === a.id)?.status).not.toBe('up')
        expectOrderly(node)
      }
    })
  })
})

test('C62: a list, then what follows: no change is lost or seen twice between them', async () => {
  await onSeeds(20, ROUGH, async (net) => {
    const [a, b] = (await cluster(3, { net, flush: 'eager' })) as Three
    const random = net.random.fork('C62')
    const monitors: Monitor[] = []
    const churn = () => {
      const monitor = random.pick([...monitors, undefined, undefined])
      if (monitor === undefined) {
        const fresh = new Monitor()
        a.tracker.track(fresh, 'room', 'who', { at: net.clock.now() })
        monitors.push(fresh)
      } else {
        monitor.close()
        monitors.splice(monitors.indexOf(monitor), 1)
      }
    }
    for (let step = 0; step < 30; step++) {
      churn()
      await net.run(random.between(0, 100))
      // Begins to follow at any moment: what it has by following is what a new list says, ever after.
      const followed = new Set(b.tracker.list('room').map(({ ref }) => ref))
      const follow = vi.fn(
        ({
          joins,
          leaves,
        }: {
          joins: readonly { topic: string; ref: number }[]
          leaves: readonly { topic: string; ref: number }[]
        }) => {
          for (const { ref, topic } of leaves) if (topic === 'room') expect(followed.delete(ref)).toBe(true)
          for (const { ref, topic } of joins) {
            if (topic !== 'room') continue
            expect(followed.has(ref)).toBe(false)
            followed.add(ref)
          }
        },
      )
      b.tracker.on('diff', follow)
      for (let i = 0; i < 5; i++) {
        churn()
        await net.run(random.between(0, 100))
      }
      expect([...followed].sort()).toEqual(
        b.tracker
          .list('room')
          .map(({ ref }) => ref)
          .sort(),
      )
      b.tracker.off('diff', follow)
    }
  })
})

test('C63: 200 fast restarts: always the old one down before the new one up', async () => {
  await simulate({ seed: 1, loss: 0.05, delayMs: [1, 50] }, async (net) => {
    const [a, b] = (await cluster(3, { net, flush: 'eager' })) as Three
    for (let round = 0; round < 200; round++) {
      await b.restart({ sameIdentity: round % 4 !== 0 })
      const { id } = b.registry.register(service('S')).instance
      await net.until('a sees the new life', 60_000, () =>
        a.registry.lookupAll('S').some((each) => each.id === id),
      )
    }
    await net.run(10_000)
    const seen: string[] = []
    for (const event of a.events()) {
      if (event.name === 'service_up') {
        expect(seen, 'up of the new before down of the old').toEqual([])
        seen.push((event.payload[0] as { instance: { id: string } }).instance.id)
      } else if (event.name === 'service_down') {
        expect(seen.pop()).toBe((event.payload[0] as { instance: { id: string } }).instance.id)
      }
    }
    expect(seen).toHaveLength(1)
    expect(a.events('service_up').map(instanceOf)).toHaveLength(200)
    expectOrderly(a)
  })
})

test('C64: listeners that throw, reject, remove themselves or register a service harm nobody', async () => {
  const uncaught: unknown[] = []
  const catchIt = (error: unknown): unknown => uncaught.push(error)
  const before = [process.listeners('uncaughtException'), process.listeners('unhandledRejection')] as const
  process.removeAllListeners('uncaughtException').removeAllListeners('unhandledRejection')
  process.on('uncaughtException', catchIt).on('unhandledRejection', catchIt)
  try {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(3, { net, flush: 'eager' })) as Three
      const calls: string[] = []
      const { registry } = b
      registry.once('service_up', () => {
        throw new Error('thrown')
      })
      const rejects: (event: unknown) => unknown = () => Promise.reject(new Error('rejected'))
      registry.once('service_up', rejects)
      const removesItself = (): void => {
        calls.push('removes itself')
        registry.off('service_up', removesItself)
      }
      registry.on('service_up', removesItself)
      registry.once('service_up', () => void registry.register(service('from a listener')))
      registry.on('service_up', ({ instance }) => calls.push(instance.name))
      a.registry.register(service('first'))
      await net.run(1_000)
      a.registry.register(service('second'))
      await net.run(1_000)
      expect(calls).toEqual(['removes itself', 'first', 'from a listener', 'second'])
      expect(a.registry.lookup('from a listener').ok).toBe(true)
      await new Promise((resolve) => setImmediate(resolve))
      expect(uncaught.map(String)).toEqual(['Error: thrown', 'Error: rejected'])
    })
  } finally {
    process.off('uncaughtException', catchIt).off('unhandledRejection', catchIt)
    for (const listener of before[0]) process.on('uncaughtException', listener)
    for (const listener of before[1]) process.on('unhandledRejection', listener)
  }
})

test('C66: provider and consumer start in any order, up to five seconds apart', async () => {
  await onSeeds(30, ROUGH, async (net) => {
    const random = net.random.fork('C66')
    const start = async (name: string, join: readonly string[]) => {
      await net.run(random.between(0, 5_000))
      return await SimNode.start({ net, name, join, options: {} })
    }
    const both = ['/memory/consumer', '/memory/provider']
    const providerFirst = random.chance(0.5)
    const first = await start(providerFirst ? 'provider' : 'consumer', both)
    if (providerFirst) first.registry.register(service('S'))
    const second = await start(providerFirst ? 'consumer' : 'provider', both)
    if (!providerFirst) second.registry.register(service('S'))
    const consumer = providerFirst ? second : first
    await net.until('it is found', 3 * PERIOD_MS, () => consumer.registry.lookup('S').ok)
    expect(told(consumer).filter((name) => name.startsWith('service'))).toEqual(['service_up'])
  })
})

test('that an instance drains is told at once, whatever flush says', async () => {
  await simulate({ seed: 1, delayMs: [1, 5] }, async (net) => {
    const [a, b] = (await cluster(3, { net, flush: 'period' })) as Three
    const registration = a.registry.register(service('S'))
    await net.run(2 * PERIOD_MS)
    registration.update({ metadata: { waits: true } })
    await net.run(20)
    expect(b.registry.lookup('S')).toMatchObject({ service: { metadata: {} } })
    registration.update({ state: 'draining' })
    await net.run(20)
    expect(b.registry.lookup('S')).toEqual({ ok: false, error: 'noinstance', degraded: false })
    expect(b.registry.lookup('S', undefined, { state: 'draining' })).toMatchObject({
      service: { metadata: { waits: true } },
    })
  })
})

describe('C67: a service registered just after a reconnect', () => {
  test('is seen within one period', async () => {
    await onSeeds(20, { delayMs: [1, 20] }, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      net.partition([a], [b, c])
      await net.run(60_000)
      net.heal()
      await net.until(
        'they are connected again',
        60_000,
        () => a.transport.neighbours().length === 2 && haveMet([a, b, c]),
      )
      a.registry.register(service('S'))
      await net.run(PERIOD_MS + 100)
      expect(b.registry.lookup('S').ok && c.registry.lookup('S').ok).toBe(true)
    })
  })
})

test('C71 C70: the highest version first, on every node', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b, c] = (await cluster(3, { net })) as Three
    for (const version of ['1.9.0', '2.0.0-rc.1', '2.1.0', '0.9.0'])
      a.registry.register({ name: 'S', version })
    b.registry.register({ name: 'S', version: '1.10.0' })
    await net.run(2 * PERIOD_MS)
    const versionOf = (requirement: string) => {
      const found = c.registry.lookup('S', requirement)
      return found.ok ? found.service.version : found.error
    }
    expect(versionOf('^1 || ^2')).toBe('2.1.0')
    expect(versionOf('1.0.0')).toBe('1.10.0')
    expect(versionOf('~> 1.0')).toBe('1.10.0')
    expect(versionOf('3.0.0')).toBe('noversion')
    expect(c.registry.lookupAll('S', '^1 || ^2').map(({ version }) => version)).toEqual([
      '2.1.0',
      '2.0.0-rc.1',
      '1.10.0',
      '1.9.0',
    ])
  })
})

test('C72: legal metadata of every size travels unchanged', async () => {
  await simulate({ seed: 1, delayMs: [1, 5] }, async (net) => {
    const [a, b] = (await cluster(3, { net })) as Three
    const metas: JsonObject[] = [
      { text: 'x'.repeat(512) },
      { text: 'é'.repeat(7_900) },
      Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`key ${i}`, i])),
      { nothing: null, yes: true, half: 0.5, far: 1e300, deep: [[[[{ a: [] }]]]], empty: '', duck: '🦆' },
    ]
    for (const [index, metadata] of metas.entries()) a.registry.register(service(`S${index}`, metadata))
    await net.run(2 * PERIOD_MS)
    for (const [index, metadata] of metas.entries()) {
      const found = b.registry.lookup(`S${index}`)
      expect(found.ok && found.service.metadata).toEqual(metadata)
    }
    expect(() => a.registry.register(service('big', { text: 'x'.repeat(1024 * 1024) }))).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_LIMIT_EXCEEDED' }) as Error,
    )
    expect(a.registry.lookup('big').ok).toBe(false)
  })
})

test.each(['period', 'eager'] as const)(
  'C75: 20,000 entries in one go (flush %s) arrive whole, no message above the limit',
  async (flush) => {
    await simulate({ seed: 1, delayMs: [1, 5] }, async (net) => {
      const limit = { maxEntriesPerNode: 20_000 }
      const [a, b, c] = (await cluster(3, { net, flush, ...limit })) as Three
      let longest = 0
      net.tap(({ kind, payload }) => {
        const most = kind === 'gossip' ? 256 * 1024 : 1024 * 1024
        if (payload !== undefined && kind !== 'control') longest = Math.max(longest, payload.length / most)
      })
      const monitor = new Monitor()
      for (let i = 0; i < 20_000; i++) a.tracker.track(monitor, 'shards', `shard-${i}`, { i })
      expect(() => a.tracker.track(monitor, 'shards', 'one more', {})).toThrow('20000')
      await net.until('all have all', 10_000, () =>
        [b, c].every((node) => node.tracker.list('shards').length === 20_000),
      )
      expect(longest).toBeGreaterThan(0)
      expect(longest).toBeLessThanOrEqual(1)
      expectSame(a, b, c)
      const diffs = b
        .events('diff')
        .filter(from(a))
        .filter(({ payload: [{ joins }] }) => joins.some(({ topic }) => topic === 'shards'))
      expect(diffs.map(({ payload: [{ joins }] }) => joins.length).reduce((sum, n) => sum + n, 0)).toBe(
        20_000,
      )
    })
  },
)

test(
  '100 nodes, each connected to six: all know all, one goes and all learn it, and then no sync carries a frame',
  { timeout: 120_000 },
  async () => {
    // Most of these can never be dialled: seldom, so that it costs little.
    await simulate({ seed: 1, delayMs: [1, 5], redialMaxMs: 30_000 }, async (net) => {
      const names = Array.from({ length: 100 }, (_, index) => `n${index}`)
      const at = (index: number) => simAddress(`n${index % 100}`)
      net.limitLinks(
        names.flatMap((_, index) => [1, 7, 31].map((step) => [at(index), at(index + step)] as const)),
      )
      const nodes: SimNode[] = []
      for (const [index, name] of names.entries()) {
        const join = [1, 7, 31].flatMap((step) => [at(index + step), at(index + 100 - step)])
        nodes.push(await SimNode.start({ net, name, join, options: {} }))
      }
      await net.until('all know all', 60_000, () => haveMet(nodes), 500)
      const [first] = nodes as [SimNode]
      first.registry.register(service('S'))
      await net.run(3 * PERIOD_MS)
      expect(nodes.filter((node) => node.registry.lookup('S').ok)).toHaveLength(100)
      const { downPeriodMs } = first.options
      first.crash()
      await net.run(downPeriodMs + PERIOD_MS)
      const left = nodes.filter((node) => node.alive)
      expect(left.filter((node) => node.registry.lookup('S').ok)).toEqual([])
      const chunks = tapChunks(net)
      await net.run(60_000)
      expect(chunks).toEqual([])
      for (const node of left) {
        expect(node.tracker.nodes().filter(({ status }) => status === 'up')).toHaveLength(99)
        expect(node.events('node_down')).toHaveLength(1)
      }
    })
  },
)

test('five nodes agree again within three periods of any heal, whatever they did meanwhile', async () => {
  await onSeeds(20, {}, async (net) => {
    const nodes = (await cluster(5, { net, maxSilentPeriods: 1 })) as Five
    const [a, b, c, d, e] = nodes
    net.partition([a, b], [c, d, e])
    a.registry.register(service('left'))
    e.registry.register(service('right'))
    await net.run(90_000)
    net.heal()
    await net.until('connected', 10_000, () =>
      nodes.every((node) => node.transport.neighbours().length === 4),
    )
    await net.run(3 * PERIOD_MS)
    expectSame(...nodes)
    expect(c.registry.lookup('left').ok && b.registry.lookup('right').ok).toBe(true)
  })
})
