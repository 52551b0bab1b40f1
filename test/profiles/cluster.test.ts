import { describe, expect, test } from 'vitest'
import { PROFILES, type Profile } from '../../src/profiles.ts'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetworkOptions } from '../../src/testing/index.ts'
import { service } from '../cluster/scenario.ts'

/** The network that each is made for, as the simulation has it: delays are one way. */
const NETWORKS: Readonly<Record<Profile, Omit<SimulatedNetworkOptions, 'seed'>>> = {
  default: { delayMs: [1, 50], loss: 0.02 },
  local: { delayMs: [0.05, 2] },
  lan: { delayMs: [1, 5], loss: 0.01 },
  wan: { delayMs: [50, 150], loss: 0.05 },
}

/** The latest moment at which a node that hangs may still be found elsewhere, ms after it stopped. */
const GONE_MS: Readonly<Record<Profile, number>> = { default: 31_500, local: 900, lan: 4_500, wan: 42_000 }

const NAMES = Object.keys(PROFILES) as Profile[]
const SEEDS = [1, 2, 3, 4, 5]

const downs = (node: SimNode): number => node.events('node_down').length

describe.each(NAMES)('%s', (profile) => {
  const form = (net: Parameters<Parameters<typeof simulate>[1]>[0]): Promise<SimNode[]> =>
    cluster(5, { net, ...PROFILES[profile], formWithinMs: 60_000 })

  test.each(SEEDS)(
    'a node that hangs is down everywhere in time, back when it goes on; seed %i',
    async (seed) => {
      await simulate({ ...NETWORKS[profile], seed }, async (net) => {
        const nodes = await form(net)
        const [victim, ...others] = nodes.slice().reverse() as [SimNode, ...SimNode[]]
        victim.registry.register(service('s'))
        await net.run(PROFILES[profile].downPeriodMs * (1 + net.random.next()))
        const before = net.clock.now()
        victim.stall(3 * PROFILES[profile].downPeriodMs)
        await net.run(GONE_MS[profile])
        for (const other of others) {
          const [down, ...more] = other.events('node_down')
          expect(more).toEqual([])
          expect(down?.payload[1]).toBe('silent')
          // Not before: others judge by what they have heard, and somebody may have heard it last just now.
          expect(down!.atMs - before).toBeGreaterThan(PROFILES[profile].downPeriodMs / 2)
          expect(other.registry.lookup('s')).toMatchObject({ ok: false })
        }
        await net.run(3 * PROFILES[profile].downPeriodMs)
        await net.until('it is back', 60_000, () => others.every((node) => node.registry.lookup('s').ok))
      })
    },
  )

  // What the default does to a sound network is tried at length elsewhere, so one seed will do.
  test.each(profile === 'default' ? SEEDS.slice(0, 1) : SEEDS)(
    'nobody is down for no reason within 500 down periods; seed %i',
    async (seed) => {
      await simulate({ ...NETWORKS[profile], seed }, async (net) => {
        const nodes = await form(net)
        const own = nodes.map((node) => node.registry.register(service(node.name, { n: 0 })))
        for (let n = 1; n <= 20; n++) {
          await net.run(25 * PROFILES[profile].downPeriodMs)
          own[n % own.length]!.update({ metadata: { n } })
        }
        expect(nodes.map(downs)).toEqual(nodes.map(() => 0))
      })
    },
  )
})

test('local: a node whose event loop is blocked for half a second now and then is never down', async () => {
  await simulate({ ...NETWORKS.local, seed: 1 }, async (net) => {
    const nodes = await cluster(4, { net, ...PROFILES.local })
    for (let n = 0; n < 200; n++) {
      nodes[n % nodes.length]!.stall(500)
      await net.run(700 * (0.5 + net.random.next()))
    }
    expect(nodes.map(downs)).toEqual(nodes.map(() => 0))
  })
})
