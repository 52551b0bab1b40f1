import { describe, expect, test } from 'vitest'
import { cluster, expectSame, simAddress, simulate } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import { encodeHint } from '../../src/wire/gossip.ts'
import { metadataAt, onSeeds, ROUGH, service, told } from './scenario.ts'
import type { Five, Four, Three } from './scenario.ts'

const DOUBTS = ['node_suspected', 'node_trusted', 'node_flapping']

/** What a node told of doubt about another, in order. */
const doubts = (node: SimNode, about: SimNode): string[] =>
  node
    .events()
    .filter((event) => event.about !== undefined && about.ids.includes(event.about))
    .map(({ name }) => name)
    .filter((name) => DOUBTS.includes(name))

/** The nodes that lookups of a service return, as often as it takes to see all. */
function returned(node: SimNode, name: string): string[] {
  const found = new Set<string>()
  for (let n = 0; n < 20; n++) {
    const answer = node.registry.lookup(name)
    if (answer.ok) found.add(answer.service.nodeName)
  }
  return [...found].sort()
}

const infoOf = (node: SimNode, about: SimNode) => node.registry.nodes().find(({ id }) => id === about.id)

describe('a provider that hangs, with its connections open', () => {
  test('is no longer preferred within 4 s, is still up, and is again within a probe after it goes on', async () => {
    await onSeeds(20, {}, async (net) => {
      const nodes = (await cluster(4, { net })) as Four
      const [a, b, c, d] = nodes
      for (const provider of [c, d]) provider.registry.register(service('s'))
      await net.run(60_000)
      expect(returned(a, 's')).toEqual(['c', 'd'])
      const ups = nodes.map((node) => told(node).length)
      d.stall(8_000)
      const begin = net.clock.now()
      for (const node of [a, b, c]) {
        await net.until('it is not preferred', 4_000, () => returned(node, 's').join() === 'c', 10)
      }
      expect(net.clock.now() - begin).toBeLessThan(4_000)
      expect(infoOf(a, d)).toMatchObject({ status: 'up', suspect: 'unanswered' })
      expect(a.registry.lookupAll('s')).toHaveLength(2)
      expect(
        a.registry
          .explain('s')
          .map(({ reason }) => reason)
          .sort(),
      ).toEqual(['returned', 'suspect'])
      await net.run(begin + 8_000 - net.clock.now())
      await net.until('it is preferred again', 2_000, () => returned(a, 's').join() === 'c,d', 10)
      await net.run(60_000)
      for (const node of [a, b, c]) expect(doubts(node, d)).toEqual(['node_suspected', 'node_trusted'])
      // It knows that it was away, and nobody went down.
      expect(doubts(d, a)).toEqual([])
      expect(nodes.map((node) => told(node).length)).toEqual(ups)
    })
  })

  test('and loses a connection at that moment, is suspected as soon over there as elsewhere', async () => {
    await onSeeds(20, { dialTimeoutMs: 1_000 }, async (net) => {
      const [a, b, c, d] = (await cluster(4, { net })) as Four
      await net.run(30_000 + 137 * net.seed)
      d.stall(20_000)
      a.transport.sever(d.id)
      for (const node of [a, b, c]) {
        await net.until('it is suspected', 4_000, () => infoOf(node, d)?.suspect !== undefined, 10)
      }
      expect(infoOf(a, d)).toMatchObject({ status: 'up', suspect: 'unreachable' })
    })
  })

  test('soon after it answered a hint, is suspected as soon as ever', async () => {
    await onSeeds(20, { dialTimeoutMs: 1_000 }, async (net) => {
      const [a, b, c, d] = (await cluster(4, { net })) as Four
      await net.run(30_000)
      const { incarnation } = d.tracker.nodes()[0]!
      await b.transport.publish(encodeHint({ node: d.id, incarnation }))
      await net.run(50 * net.seed)
      d.stall(20_000)
      a.transport.sever(d.id)
      for (const node of [a, b, c]) {
        await net.until('it is suspected', 4_000, () => infoOf(node, d)?.suspect !== undefined, 10)
      }
    })
  })

  test('soon after it was looked for and found, is suspected as soon as ever', async () => {
    await onSeeds(20, { dialTimeoutMs: 1_000 }, async (net) => {
      const [a, b, c, d] = (await cluster(4, { net })) as Four
      await net.run(30_000)
      // Long enough for others to look for it at the longest intervals.
      net.isolate(d)
      await net.run(25_000)
      net.heal()
      const trustAndLink = () =>
        [a, b, c].every((node) => infoOf(node, d)?.suspect === undefined && isNeighbourOf(node, d))
      await net.until('it is back', 5_000, trustAndLink, 10)
      await net.run(50 * net.seed)
      d.stall(20_000)
      a.transport.sever(d.id)
      for (const node of [a, b, c]) {
        await net.until('it is suspected', 4_000, () => infoOf(node, d)?.suspect !== undefined, 10)
      }
    })
  })

  test('goes on, and is not suspected anew for what it left unanswered before', async () => {
    const options = { broadcastPeriodMs: 100, downPeriodMs: 800, probePeriodMs: 200, probeTimeoutMs: 200 }
    await onSeeds(60, {}, async (net) => {
      const [a, b, c, d] = (await cluster(4, { net, ...options })) as Four
      // Where packets are lost, gossip that comes by another way is there before answers that are sent again.
      net.setFaults([a, b, c], d, { loss: 0.4, delayMs: [1, 30] })
      await net.run(5_000 + 17 * net.seed)
      for (const node of [a, b, c]) node.forgetEvents()
      // Until it is down, and not until the connections are given up.
      d.stall(1_000 + 5 * net.seed)
      await net.run(1_600)
      for (const node of [a, b, c]) {
        const names = node.events().map(({ name }) => name)
        const isBack = names.includes('node_up')
        if (isBack) expect(names.slice(names.indexOf('node_up'))).not.toContain('node_suspected')
      }
    })
  })

  test('is returned when there is nothing else', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, , c] = (await cluster(3, { net })) as Three
      c.registry.register(service('s'))
      await net.run(5_000)
      c.stall(20_000)
      await net.run(5_000)
      expect(infoOf(a, c)?.suspect).toBe('unanswered')
      expect(returned(a, 's')).toEqual(['c'])
      expect(a.registry.explain('s')).toMatchObject([{ reason: 'returned' }])
    })
  })

  test('gives way to one of an older version, and one in another zone', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      b.registry.register({ name: 's', version: '2.0.0', zone: 'far' })
      c.registry.register({ name: 's', version: '2.1.0', zone: 'near' })
      await net.run(5_000)
      const find = () => a.registry.lookup('s', '2.0.0', { zone: 'near' })
      expect(find()).toMatchObject({ service: { version: '2.1.0' } })
      c.stall(20_000)
      await net.run(5_000)
      expect(find()).toMatchObject({ service: { version: '2.0.0' } })
      // What is asked for by name is answered all the same.
      expect(a.registry.lookup('s', '== 2.1.0').ok).toBe(true)
      expect(a.registry.lookup('s', '3.0.0')).toEqual({ ok: false, error: 'noversion', degraded: false })
    })
  })

  test('goes down in the end, and the suspicion with it', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, , c] = (await cluster(3, { net })) as Three
      c.registry.register(service('s'))
      await net.run(5_000)
      a.forgetEvents()
      c.stall(60_000)
      await net.run(50_000)
      expect(told(a, c.id)).toEqual(['service_down', 'node_down'])
      expect(infoOf(a, c)).toMatchObject({ status: 'down', suspect: undefined })
      await net.run(40_000)
      expect(doubts(a, c)).toEqual(['node_suspected'])
      expect(returned(a, 's')).toEqual(['c'])
      expect(infoOf(a, c)).toMatchObject({ status: 'up', suspect: undefined })
    })
  })
})

describe('a node that does not answer one node', () => {
  test('but others: is not suspected', async () => {
    await onSeeds(10, {}, async (net) => {
      const nodes = (await cluster(4, { net })) as Four
      const [a, , , d] = nodes
      d.registry.register(service('s'))
      await net.run(5_000)
      net.partition(a, d)
      await net.run(120_000)
      for (const node of nodes) {
        expect(node.events('node_suspected')).toEqual([])
        expect(told(node)).not.toContain('node_down')
      }
    })
  })

  test('nor its neighbours, but is heard by way of others: is not suspected', async () => {
    await onSeeds(10, {}, async (net) => {
      const nodes = (await cluster(4, { net })) as Four
      const [a, b, c, d] = nodes
      await net.run(5_000)
      // From here on a reaches d over b and c, of which only c knows d.
      net.cutLink(a, c)
      net.cutLink(b, d)
      await net.run(1_000)
      net.cutLink(a, d)
      await net.run(120_000)
      expect(a.events('node_suspected')).toEqual([])
      expect(told(a)).not.toContain('node_down')
    })
  })

  test('nor others: is suspected by all', async () => {
    await onSeeds(10, {}, async (net) => {
      const nodes = (await cluster(5, { net })) as Five
      const [a, b, c, d, e] = nodes
      await net.run(5_000)
      net.isolate(e)
      await net.run(5_000)
      for (const node of [a, b, c, d])
        expect(infoOf(node, e)).toMatchObject({ status: 'up', suspect: 'unanswered' })
      net.heal()
      await net.until('all is well', 10_000, () =>
        nodes.every((node) => node.registry.nodes().every(({ suspect }) => suspect === undefined)),
      )
      expectSame(...nodes)
    })
  })
})

describe('who is not well itself', () => {
  test('takes its time before it blames others', async () => {
    await onSeeds(10, {}, async (net) => {
      const nodes = (await cluster(5, { net })) as Five
      const [a, ...others] = nodes
      await net.run(5_000)
      // Cut off from all: the fault is likely here.
      net.isolate(a)
      await net.run(5_000)
      expect(a.events('node_suspected')).toEqual([])
      for (const node of others) expect(doubts(node, a)).toEqual(['node_suspected'])
    })
  })

  test('and was away for a while, suspects nobody', async () => {
    await onSeeds(10, {}, async (net) => {
      const nodes = (await cluster(4, { net })) as Four
      const [a] = nodes
      await net.run(5_000)
      for (let n = 0; n < 20; n++) {
        a.stall(2_500)
        await net.run(2_600)
      }
      expect(a.events('node_suspected')).toEqual([])
    })
  })
})

test('where a fifth of all packets is lost, hardly anyone is suspected, and nobody for long', async () => {
  let suspected = 0
  await onSeeds(10, ROUGH, async (net) => {
    const nodes = (await cluster(5, { net })) as Five
    await net.run(120_000)
    for (const node of nodes) suspected += node.events('node_suspected').length
    net.setFaults(nodes, nodes, { loss: 0 })
    await net.run(2_000)
    for (const node of nodes) {
      expect(node.registry.nodes().filter(({ suspect }) => suspect !== undefined)).toEqual([])
      expect(told(node)).not.toContain('node_down')
    }
  })
  // Of 200 ordered pairs over two minutes, each probed some hundred times.
  expect(suspected).toBeLessThan(20)
})

/** A cluster in which nodes keep connections with a few others only. */
async function sparse(net: SimulatedNetwork, count: number): Promise<SimNode[]> {
  const names = Array.from({ length: count }, (_, index) => `n${index + 1}`)
  const nodes = await cluster(count, { net, names, formWithinMs: 30_000 })
  const isFull = nodes.every(({ transport }) => transport.neighbours().length === count - 1)
  expect(isFull).toBe(false)
  return nodes
}

const isNeighbourOf = (node: SimNode, other: SimNode): boolean =>
  node.transport.neighbours().includes(other.id)

describe('hints', () => {
  test('C24: a death is known within a second to those who are not connected to it', async () => {
    await onSeeds(10, { degree: 3 }, async (net) => {
      const nodes = await sparse(net, 16)
      const dying = nodes.at(-1)!
      dying.registry.register(service('s'))
      await net.run(30_000)
      const rest = nodes.slice(0, -1)
      expect(rest.filter((node) => !isNeighbourOf(node, dying)).length).toBeGreaterThan(5)
      expect(rest.every((node) => node.registry.lookup('s').ok)).toBe(true)
      dying.crash()
      await net.until('it is known everywhere', 1_000, () =>
        rest.every((node) => !node.registry.lookup('s').ok),
      )
      for (const node of rest) {
        expect(node.events('node_down').map(({ payload: [{ id }, reason] }) => [id, reason])).toEqual([
          [dying.id, 'refused'],
        ])
      }
    })
  })

  test('C23: a hang is known within seconds to those who are not connected to it, and so is its end', async () => {
    await onSeeds(10, { degree: 3 }, async (net) => {
      const nodes = await sparse(net, 12)
      const hung = nodes.at(-1)!
      await net.run(30_000)
      const rest = nodes.slice(0, -1)
      hung.stall(20_000)
      await net.until('all suspect it', 12_000, () =>
        rest.every((node) => infoOf(node, hung)?.suspect !== undefined),
      )
      await net.run(20_000)
      await net.until('nobody does', 15_000, () =>
        rest.every((node) => infoOf(node, hung)?.suspect === undefined),
      )
      for (const node of rest) expect(told(node)).not.toContain('node_down')
    })
  })

  test('a death soon after a hang, of which no second hint tells, is found by those who go on looking', async () => {
    await onSeeds(10, { degree: 3 }, async (net) => {
      const nodes = await sparse(net, 12)
      const hung = nodes.at(-1)!
      await net.run(30_000)
      const rest = nodes.slice(0, -1)
      hung.stall(60_000)
      await net.until('all suspect it', 12_000, () =>
        rest.every((node) => infoOf(node, hung)?.suspect !== undefined),
      )
      hung.crash()
      await net.until('all know of its death', 10_000, () =>
        rest.every((node) => infoOf(node, hung)?.status === 'down'),
      )
      for (const node of rest) expect(infoOf(node, hung)?.reason).toBe('refused')
    })
  })

  test('a lie costs each a dial and changes nothing; its victim speaks up', async () => {
    await simulate({ seed: 1, degree: 3 }, async (net) => {
      const nodes = await sparse(net, 12)
      const victim = nodes.at(-1)!
      const liar = nodes[5]!
      await net.run(30_000)
      const before = nodes.map((node) => told(node).length)
      const { incarnation } = victim.tracker.nodes()[0]!
      const strangers = nodes.filter(
        (node) => node !== victim && node !== liar && !isNeighbourOf(node, victim),
      )
      const looks = new Map<SimNode, number>()
      for (const node of strangers) {
        const examine = node.transport.examine.bind(node.transport)
        node.transport.examine = (peer) => {
          looks.set(node, (looks.get(node) ?? 0) + 1)
          return examine(peer)
        }
      }
      let beats = 0
      const publish = victim.transport.publish.bind(victim.transport)
      victim.transport.publish = (message) => {
        beats++
        return publish(message)
      }
      for (let n = 0; n < 100; n++) {
        await liar.transport.publish(encodeHint({ node: victim.id, incarnation }))
        await net.run(10)
      }
      // Each that is not connected with it looks once, however often it is told to.
      expect([...looks.values()]).toEqual(strangers.map(() => 1))
      // A second of hints, and its own pace.
      expect(beats).toBeGreaterThan(0)
      expect(beats).toBeLessThan(5)
      await net.run(5_000)
      expect(nodes.map((node) => told(node).length)).toEqual(before)
      for (const node of nodes) {
        expect(node.events('node_suspected')).toEqual([])
        expect(told(node)).not.toContain('node_down')
      }
    })
  })

  test('are few: who has heard one gives none', async () => {
    let given = 0
    await onSeeds(10, {}, async (net) => {
      const nodes = await cluster(12, { net })
      await net.run(30_000)
      for (const { transport } of nodes) {
        const publish = transport.publish.bind(transport)
        transport.publish = (message) => {
          // Field 2 of a gossip message.
          if (message[0] === 0x12) given++
          return publish(message)
        }
      }
      nodes[3]!.crash()
      await net.run(5_000)
      expect(nodes.every((node) => !node.alive || told(node).includes('node_down'))).toBe(true)
    })
    expect(given).toBeGreaterThanOrEqual(10)
    expect(given).toBeLessThan(40)
  })
})

test('nodes that never could reach each other give no hints at each other, and suspect nobody', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']
    const links = names.slice(1).map((name, index) => [simAddress(names[index]!), simAddress(name)] as const)
    net.limitLinks(links)
    const nodes = await cluster(6, { net, names, seeds: 6, formWithinMs: 60_000 })
    let hints = 0
    net.tap(({ kind, payload }) => {
      if (kind === 'gossip' && payload?.[0] === 0x12) hints++
    })
    await net.run(120_000)
    expect(hints).toBe(0)
    for (const node of nodes) expect(node.events('node_suspected')).toEqual([])
  })
})

describe('a node that flaps', () => {
  test('gives way to others until it has been steady, by one event; alone it is returned', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      b.registry.register(service('s', { from: 'b' }))
      const crash = async (): Promise<void> => {
        c.crash()
        await net.run(1_000)
        await c.restart()
        c.registry.register(service('s', { from: 'c' }))
        await net.run(4_000)
      }
      for (let n = 1; n <= 5; n++) await crash()
      expect(returned(a, 's')).toEqual(['b', 'c'])
      await crash()
      expect(a.tracker.doubted).toMatchObject({ flapping: 1 })
      expect(returned(a, 's')).toEqual(['b'])
      expect(metadataAt(a, 's')).toHaveLength(2)
      expect(infoOf(a, c)).toMatchObject({ status: 'up', flapping: true, suspect: undefined })
      expect(
        a.registry
          .explain('s')
          .map(({ reason }) => reason)
          .sort(),
      ).toEqual(['flapping', 'returned'])
      await crash()
      expect(doubts(a, c)).toEqual(['node_flapping'])
      const end = net.clock.now()
      await net.until('it is trusted', 200_000, () => returned(a, 's').length === 2)
      expect(net.clock.now() - end).toBeGreaterThan(60_000)
      expect(net.clock.now() - end).toBeLessThan(120_000)
      expect(doubts(a, c)).toEqual(['node_flapping', 'node_trusted'])
      // Never held down: when it is the only one, it is the answer.
      for (let n = 1; n <= 6; n++) await crash()
      b.crash()
      await net.run(1_000)
      expect(infoOf(a, c)?.flapping).toBe(true)
      expect(returned(a, 's')).toEqual(['c'])
    })
  })
})
