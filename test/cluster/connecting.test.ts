import { expect, test } from 'vitest'
import { cluster, SimNode, simAddress } from '../../src/testing/index.ts'
import { onSeeds, PERIOD_MS, service, type Two } from './scenario.ts'

// Names decide who begins: the id that sorts lower. So the newcomer is once the lower one, once the higher.
test.each(['a-newcomer', 'z-newcomer'])(
  '%s has the full registry at once when it connects, not after a heartbeat',
  async (name) => {
    await onSeeds(10, { delayMs: [1, 5] }, async (net) => {
      const nodes = (await cluster(2, { net, names: ['m', 'n'] })) as Two
      for (const node of nodes) node.registry.register(service('S'))
      // Past the beats that follow a write: from here on only heartbeats are to come, ten periods apart.
      await net.run(20 * PERIOD_MS)
      const newcomer = await SimNode.start({
        net,
        name,
        join: nodes.map((node) => simAddress(node.name)),
        options: {},
      })
      await net.until('it is connected', 1_000, () => newcomer.transport.neighbours().length === 2)
      // A channel, heads, wants, frames: some round trips of at most 10 ms each.
      await net.run(100)
      expect(
        newcomer.registry
          .lookupAll('S')
          .map(({ nodeName }) => nodeName)
          .sort(),
      ).toEqual(['m', 'n'])
    })
  },
)
