import { describe, expect, test } from 'vitest'
import {
  cluster,
  differences,
  expectSame,
  from,
  simulate,
  SimulatedNetwork,
} from '../../src/testing/index.ts'
import type { SimNode } from '../../src/testing/index.ts'

const PERIOD_MS = 1_500

const service = (name: string): { name: string; version: string } => ({ name, version: '1.0.0' })

type Four = [SimNode, SimNode, SimNode, SimNode]

describe('cluster', () => {
  test('a registration is seen everywhere, and its end too', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b, c] = (await cluster(3, { net })) as [SimNode, SimNode, SimNode]
    const registration = a.registry.register(service('mail'))
    await net.run(2 * PERIOD_MS)
    expectSame(a, b, c)
    expect([b, c].map((node) => node.registry.lookup('mail').ok)).toEqual([true, true])
    expect(b.events('service_up').filter(from(a))).toHaveLength(1)
    registration.unregister()
    await net.run(2 * PERIOD_MS)
    expectSame(a, b, c)
    expect(b.registry.lookup('mail').ok).toBe(false)
    expect(b.events('service_down').filter(from(a))).toHaveLength(1)
  })

  test('names what nodes differ in, and the seed', async () => {
    const net = new SimulatedNetwork({ seed: 77 })
    const [a, b] = (await cluster(2, { net })) as [SimNode, SimNode]
    await net.run(2 * PERIOD_MS)
    expect(differences(a, b)).toEqual([])
    net.partition(a, b)
    a.registry.register(service('mail'))
    await net.run(2 * PERIOD_MS)
    expect(differences(a, b).join('\n')).toMatch(/service mail 1\.0\.0 on a-1 \w+: seen by a, not by b/)
    expect(() => expectSame(a, b)).toThrow(/^seed 77, at [\d.]+ ms: a, b differ:\n/)
  })

  test('C24 C12: a crash is seen at once; a restart is another life, with either identity', async () => {
    for (const sameIdentity of [true, false]) {
      const net = new SimulatedNetwork({ seed: 5 })
      const [a, b] = (await cluster(3, { net })) as [SimNode, SimNode, SimNode]
      b.registry.register(service('mail'))
      await net.run(2 * PERIOD_MS)
      b.crash()
      expect(b.alive).toBe(false)
      expect(() => b.registry).toThrow('b is not alive')
      await net.run(100)
      expect(a.registry.lookup('mail').ok).toBe(false)
      await b.restart({ sameIdentity })
      b.registry.register(service('mail'))
      await net.run(4 * PERIOD_MS)
      expect(a.registry.lookup('mail').ok).toBe(true)
      expect(b.ids).toHaveLength(sameIdentity ? 1 : 2)
      expect(a.events('service_down').filter(from(b))).toHaveLength(1)
      expect(a.events('service_up').filter(from(b))).toHaveLength(2)
    }
  })

  test('a close says goodbye', async () => {
    const net = new SimulatedNetwork({ seed: 5 })
    const [a, b] = (await cluster(2, { net })) as [SimNode, SimNode]
    b.registry.register(service('mail'))
    await net.run(2 * PERIOD_MS)
    await net.settle(b.close())
    await net.run(20)
    expect(a.events('service_down').map(({ payload: [{ reason }] }) => reason)).toEqual(['left'])
  })

  test('C20: a wall clock that jumps changes nothing, and stays jumped over a restart', async () => {
    const net = new SimulatedNetwork({ seed: 5 })
    const [a, b] = (await cluster(2, { net })) as [SimNode, SimNode]
    b.jumpWall(3_600_000)
    await net.run(60_000)
    expect(a.events('node_down')).toEqual([])
    await b.restart()
    expect(b.clock.wallNow() - a.clock.wallNow()).toBe(3_600_000)
  })

  test('a stall is one node’s own, and it comes back by itself', async () => {
    const net = new SimulatedNetwork({ seed: 5 })
    const [a, b, c] = (await cluster(3, { net })) as [SimNode, SimNode, SimNode]
    b.stall(2 * a.options.downPeriodMs)
    await net.run(2 * a.options.downPeriodMs)
    expect(a.tracker.nodes().find(({ id }) => id === b.id)?.status).toBe('down')
    expect(a.events('node_down').filter(from(c))).toEqual([])
    await net.run(4 * PERIOD_MS)
    expectSame(a, b, c)
  })

  test('C27: a split longer than the purge heals into one view, one up per returning instance', async () => {
    const net = new SimulatedNetwork({ seed: 9, loss: 0.1 })
    const [a, b, c, d] = (await cluster(4, { net, permdownPeriodMs: 60_000 })) as Four
    for (const node of [a, b, c, d]) node.registry.register(service(node.name))
    await net.run(3 * PERIOD_MS)
    expectSame(a, b, c, d)
    net.partition([a, b], [c, d])
    await net.run(2 * a.options.permdownPeriodMs)
    expect(differences(a, c)).not.toEqual([])
    a.forgetEvents()
    net.heal()
    await net.run(3 * PERIOD_MS)
    expectSame(a, b, c, d)
    expect(a.events('service_up').filter(from(c))).toHaveLength(1)
  })

  test('the same seed gives the same run of whole nodes, another seed another', async () => {
    async function run(seed: number): Promise<string[]> {
      const net = new SimulatedNetwork({ seed, loss: 0.1, repeat: 0.02, reorder: 0.02, logLimit: 100_000 })
      const nodes = (await cluster(4, { net })) as Four
      for (const node of nodes) node.registry.register(service(node.name))
      await net.run(10_000)
      net.partition(nodes.slice(0, 2), nodes.slice(2))
      nodes[1].crash()
      await net.run(40_000)
      net.heal()
      await nodes[1].restart()
      nodes[3].stall(5_000)
      await net.run(20_000)
      return net.log()
    }
    const first = await run(42)
    expect(first.length).toBeGreaterThan(300)
    expect(await run(42)).toEqual(first)
    expect(await run(43)).not.toEqual(first)
  })

  test('whatever a scenario throws names its seed', async () => {
    const failing = simulate({ seed: 3 }, async (net) => {
      const [a] = (await cluster(1, { net })) as [SimNode]
      expect(a.name).toBe('z')
    })
    await expect(failing).rejects.toThrow(/^seed 3, at [\d.]+ ms: expected 'a' to be 'z'/)
  })
})
