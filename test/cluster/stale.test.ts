import { describe, expect, test } from 'vitest'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import type { LookupOptions } from '../../src/registry/types.ts'
import type { Snapshot } from '../../src/registry/watch-types.ts'
import { onSeeds, PERIOD_MS, service, told } from './scenario.ts'
import type { Three } from './scenario.ts'

const DELIVERY_MS = 100
const TOLD_MS = PERIOD_MS + DELIVERY_MS
const MAX_MS = 100_000
const KEEP: LookupOptions = { stale: 'keep-last', maxStaleMs: MAX_MS }

/** A caller and two providers of `s`, each seen ready. */
async function served(scenario: (net: SimulatedNetwork, nodes: Three) => Promise<void>): Promise<void> {
  await onSeeds(5, {}, async (net) => {
    const nodes = (await cluster(3, { net })) as Three
    for (const provider of nodes.slice(1)) provider.registry.register(service('s'))
    await net.run(TOLD_MS)
    await scenario(net, nodes)
  })
}

/** What lookups return, as often as it takes to see all: the nodes and flags, or why there is nobody. */
function returned(node: SimNode, options: LookupOptions = KEEP): string {
  const found = new Set<string>()
  let flags = ''
  for (let n = 0; n < 20; n++) {
    const answer = node.registry.lookup('s', undefined, options)
    flags = answer.degraded ? ' degraded' : ''
    if (!answer.ok) return `${answer.error}${flags}`
    if (answer.stale) flags = ` stale${flags}`
    found.add(answer.service.nodeName)
  }
  return `${[...found].sort().join()}${flags}`
}

/** Runs until a node has hidden all others. Returns when it hid the last of them. */
async function hideAll(net: SimulatedNetwork, node: SimNode): Promise<number> {
  await net.run(node.options.downPeriodMs + 2 * PERIOD_MS)
  return Math.max(...node.events('node_down').map(({ atMs }) => atMs))
}

const names = (node: SimNode, ...wanted: readonly string[]): string[] =>
  node
    .events()
    .map(({ name }) => name)
    .filter((name) => wanted.includes(name))

describe('C56: cut off from all providers', () => {
  test('nobody, or those it knew, flagged, up to the cap to the ms, as policy says', async () => {
    await served(async (net, [a]) => {
      const closed = a.registry.select('s')
      const kept = a.registry.select('s', undefined, KEEP)
      expect([returned(a), returned(a, {})]).toEqual(['b,c', 'b,c'])
      net.isolate(a)
      const hiddenAt = await hideAll(net, a)
      expect([returned(a), returned(a, {})]).toEqual(['b,c stale degraded', 'noservice degraded'])
      expect(kept.next()).toMatchObject({ ok: true, stale: true })
      expect(closed.next()).toEqual({ ok: false, error: 'noservice', degraded: true })
      expect(a.registry.lookupAll('s')).toEqual([])
      await net.run(0)
      expect(a.events('service_stale').map(({ payload: [{ name }] }) => name)).toEqual(['s'])
      await net.run(hiddenAt + MAX_MS - 1 - net.clock.now())
      expect(kept.next()).toMatchObject({ ok: true, stale: true })
      await net.run(1)
      expect(kept.next()).toMatchObject({ ok: false, error: 'noservice' })
      expect(returned(a)).toBe('noservice degraded')
    })
  })

  test('who returns is fresh again, and the node is trusted again', async () => {
    await served(async (net, [a]) => {
      net.isolate(a)
      await hideAll(net, a)
      expect([a.registry.degraded, a.tracker.isolated]).toEqual([true, true])
      net.heal()
      await net.until('both are back', 60_000, () => returned(a, {}).startsWith('b,c'))
      await net.run(PERIOD_MS)
      expect([returned(a), returned(a, {}), a.registry.degraded]).toEqual(['b,c', 'b,c', false])
      expect(names(a, 'degraded', 'restored', 'isolated', 'isolation_ended')).toEqual([
        'degraded',
        'isolated',
        'restored',
        'isolation_ended',
      ])
      expect(a.events('degraded')[0]?.payload).toEqual([{ reason: 'isolated' }])
      expect(a.events('restored')[0]?.payload).toEqual([{ reason: 'isolated' }])
    })
  })

  test('evidence of death ends it early: a silent node that then refuses is not returned any more', async () => {
    await served(async (net, [a, b, c]) => {
      const shown: string[] = []
      a.registry
        .watch('s', undefined, { ...KEEP, maxStaleMs: 10 * MAX_MS })
        .subscribe(({ instances, stale }) => shown.push(`${instances.length}${stale ? ' stale' : ''}`))
      net.isolate(a)
      await hideAll(net, a)
      b.crash()
      c.crash()
      const options: LookupOptions = { ...KEEP, maxStaleMs: 10 * MAX_MS }
      expect(returned(a, options)).toBe('b,c stale degraded')
      net.heal()
      await net.until('both are known to be dead', 60_000, () => a.events('node_dead').length === 2)
      expect(returned(a, options)).toMatch(/^noservice/)
      await net.run(PERIOD_MS)
      expect(shown.at(0)).toBe('2')
      expect(shown).toContain('2 stale')
      expect(shown.at(-1)).toBe('0')
      for (const { id, reason } of a.registry.nodes()) if (id !== a.id) expect(reason).toBe('refused')
      for (const { id } of [b, c]) {
        expect(told(a, id).filter((name) => name === 'service_down')).toHaveLength(1)
      }
      expect([a.registry.degraded, returned(a, options)]).toEqual([false, 'noservice'])
    })
  })

  test('who is forgotten is not returned any more, whatever the cap', async () => {
    await served(async (net, [a]) => {
      const options: LookupOptions = { ...KEEP, maxStaleMs: 100 * MAX_MS }
      net.isolate(a)
      await net.run(a.options.permdownPeriodMs - PERIOD_MS)
      expect(returned(a, options)).toBe('b,c stale degraded')
      await net.until('all are forgotten', 2 * a.options.downPeriodMs, () => a.registry.nodes().length === 1)
      // Nobody is left to have lost sight of.
      await net.run(PERIOD_MS)
      expect(returned(a, options)).toBe('noservice')
    })
  })

  test('a later life of a silent node is told from the one before: of that one nothing is returned any more', async () => {
    await served(async (net, [a, b, c]) => {
      net.isolate(a)
      await hideAll(net, a)
      await net.settle(c.close())
      await b.restart()
      net.heal()
      await net.until('b is back', 60_000, () =>
        a.registry.nodes().some(({ id, status }) => id === b.id && status === 'up'),
      )
      // What c said at its end, a has not heard yet, or it has.
      expect(returned(a)).not.toMatch(/b/)
    })
  })
})

describe('C56: all unready together', () => {
  test('is no death: they are returned, flagged, until one is ready again', async () => {
    await served(async (net, [a, b, c]) => {
      const handles = [b, c].map(({ registry }) => registry.register(service('t')))
      await net.run(TOLD_MS)
      for (const handle of handles) handle.setState('unready')
      await net.run(TOLD_MS)
      const look = (options: LookupOptions) => a.registry.lookup('t', undefined, options)
      expect(look({})).toEqual({ ok: false, error: 'noinstance', degraded: false })
      expect(look(KEEP)).toMatchObject({
        ok: true,
        stale: true,
        degraded: false,
        service: { state: 'unready' },
      })
      const explained = a.registry.explain('t', undefined, KEEP)
      expect(explained.map(({ returned: is, reason }) => [is, reason])).toEqual([
        [true, 'stale'],
        [true, 'stale'],
      ])
      expect(a.registry.explain('t').map(({ reason }) => reason)).toEqual(['state', 'state'])
      handles[0]?.clearState()
      await net.run(TOLD_MS)
      expect(look(KEEP)).toMatchObject({ ok: true, stale: false })
      handles[0]?.unregister()
      await net.run(TOLD_MS)
      expect(look(KEEP)).toMatchObject({ ok: true, stale: true, service: { node: c.id } })
      handles[1]?.unregister()
      await net.run(TOLD_MS)
      expect(look(KEEP)).toMatchObject({ ok: false, error: 'noservice' })
    })
  })
})

describe('C56: a graceful end is never masked', () => {
  test.each(['leave', 'unregister', 'drain', 'crash'])('%s', async (end) => {
    await onSeeds(3, {}, async (net) => {
      const [a, ...providers] = (await cluster(3, { net })) as Three
      const handles = providers.map(({ registry }) => registry.register(service('s')))
      await net.run(TOLD_MS)
      expect(returned(a)).toBe('b,c')
      if (end === 'leave') for (const node of providers) await net.settle(node.close())
      else if (end === 'crash') for (const node of providers) node.crash()
      else if (end === 'unregister') for (const handle of handles) handle.unregister()
      else
        for (const handle of handles)
          void handle.drain({ graceMs: 60_000, until: () => new Promise(() => undefined) })
      await net.run(TOLD_MS)
      expect(returned(a)).toMatch(/^no/)
      await net.run(MAX_MS)
      expect(returned(a)).toMatch(/^no/)
      expect(a.events('service_stale')).toEqual([])
    })
  })
})

describe('a watch that keeps the last', () => {
  test('is told when it begins and, at the cap, when it ends; another one is told it is empty at once', async () => {
    await served(async (net, [a]) => {
      const kept: [atMs: number, Snapshot][] = []
      const closed: Snapshot[] = []
      const watch = a.registry.watch('s', undefined, KEEP)
      const stop = watch.subscribe((snapshot) => kept.push([net.clock.now(), snapshot]))
      a.registry.watch('s').subscribe((snapshot) => closed.push(snapshot))
      await net.run(0)
      net.isolate(a)
      const hiddenAt = await hideAll(net, a)
      expect(kept.at(-1)?.[1]).toMatchObject({ stale: true, degraded: true, instances: [{}, {}] })
      expect([watch.stale, closed.at(-1)?.instances, closed.at(-1)?.stale]).toEqual([true, [], false])
      await net.run(MAX_MS + PERIOD_MS)
      const [endedAt, last] = kept.at(-1)!
      expect([last.stale, last.instances, endedAt]).toEqual([false, [], hiddenAt + MAX_MS])
      expect(kept.filter(([, { stale }]) => stale).map(([, { instances }]) => instances.length)[0]).toBe(2)
      stop()
    })
  })
})

describe('what does not keep the last', () => {
  test('nobody waits for what was; a registry may keep it for all its lookups', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net, stale: 'keep-last', maxStaleMs: 5_000 })) as [SimNode, SimNode]
      const handle = b.registry.register(service('s'))
      await net.run(TOLD_MS)
      handle.setState('unready')
      await net.run(TOLD_MS)
      expect(returned(a, {})).toBe('b stale')
      expect(returned(a, { stale: 'fail-closed' })).toBe('noinstance')
      expect(a.registry.cachedResolver('s', { ttlMs: 0 }).resolve()).toEqual([])
      let found = false
      void a.registry.waitFor('s').then(() => (found = true))
      await net.run(0)
      expect(found).toBe(false)
      handle.clearState()
      await net.run(TOLD_MS)
      expect(found).toBe(true)
    })
  })
})
