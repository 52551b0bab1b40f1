import { describe, expect, test } from 'vitest'
import { cluster, expectSame, haveMet } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import { decodeBeat } from '../wire/decode-beat.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { metadataAt, onSeeds, PERIOD_MS, ROUGH, service, told } from './scenario.ts'
import type { Three } from './scenario.ts'

const HOUR_MS = 3_600_000

describe('C20: wall clocks', () => {
  test.each([
    ['an hour forward', HOUR_MS],
    ['an hour back', -HOUR_MS],
  ])('one that jumps %s: nothing happens', async (_, jumpMs) => {
    for (const faults of [{}, ROUGH]) {
      await onSeeds(3, faults, async (net) => {
        const nodes = (await cluster(3, { net })) as Three
        const registrations = nodes.map((node) => node.registry.register(service(node.name, { v: 1 })))
        await net.run(8 * PERIOD_MS)
        for (const node of nodes) {
          forgetAll(nodes)
          node.jumpWall(jumpMs)
          await net.run(3 * 30_000)
          for (const each of nodes) expect(each.events().map(({ name }) => name)).toEqual([])
        }
        // Writes after a jump are seen as ever.
        for (const registration of registrations) registration.update({ metadata: { v: 2 } })
        await net.run(8 * PERIOD_MS)
        for (const node of nodes) expect(told(node)).toEqual(nodes.map(() => 'service_changed'))
        expectSame(...nodes)
      })
    }
  })

  test('three minutes of skew between nodes: nothing', async () => {
    for (const faults of [{}, ROUGH]) {
      await onSeeds(3, faults, async (net) => {
        const nodes = (await cluster(3, { net, formWithinMs: 0 })) as Three
        nodes[0].jumpWall(-180_000)
        nodes[2].jumpWall(180_000)
        for (const node of nodes) await node.restart()
        forgetAll(nodes)
        for (const node of nodes) node.registry.register(service(node.name))
        await net.run(10 * 60_000)
        expectSame(...nodes)
        for (const node of nodes) {
          const others = nodes.filter((other) => other !== node).map(({ id }) => id)
          expect(told(node, ...others).sort()).toEqual(['node_up', 'node_up', 'service_up', 'service_up'])
        }
      })
    }
  })

  const endings: Record<string, (net: SimulatedNetwork, b: SimNode) => Promise<void> | void> = {
    'was killed': (_, b) => {
      b.crash()
    },
    'was killed and purged': async (net, b) => {
      b.crash()
      await net.run(100_000)
    },
    left: async (net, b) => await net.settle(b.close()),
  }
  test.each(Object.keys(endings))(
    'a node that %s and starts on a clock set back by an hour is up, in a later life',
    async (ending) => {
      for (const faults of [{}, ROUGH]) {
        await onSeeds(3, faults, async (net) => {
          const [a, b, c] = (await cluster(3, { net, permdownPeriodMs: 60_000 })) as Three
          b.registry.register(service('s', { life: 1 }))
          await net.run(8 * PERIOD_MS)
          await endings[ending]?.(net, b)
          await net.until('b is gone', 40_000, () => !a.registry.lookup('s').ok && !c.registry.lookup('s').ok)
          forgetAll([a, c])
          b.jumpWall(-HOUR_MS)
          await b.restart()
          b.registry.register(service('s', { life: 2 }))
          await net.run(40 * PERIOD_MS)
          expect(b.registry.closed).toBe(false)
          for (const node of [a, c]) {
            expect(metadataAt(node, 's')).toEqual([{ life: 2 }])
            // One that missed the goodbye may be told of it only now.
            expect(told(node, b.id).filter((name) => name !== 'node_purged')).toEqual([
              'node_up',
              'service_up',
            ])
          }
          expectSame(a, b, c)
        })
      }
    },
  )
})

describe('C21: an event loop that blocks', () => {
  /** Starts the block with a beat of b, so that the block is all there is of silence. */
  async function blockAfterBeat(net: SimulatedNetwork, b: SimNode, ms: number): Promise<void> {
    const { incarnation } = b.tracker.nodes()[0]!
    let beaten = false
    const stop = net.tap(({ kind, from: sender, payload }) => {
      if (kind !== 'gossip' || sender !== b.address || payload === undefined) return
      beaten ||= decodeBeat(payload, WIRE_LIMITS).incarnation === incarnation
    })
    await net.until('b beats', 20_000, () => beaten, 1)
    stop()
    b.stall(ms)
  }

  // Idle for a minute, so that beats are as rare as they get.
  async function idleCluster(net: SimulatedNetwork, downPeriodMs: number): Promise<Three> {
    const nodes = (await cluster(3, { net, downPeriodMs })) as Three
    for (const node of nodes) node.registry.register(service(node.name))
    await net.run(60_000 + net.random.fork('C21').between(0, 30_000))
    forgetAll(nodes)
    return nodes
  }

  // The first is shorter than it takes to give a connection up, so no new one brings a sign of life.
  for (const downPeriodMs of [9_000, 30_000]) {
    test.each([0.5, 0.9])(`for %d times ${downPeriodMs} ms, from a beat on: nothing`, async (share) => {
      await onSeeds(6, {}, async (net) => {
        const nodes = await idleCluster(net, downPeriodMs)
        await blockAfterBeat(net, nodes[1], share * downPeriodMs)
        await net.run(5 * downPeriodMs)
        for (const node of nodes) expect(told(node)).toEqual([])
        expectSame(...nodes)
      })
    })
  }

  // A period is no more than the tenth that is left.
  for (const downPeriodMs of [20_000, 30_000]) {
    test.each([0.5, 0.9])(`for %d times ${downPeriodMs} ms, busy, at any moment: nothing`, async (share) => {
      await onSeeds(6, {}, async (net) => {
        const nodes = await idleCluster(net, downPeriodMs)
        const [, b] = nodes
        const own = b.registry.register(service('busy', { n: 0 }))
        for (let n = 1; n <= 10; n++) {
          own.update({ metadata: { n } })
          await net.run(PERIOD_MS)
        }
        forgetAll(nodes)
        b.stall(share * downPeriodMs)
        await net.run(5 * downPeriodMs)
        for (const node of nodes) expect(told(node).filter((name) => name !== 'service_changed')).toEqual([])
        expectSame(...nodes)
      })
    })

    // Its neighbours ask it at least every second, so what they miss is little more than the block.
    test.each([0.5, 0.9])(`for %d times ${downPeriodMs} ms, idle, at any moment: nothing`, async (share) => {
      await onSeeds(12, {}, async (net) => {
        const nodes = await idleCluster(net, downPeriodMs)
        nodes[1].stall(share * downPeriodMs)
        await net.run(5 * downPeriodMs)
        for (const node of nodes) expect(told(node)).toEqual([])
        expectSame(...nodes)
      })
    })

    test.each([1.1, 3])(`for %d times ${downPeriodMs} ms: one down, one up, the same life`, async (times) => {
      await onSeeds(12, {}, async (net) => {
        const nodes = await idleCluster(net, downPeriodMs)
        const [a, b, c] = nodes
        const { incarnation } = b.tracker.nodes()[0]!
        b.stall(times * downPeriodMs)
        await net.run(times * downPeriodMs)
        await net.until('b is up again', 2 * PERIOD_MS, () => haveMet(nodes))
        await net.run(6 * downPeriodMs)
        for (const node of [a, c]) {
          expect(told(node)).toEqual(['service_down', 'node_down', 'node_up', 'service_up'])
          expect(told(node, b.id)).toHaveLength(4)
          for (const { payload } of [...node.events('node_down'), ...node.events('node_up')]) {
            expect(payload[0].incarnation).toBe(incarnation)
          }
        }
        // It knows that it was away.
        expect(told(b)).toEqual([])
        expectSame(...nodes)
      })
    })
  }
})

function forgetAll(nodes: readonly SimNode[]): void {
  for (const node of nodes) node.forgetEvents()
}
