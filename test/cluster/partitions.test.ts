import { describe, expect, test } from 'vitest'
import { cluster, expectSame, from, haveMet, LINK_DEFAULTS } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import {
  expectOrderly,
  instanceOf,
  metadataAt,
  onSeeds,
  PERIOD_MS,
  ROUGH,
  service,
  told,
} from './scenario.ts'
import type { Five, Four } from './scenario.ts'

/** Every period a beat, so that a rough network does not make anyone silent for as long as six of them take. */
const PURGE = { downPeriodMs: 9_000, permdownPeriodMs: 30_000, maxSilentPeriods: 1 } as const

const FAULTS = [
  ['on a good network', {}],
  ['with loss, repeats and reordering', ROUGH],
] as const

describe('C16: metadata changed during a partition longer than the purge', () => {
  test.each(FAULTS)('%s: after the heal the newest, everywhere, by itself', async (_, faults) => {
    for (const options of [PURGE, {}]) {
      await onSeeds(4, faults, async (net) => {
        const nodes = (await cluster(5, { net, ...options })) as Five
        const [a, b, c, d, e] = nodes
        const registrations = nodes.map((node) => node.registry.register(service(node.name, { v: 1 })))
        await net.run(6 * PERIOD_MS)
        net.partition([a, b], [c, d, e])
        await net.run(a.options.permdownPeriodMs / 2)
        for (const registration of registrations) registration.update({ metadata: { v: 2 } })
        await net.run(a.options.permdownPeriodMs)
        for (const registration of registrations) registration.update({ metadata: { v: 3 } })
        await net.run(a.options.permdownPeriodMs / 2)
        expect(a.registry.lookup('c').ok).toBe(false)
        expect(a.tracker.nodes()).toHaveLength(2)
        net.heal()
        await net.until('all have the newest', 10 * PERIOD_MS, () =>
          nodes.every((node) => nodes.every(({ name }) => metadataAt(node, name)[0]?.['v'] === 3)),
        )
        await net.run(10 * PERIOD_MS)
        expectSame(...nodes)
        for (const node of nodes) expectOrderly(node)
      })
    }
  })
})

describe('C27: a split longer than the purge', () => {
  test.each(FAULTS)(
    '%s: it heals into one view by itself, one up per returning instance',
    async (_, faults) => {
      for (const split of [1, 2]) {
        await onSeeds(6, faults, async (net) => {
          const nodes = (await cluster(5, { net, ...PURGE })) as Five
          const near = nodes.slice(0, split)
          const far = nodes.slice(split)
          for (const node of nodes) for (const n of [1, 2]) node.registry.register(service(`s${n}`))
          await net.run(6 * PERIOD_MS)
          net.partition(near, far)
          await net.run(3 * PURGE.permdownPeriodMs)
          for (const [side, other] of [
            [near, far],
            [far, near],
          ] as const) {
            for (const node of side) {
              expect(node.tracker.nodes()).toHaveLength(side.length)
              expect(node.registry.lookupAll('s1')).toHaveLength(side.length)
              expect(node.events('node_purged')).toHaveLength(other.length)
              node.forgetEvents()
            }
          }
          net.heal()
          await net.until('one view', 6 * PERIOD_MS, () => haveMet(nodes))
          await net.run(60_000)
          expectSame(...nodes)
          for (const [side, other] of [
            [near, far],
            [far, near],
          ] as const) {
            for (const node of side) {
              for (const peer of other) {
                expect(told(node, peer.id)).toEqual(['node_up', 'service_up', 'service_up'])
              }
              expect(told(node)).toHaveLength(3 * other.length)
            }
          }
        })
      }
    },
  )
})

/** Dials that leave `node`, by the address they go to. */
function tapDials(net: SimulatedNetwork, node: SimNode): Map<string, number> {
  const dials = new Map<string, number>()
  net.tap(({ kind, from: sender, to }) => {
    if (kind === 'control' && sender === node.address) dials.set(to, (dials.get(to) ?? 0) + 1)
  })
  return dials
}

describe('C28: a node that is cut from everyone', () => {
  test('it never stops trying its seeds and its last known peers', async () => {
    await onSeeds(4, {}, async (net) => {
      const options = { ...PURGE, permdownPeriodMs: 600_000 }
      const nodes = (await cluster(4, { net, ...options, seeds: 1 })) as Four
      const [a, b, c, d] = nodes
      for (const cut of [a, d]) {
        net.isolate(cut)
        await net.run(60_000)
        expect(cut.tracker.nodes().filter(({ status }) => status === 'up')).toHaveLength(1)
        const dials = tapDials(net, cut)
        for (let minute = 2; minute <= 8; minute++) {
          dials.clear()
          await net.run(60_000)
          for (const peer of nodes) if (peer !== cut) expect(dials.get(peer.address)).toBeGreaterThan(5)
        }
        net.heal()
        await net.until('all have met', 4 * PERIOD_MS, () => haveMet([a, b, c, d]))
      }
    })
  })

  test('after the purge it still tries its seeds', async () => {
    await onSeeds(2, {}, async (net) => {
      const nodes = (await cluster(4, { net, ...PURGE })) as Four
      const [a, b, , d] = nodes
      net.isolate(d)
      await net.run(10 * PURGE.permdownPeriodMs)
      expect(d.tracker.nodes()).toHaveLength(1)
      const dials = tapDials(net, d)
      await net.run(60_000)
      for (const seed of [a, b]) expect(dials.get(seed.address)).toBeGreaterThan(5)
      net.heal()
      await net.until('all have met', 4 * PERIOD_MS, () => haveMet(nodes))
    })
  })

  test.each([
    ['within the purge', 2 * PURGE.downPeriodMs],
    ['past the purge', 3 * PURGE.permdownPeriodMs],
  ])('%s: it comes back by its last known peers when its seed is gone for good', async (_, ms) => {
    await onSeeds(4, {}, async (net) => {
      const nodes = (await cluster(4, { net, ...PURGE, seeds: 1 })) as Four
      const [a, b, c, d] = nodes
      await net.run(4 * PERIOD_MS)
      a.crash()
      await net.run(4 * PURGE.permdownPeriodMs)
      for (const node of [b, c, d]) node.registry.register(service(node.name))
      await net.run(4 * PERIOD_MS)
      net.isolate(d)
      await net.run(ms)
      net.heal()
      await net.until('all have met', 4 * PERIOD_MS, () => haveMet([b, c, d]))
      expectSame(b, c, d)
    })
  })
})

describe('C29: fifty splits and heals with changes on both sides', () => {
  test.each([
    ['short splits', [500, 4_000], {}, {}],
    ['short splits on a rough network', [500, 4_000], {}, ROUGH],
    ['splits past the down period', [12_000, 24_000], PURGE, {}],
    ['splits past the down period on a rough network', [12_000, 24_000], PURGE, ROUGH],
  ] as const)(
    '%s: per observer each change is one event, and the end state is one',
    async (_, splitMs, options, faults) => {
      await onSeeds(3, faults, async (net) => {
        const nodes = (await cluster(5, { net, ...options })) as Five
        const random = net.random.fork('C29')
        const registrations = nodes.map((node) => node.registry.register(service(node.name, { n: 0 })))
        await net.until('all see all', 60_000, () => isSettled(nodes, 0))
        for (let n = 1; n <= 50; n++) {
          const near = nodes.filter(() => random.chance(0.5))
          net.partition(
            near,
            nodes.filter((node) => !near.includes(node)),
          )
          const ms = random.between(splitMs[0], splitMs[1])
          await net.run(ms / 2)
          for (const registration of registrations) registration.update({ metadata: { n } })
          await net.run(ms / 2)
          net.heal()
          await net.until('one view', 60_000, () => isSettled(nodes, n))
        }
        await net.run(20 * PERIOD_MS)
        expectSame(...nodes)
        for (const node of nodes) {
          expectOrderly(node)
          for (const owner of nodes) {
            // Every split heals before the next change, so each is told once and none is skipped.
            const changes = Array.from({ length: 51 }, (_, n) => n)
            expect(changesTold(node, owner), `${node.name} of ${owner.name}`).toEqual(changes)
            if (options !== PURGE) expect(node.events('node_down')).toEqual([])
          }
        }
      })
    },
  )

  test.each(FAULTS)('%s: what a node removed while it was cut off is not shown again', async (_, faults) => {
    await onSeeds(6, faults, async (net) => {
      const nodes = (await cluster(4, { net, ...PURGE, permdownPeriodMs: 600_000 })) as Four
      const [a, b, c, d] = nodes
      const removed = a.registry.register(service('removed'))
      const changed = a.registry.register(service('changed', { v: 1 }))
      await net.run(6 * PERIOD_MS)
      net.isolate(a)
      await net.run(3 * PURGE.downPeriodMs)
      removed.unregister()
      changed.update({ metadata: { v: 2 } })
      await net.run(PURGE.downPeriodMs)
      for (const node of [b, c, d]) node.forgetEvents()
      net.heal()
      await net.until('a is back', 6 * PERIOD_MS, () => haveMet(nodes))
      await net.run(40 * PERIOD_MS)
      for (const node of [b, c, d]) {
        expect(told(node)).toEqual(['node_up', 'service_up'])
        expect(instanceOf(node.events('service_up')[0]!)).toMatchObject({
          name: 'changed',
          metadata: { v: 2 },
        })
      }
      expectSame(...nodes)
    })
  })
})

/** The values of `n` that `node` told of its one instance on `owner`, but for a return with what it had before. */
function changesTold(node: SimNode, owner: SimNode): number[] {
  let last: number | undefined
  return [...node.events('service_up'), ...node.events('service_changed')]
    .filter(from(owner))
    .sort((x, y) => x.atMs - y.atMs)
    .flatMap((event) => {
      const n = Number(instanceOf(event).metadata['n'])
      const isReturn = event.name === 'service_up' && n === last
      last = n
      return isReturn ? [] : [n]
    })
}

const isSettled = (nodes: readonly SimNode[], n: number): boolean =>
  haveMet(nodes) && nodes.every((node) => nodes.every(({ name }) => metadataAt(node, name)[0]?.['n'] === n))

describe('C31: four of five nodes die at once', () => {
  const deaths: Record<string, (net: SimulatedNetwork, node: SimNode) => void> = {
    'are killed': (_, node) => node.crash(),
    'lose their machines': (net, node) => {
      net.isolate(node)
      node.crash()
    },
  }
  test.each(Object.keys(deaths))(
    'they %s: the survivor purges all, and serves what it should meanwhile',
    async (death) => {
      for (const options of [PURGE, {}]) {
        for (const faults of [{}, ROUGH]) {
          await onSeeds(3, faults, async (net) => {
            const nodes = (await cluster(5, { net, ...options })) as Five
            const a = net.random.fork('C31').pick(nodes)
            const dead = nodes.filter((node) => node !== a)
            for (const node of nodes) node.registry.register(service('s'))
            a.registry.register(service('own'))
            await net.run(20 * PERIOD_MS)
            expect(a.registry.lookupAll('s')).toHaveLength(5)
            const { downPeriodMs, permdownPeriodMs } = a.options
            const diedAt = net.clock.now()
            const ids = dead.map(({ id }) => id)
            a.forgetEvents()
            for (const node of dead) deaths[death]?.(net, node)
            // Proven by a dial, or by silence; a rough network delivers a beat up to five seconds late.
            const strayMs = faults === ROUGH ? LINK_DEFAULTS.strayMs : 0
            await net.run(
              death === 'are killed' && faults !== ROUGH ? 100 : downPeriodMs + PERIOD_MS + strayMs,
            )
            // Its own is served all the while; of the dead nothing, once it is known.
            expect(a.registry.lookupAll('s').map(({ node }) => node)).toEqual([a.id])
            for (const id of ids) expect(told(a, id)).toEqual(['service_down', 'node_down'])
            expect(a.events('isolated')).toHaveLength(death === 'are killed' ? 0 : 1)
            const lookups: boolean[] = []
            await net.until(
              'all are purged',
              permdownPeriodMs + PERIOD_MS + strayMs,
              () => {
                lookups.push(a.registry.lookup('own').ok && a.registry.lookup('s').ok)
                return a.tracker.nodes().length === 1
              },
              500,
            )
            expect(lookups).not.toContain(false)
            expect(net.clock.now() - diedAt).toBeGreaterThan(permdownPeriodMs - 2 * downPeriodMs)
            for (const id of ids) expect(told(a, id)).toEqual(['service_down', 'node_down', 'node_purged'])
            // It is not left with a cluster that it cannot serve or join.
            a.registry.register(service('new'))
            expect(a.registry.lookup('new').ok).toBe(true)
            net.heal()
            await dead[0]!.restart()
            await net.until('they meet', 4 * PERIOD_MS, () => haveMet([a, dead[0]!]))
            expectSame(a, dead[0]!)
          })
        }
      }
    },
  )
})

describe('C32: a provider that is cut off longer than the purge', () => {
  test.each(FAULTS)('%s: its entries return without application code', async (_, faults) => {
    for (const index of [0, 3]) {
      await onSeeds(4, faults, async (net) => {
        const nodes = (await cluster(4, { net, ...PURGE })) as Four
        const provider = nodes[index]!
        const others = nodes.filter((node) => node !== provider)
        for (const n of [1, 2, 3]) provider.registry.register(service(`s${n}`, { n }))
        await net.run(6 * PERIOD_MS)
        const before = others[0]!.registry.services()
        net.isolate(provider)
        await net.run(4 * PURGE.permdownPeriodMs)
        for (const node of others) {
          expect(node.registry.services()).toHaveLength(0)
          expect(node.tracker.nodes()).toHaveLength(3)
          node.forgetEvents()
        }
        net.heal()
        await net.until('it is back', 6 * PERIOD_MS, () => haveMet(nodes))
        await net.run(60_000)
        for (const node of others) {
          // The same instances: the same ids, in the same life.
          expect([...node.registry.services()]).toEqual([...before])
          expect(told(node)).toEqual(['node_up', 'service_up', 'service_up', 'service_up'])
        }
        expectSame(...nodes)
      })
    }
  })
})
