import type { EventEmitter } from 'node:events'
import { register as globalRegister, Gauge, Registry as Register } from 'prom-client'
import { describe, expect, test, vi } from 'vitest'
import { collectMetrics, type MetricsOptions } from '../../src/metrics/index.ts'
import { METRICS } from '../../src/metrics/table.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { cluster, simulate, type SimNode, type SimulatedNetwork } from '../../src/testing/index.ts'
import { Monitor } from '../../src/tracker/monitor.ts'
import { Scrape } from './scrape.ts'

type Nodes = [SimNode, SimNode, SimNode]

/** Three nodes that have met, and what is scraped of the first. */
const onThree = (
  scenario: (scrape: () => Promise<Scrape>, nodes: Nodes, net: SimulatedNetwork) => Promise<void>,
  options: MetricsOptions = {},
): Promise<void> =>
  simulate({ seed: 1, delayMs: [10, 10] }, async (net) => {
    const nodes = (await cluster(3, { net })) as Nodes
    const register = new Register()
    collectMetrics(nodes[0].registry, { register, ...options })
    await scenario(() => Scrape.of(register), nodes, net)
  })

/** One node, and a register of its own. */
const onOne = (scenario: (registry: Registry, register: Register) => Promise<void> | void): Promise<void> =>
  simulate({ seed: 1 }, async (net) => {
    const [node] = (await cluster(1, { net })) as [SimNode]
    await scenario(node.registry, new Register())
  })

/** How many listeners there are, by event. */
const listenersOf = (registry: Registry): object => {
  const counts = (emitter: EventEmitter): object =>
    Object.fromEntries(emitter.eventNames().map((event) => [event, emitter.listenerCount(event)]))
  return [registry, registry.tracker].map((emitter) => counts(emitter as unknown as EventEmitter))
}

const held: Monitor[] = []

/** A monitor that is not collected before the tests are over: that would close it. */
function heldMonitor(): Monitor {
  const monitor = new Monitor()
  held.push(monitor)
  return monitor
}

const PERIOD_MS = 1_500

describe('services', () => {
  test('instances are counted by service and state, every state of a service from its first scrape on', async () => {
    await onThree(async (scrape, [a, b], net) => {
      a.registry.register({ name: 'Mail', version: '1.0.0' })
      b.registry.register({ name: 'Mail', version: '1.1.0' })
      b.registry.register({ name: 'Mail', version: '2.0.0', state: 'unready' }, { monitor: heldMonitor() })
      b.registry.register({ name: 'Bills', version: '1.0.0', state: 'starting' })
      await net.run(2 * PERIOD_MS)
      const seen = await scrape()
      expect(seen.value('services')).toBe(2)
      expect(seen.value('registrations')).toBe(1)
      const rows = seen
        .samples('instances')
        .map(({ labels, value }) => `${labels['service']} ${labels['state']} ${value}`)
      expect(rows.sort()).toEqual([
        'Bills draining 0',
        'Bills ready 0',
        'Bills starting 1',
        'Bills unready 0',
        'Mail draining 0',
        'Mail ready 2',
        'Mail starting 0',
        'Mail unready 1',
      ])
    })
  })

  test('a service that is gone has no instances, and is still there to say so', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register })
      const registration = registry.register({ name: 'Mail', version: '1.0.0' })
      await Scrape.of(register)
      registration.unregister()
      const seen = await Scrape.of(register)
      expect(seen.value('services')).toBe(0)
      expect(seen.samples('instances')).toContainEqual({
        labels: { service: 'Mail', state: 'ready' },
        value: 0,
      })
    })
  })

  test('a state of a later version is counted as other', async () => {
    await onThree(async (scrape, [, b], net) => {
      const meta = { version: '1.0.0', state: 'dreaming' }
      b.registry.register({ name: 'Mail', version: '1.0.0' })
      await net.run(2 * PERIOD_MS)
      const [entry] = b.tracker.entriesOf(b.id).filter(({ key }) => key === 'Mail')
      b.tracker.track(heldMonitor(), entry!.topic, 'Mail', { ...(entry!.meta as object), ...meta })
      await net.run(2 * PERIOD_MS)
      const { registry } = b
      expect(
        registry
          .services()
          .map(({ state }) => state)
          .sort(),
      ).toEqual(['dreaming', 'ready'])
      expect((await scrape()).by('instances', 'state')).toEqual({ ready: 1, other: 1 })
    })
  })

  test('ups, changes and downs are counted, downs by their reason', async () => {
    await onThree(async (scrape, [a, b, c], net) => {
      const kept = a.registry.register({ name: 'Kept', version: '1.0.0' })
      const ended = a.registry.register({ name: 'Ended', version: '1.0.0' })
      b.registry.register({ name: 'Crashed', version: '1.0.0' })
      c.registry.register({ name: 'Left', version: '1.0.0' })
      c.registry.register({ name: 'Left too', version: '1.0.0' })
      await net.run(2 * PERIOD_MS)
      kept.update({ weight: 2 })
      kept.update({ weight: 3 })
      ended.unregister()
      b.crash()
      await net.settle(c.close())
      await net.run(2 * PERIOD_MS)
      const seen = await scrape()
      expect(seen.value('instance_ups_total')).toBe(5)
      expect(seen.value('instance_changes_total')).toBe(2)
      expect(seen.by('instance_downs_total', 'reason')).toEqual({ unregistered: 1, refused: 1, left: 2 })
    })
  })

  test('probe runs are counted by kind and result; capabilities of any name are one kind', async () => {
    await onThree(async (scrape, [a], net) => {
      const health = {
        readiness: () => true,
        liveness: { check: () => false, fall: 100 },
        capabilities: { read: () => true, write: () => true },
      }
      a.registry.register({ name: 'Mail', version: '1.0.0' }, { health })
      await net.run(11_500)
      const runs = (await scrape()).samples('probe_runs_total').filter(({ value }) => value > 0)
      const brief = runs.map(({ labels }) => `${labels['probe']} ${labels['result']}`)
      expect(brief.sort()).toEqual(['capability passed', 'liveness probe-failed', 'readiness passed'])
      const of = (kind: string) => runs.find(({ labels }) => labels['probe'] === kind)!.value
      expect(of('readiness')).toBe(2)
      expect(of('capability')).toBe(4)
    })
  })

  test('an entry that is no service is counted', async () => {
    await onThree(async (scrape, [a, b], net) => {
      b.registry.register({ name: 'Mail', version: '1.0.0' })
      const { topic } = b.tracker.entriesOf(b.id).find(({ key }) => key === 'Mail')!
      b.tracker.track(heldMonitor(), topic, 'Junk', 7)
      await net.run(2 * PERIOD_MS)
      expect(a.registry.rejected).toBe(1)
      expect((await scrape()).value('rejected_services_total')).toBe(1)
    })
  })
})

describe('nodes', () => {
  test('by status, this one included; ups and downs since it began to count', async () => {
    await onThree(async (scrape, [, b, c], net) => {
      let seen = await scrape()
      expect(seen.by('nodes', 'status')).toEqual({ up: 3 })
      expect(seen.value('neighbours')).toBe(2)
      expect(seen.value('node_ups_total')).toBe(0)
      b.crash()
      await net.settle(c.close())
      await net.run(2 * PERIOD_MS)
      seen = await scrape()
      expect(seen.by('nodes', 'status')).toEqual({ up: 1, down: 1 })
      expect(seen.by('node_downs_total', 'reason')).toEqual({ refused: 1, left: 1 })
      expect(seen.value('neighbours')).toBe(0)
      expect(seen.value('dials_failing')).toBeGreaterThan(0)
      await b.restart()
      await net.run(10 * PERIOD_MS)
      seen = await scrape()
      expect(seen.by('nodes', 'status')).toEqual({ up: 2 })
      expect(seen.value('node_ups_total')).toBe(1)
    })
  })

  test('a split: silence in seconds, downs by silence, isolation, then purges', async () => {
    await onThree(async (scrape, [a, b, c], net) => {
      net.partition([a], [b, c])
      await net.run(20_000)
      let seen = await scrape()
      const silences = a.tracker.nodes().map(({ silentMs }) => silentMs)
      expect(seen.value('longest_silence_seconds')).toBeCloseTo(Math.max(...silences) / 1_000, 3)
      expect(seen.value('longest_silence_seconds')).toBeGreaterThan(5)
      expect(seen.by('degraded', 'reason')).toEqual({})
      await net.run(20_000)
      seen = await scrape()
      expect(seen.value('longest_silence_seconds')).toBe(0)
      expect(seen.by('node_downs_total', 'reason')).toEqual({ silent: 2 })
      expect(seen.by('degraded', 'reason')).toEqual({ isolated: 1 })
      await net.run(25 * 60_000)
      seen = await scrape()
      expect(seen.value('node_purges_total')).toBe(2)
      expect(seen.by('nodes', 'status')).toEqual({ up: 1 })
    })
  })

  test('a node that hangs is doubted, and no more when it goes on', async () => {
    await onThree(async (scrape, [, b], net) => {
      b.stall(8_000)
      await net.run(7_000)
      let seen = await scrape()
      expect(seen.by('nodes_doubted', 'doubt')).toEqual({ unanswered: 1 })
      await net.run(5_000)
      seen = await scrape()
      expect(seen.by('nodes_doubted', 'doubt')).toEqual({})
      expect(seen.by('node_doubts_total', 'doubt')).toEqual({ suspected: 1 })
    })
  })

  test('what is missing of a node that is ahead: the writes, and the node', async () => {
    await onThree(async (scrape, [a, b, c], net) => {
      net.oneWay([b, c], [a])
      for (const name of ['X', 'Y', 'Z']) b.registry.register({ name, version: '1.0.0' })
      await net.run(2 * PERIOD_MS)
      net.heal()
      // Heard of at the next beat, brought by the sync that follows.
      await net.until(
        'a knows that it is behind',
        60_000,
        () => a.tracker.diagnostics().nodes.some((n) => n.behind),
        1,
      )
      let seen = await scrape()
      expect(seen.value('nodes_behind')).toBe(1)
      expect(seen.value('writes_missing')).toBe(3)
      await net.run(10_000)
      seen = await scrape()
      expect(seen.value('nodes_behind')).toBe(0)
      expect(seen.value('writes_missing')).toBe(0)
      expect(seen.by('sync_frames_received_total', 'cause')).toMatchObject({ gap: 1 })
      expect(seen.by('syncs_total', 'cause')).toMatchObject({ gap: 1 })
      expect(seen.value('gaps_total')).toBe(a.tracker.diagnostics().gaps)
    })
  })

  test('frozen by hand, and its end', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register })
      registry.freeze()
      expect((await Scrape.of(register)).by('degraded', 'reason')).toEqual({ frozen: 1 })
      registry.unfreeze()
      expect((await Scrape.of(register)).by('degraded', 'reason')).toEqual({})
    })
  })
})

describe('bounds', () => {
  test('10,000 names: those first seen are labels, the rest is counted together', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register, maxServices: 10 })
      registry.register({ name: 'Zebra', version: '1.0.0' })
      await Scrape.of(register)
      for (let n = 0; n < 9_990; n++) registry.register({ name: `name ${n}`, version: '1.0.0' })
      const seen = await Scrape.of(register)
      expect(seen.value('services')).toBe(9_991)
      const byService = seen.by('instances', 'service')
      expect(Object.keys(byService)).toHaveLength(11)
      expect(byService).toMatchObject({ Zebra: 1, other: 9_981 })
      expect(seen.samples('instances')).toHaveLength(11 * 4)
      expect(seen.text.split('\n').length).toBeLessThan(300)
    })
  })

  test('C8: names used once do not add up', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register, maxServices: 3 })
      for (let n = 0; n < 20; n++) {
        const registration = registry.register({ name: `name ${n}`, version: '1.0.0' })
        await Scrape.of(register)
        registration.unregister()
      }
      const seen = await Scrape.of(register)
      expect(new Set(seen.samples('instances').map(({ labels }) => labels['service']))).toEqual(
        new Set(['name 0', 'name 1', 'name 2']),
      )
    })
  })

  test('a service that is called other is counted with the rest', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register, maxServices: 1 })
      for (const name of ['other', 'z', 'zz']) registry.register({ name, version: '1.0.0' })
      expect((await Scrape.of(register)).by('instances', 'service')).toEqual({ z: 1, other: 2 })
    })
  })

  test('without names, all are counted together', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register, maxServices: 0 })
      for (const name of ['a', 'b']) registry.register({ name, version: '1.0.0' })
      expect((await Scrape.of(register)).by('instances', 'service')).toEqual({ other: 2 })
    })
  })

  test('C44: hostile names are ordinary label values', async () => {
    const names = [
      '__proto__',
      'constructor',
      'toString',
      'a"} 1',
      'back\\slash\\n',
      'a,state="ready"',
      'line\u2028end',
      '🦊 # HELP x',
    ]
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register })
      for (const name of names) registry.register({ name, version: '1.0.0' })
      const ready = (await Scrape.of(register)).samples('instances').filter(({ value }) => value === 1)
      expect(ready.map(({ labels }) => labels['service']).sort()).toEqual([...names].sort())
      expect(ready.every(({ labels }) => labels['state'] === 'ready')).toBe(true)
      expect(({} as Record<string, unknown>)['Mail']).toBeUndefined()
    })
  })

  test('no label holds the id or the name of a node', async () => {
    await onThree(async (scrape, nodes, net) => {
      nodes[1].crash()
      await net.run(60_000)
      const { text } = await scrape()
      for (const { ids } of nodes) for (const id of ids) expect(text).not.toContain(`"${id}"`)
      expect(new Set(Object.values(METRICS).flatMap(({ labels }) => labels))).toEqual(
        new Set([
          'service',
          'state',
          'status',
          'doubt',
          'reason',
          'probe',
          'result',
          'code',
          'cause',
          'direction',
        ]),
      )
    })
  })
})

describe('the register', () => {
  test('has every metric of the table, with its type and help, and a value of each that has no label', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register })
      const { families } = await Scrape.of(register)
      expect(families.map(({ name, type, help }) => ({ name, type, help }))).toEqual(
        Object.entries(METRICS).map(([name, { type, help }]) => ({
          name: `rollcall_${name}`,
          type: type.toUpperCase(),
          help,
        })),
      )
      for (const { name, metrics } of families) {
        const { labels } = METRICS[name.replace('rollcall_', '') as keyof typeof METRICS]
        if (labels.length === 0) expect(metrics, name).toHaveLength(1)
        for (const metric of metrics) expect(Object.keys(metric.labels ?? {}), name).toEqual([...labels])
      }
    })
  })

  test('names follow the conventions of Prometheus', () => {
    for (const [name, { type }] of Object.entries(METRICS)) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(name.endsWith('_total'), name).toBe(type === 'counter')
      expect(name, 'base units').not.toMatch(/_(ms|millis|milliseconds|minutes|kb|mb)(_|$)/)
    }
  })

  test('all of a scrape comes from one reading, each scrape from a new one', async () => {
    await onOne(async (registry, register) => {
      collectMetrics(registry, { register })
      const read = vi.spyOn(registry, 'diagnostics')
      await Scrape.of(register)
      expect(read).toHaveBeenCalledTimes(1)
      await Scrape.of(register)
      expect(read).toHaveBeenCalledTimes(2)
    })
  })

  test('is the global one by default, under the prefix rollcall_', async () => {
    await onOne((registry) => {
      const metrics = collectMetrics(registry)
      expect(globalRegister.getSingleMetric('rollcall_services')).toBeDefined()
      metrics.stop()
      expect(globalRegister.getMetricsAsArray()).toEqual([])
    })
  })

  test('two registries live in one by their prefixes; with one prefix the second is refused, and nothing of it stays', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as [SimNode, SimNode]
      const register = new Register()
      a.registry.register({ name: 'Mail', version: '1.0.0' })
      collectMetrics(a.registry, { register })
      const listeners = listenersOf(b.registry)
      expect(() => collectMetrics(b.registry, { register })).toThrow(
        expect.objectContaining({
          code: 'ROLLCALL_INVALID_ARGUMENT',
          message: 'The option prefix is "rollcall_": must be another: the register has rollcall_services',
        }),
      )
      expect(listenersOf(b.registry)).toEqual(listeners)
      collectMetrics(b.registry, { register, prefix: 'b_' })
      const text = await register.metrics()
      expect(text).toContain('\nrollcall_registrations 1\n')
      expect(text).toContain('\nb_registrations 0\n')
    })
  })
})

describe('stop', () => {
  test('leaves no metric and no listener, and may be called twice', async () => {
    await onOne((registry, register) => {
      const before = listenersOf(registry)
      const metrics = collectMetrics(registry, { register })
      expect(listenersOf(registry)).not.toEqual(before)
      metrics.stop()
      expect(listenersOf(registry)).toEqual(before)
      expect(register.getMetricsAsArray()).toEqual([])
      metrics.stop()
    })
  })

  test('leaves alone what is not of this collection', async () => {
    await onOne((registry, register) => {
      new Gauge({ name: 'mine', help: 'Mine.', registers: [register] })
      const first = collectMetrics(registry, { register })
      first.stop()
      collectMetrics(registry, { register })
      const there = register.getMetricsAsArray().length
      first.stop()
      expect(register.getMetricsAsArray()).toHaveLength(there)
      expect(register.getSingleMetric('mine')).toBeDefined()
    })
  })

  test('comes with the end of the registry; a closed one is refused', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const nodes = (await cluster(2, { net })) as [SimNode, SimNode]
      const [collected, plain] = [nodes[0].registry, nodes[1].registry]
      const register = new Register()
      collectMetrics(collected, { register })
      for (const node of nodes) await net.settle(node.close())
      expect(register.getMetricsAsArray()).toEqual([])
      expect(listenersOf(collected)).toEqual(listenersOf(plain))
      expect(() => collectMetrics(collected, { register })).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_CLOSED' }),
      )
    })
  })
})

test.each([
  [{ register: {} }, 'The option register is an object: must be a Registry of prom-client'],
  [{ register: null }, 'The option register is null: must be a Registry of prom-client'],
  [{ prefix: '' }, 'The option prefix is "": must be the beginning of a name of Prometheus'],
  [{ prefix: '1_' }, 'The option prefix is "1_": must be the beginning of a name of Prometheus'],
  [{ prefix: 'a-b' }, 'The option prefix is "a-b": must be the beginning of a name of Prometheus'],
  [{ prefix: 7 }, 'The option prefix is 7: must be the beginning of a name of Prometheus'],
  [{ maxServices: -1 }, 'The option maxServices is -1: must be a whole number, at least 0'],
  [{ maxServices: 1.5 }, 'The option maxServices is 1.5: must be a whole number, at least 0'],
  [{ maxService: 1 }, 'The options has an unknown field "maxService"'],
])('an option that breaks its rule is refused: %o', async (options, message) => {
  await onOne((registry) => {
    expect(() => collectMetrics(registry, options as MetricsOptions)).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT', message }),
    )
  })
})

test('what is no registry is refused', () => {
  for (const registry of [undefined, {}, { tracker: {} }]) {
    expect(() => collectMetrics(registry as Registry, { register: new Register() })).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT' }),
    )
  }
})
