import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import type { Registry } from '../../src/registry/registry.ts'
import type { RegistrationHandle } from '../../src/registry/registration.ts'
import type { Snapshot } from '../../src/registry/watch-types.ts'
import { expectOrderly, PERIOD_MS, service } from './scenario.ts'
import type { Four, Three, Two } from './scenario.ts'

const TOLD_MS = PERIOD_MS + 100

const SERVICE_EVENTS = ['service_up', 'service_changed', 'service_down']

/** What a node has told of services, in order. */
const told = (node: SimNode): string[] =>
  node
    .events()
    .filter(({ name }) => SERVICE_EVENTS.includes(name))
    .map(({ name, payload }) => {
      const [{ instance, reason }] = payload as unknown as [{ instance: { name: string }; reason?: string }]
      return [name.slice('service_'.length), instance.name, reason]
        .filter((word) => word !== undefined)
        .join(' ')
    })

const picture = (node: SimNode): string[] =>
  node.registry
    .services()
    .map(({ id, nodeName, state, weight }) => `${id} ${nodeName} ${state} ${weight}`)
    .sort()

describe('while frozen', () => {
  test('everything is served as it was, flagged, without an event, whatever happens; then all of it at once', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      const { registry } = a
      const changing = b.registry.register(service('changing'))
      const going = b.registry.register(service('going'))
      c.registry.register(service('on c'))
      b.registry.register(service('steady'))
      await net.run(TOLD_MS)
      const selector = registry.select('changing')
      const onC = registry.select('on c')
      const steady = registry.select('steady')
      expect([onC, steady].map((each) => each.next().degraded)).toEqual([false, false])
      const snapshots: Snapshot[] = []
      registry.watch('going').subscribe((snapshot) => snapshots.push(snapshot))
      await net.run(0)
      const before = picture(a)
      a.forgetEvents()

      registry.freeze()
      registry.freeze()
      expect([registry.frozen, registry.degraded]).toEqual([true, true])
      changing.update({ weight: 7 })
      going.unregister()
      b.registry.register(service('new'))
      const flash = b.registry.register(service('flash'))
      await net.run(TOLD_MS)
      flash.unregister()
      c.crash()
      await net.run(TOLD_MS)
      const own = registry.register(service('own'))
      await net.run(TOLD_MS)
      expect(picture(a)).toEqual(before)
      expect(selector.next()).toMatchObject({
        ok: true,
        degraded: true,
        stale: false,
        service: { weight: 1 },
      })
      expect([onC, steady].map((each) => each.next())).toMatchObject([
        { ok: true, degraded: true },
        { ok: true, degraded: true },
      ])
      expect(registry.lookup('going')).toMatchObject({ ok: true, degraded: true })
      expect(registry.lookup('on c')).toMatchObject({ ok: true, degraded: true })
      expect(registry.lookup('new')).toEqual({ ok: false, error: 'noservice', degraded: true })
      expect(registry.lookup('own')).toEqual({ ok: false, error: 'noservice', degraded: true })
      expect(registry.explain('on c').map(({ reason }) => reason)).toEqual(['returned'])
      expect(snapshots.map(({ instances, degraded }) => [instances.length, degraded])).toEqual([
        [1, false],
        [1, true],
      ])
      expect(told(a)).toEqual([])
      // The others hear of what is offered here.
      expect(b.registry.lookup('own')).toMatchObject({ ok: true, service: { id: own.instance.id } })

      registry.unfreeze()
      registry.unfreeze()
      expect([registry.frozen, registry.degraded]).toEqual([false, false])
      expect(told(a)).toEqual([
        'down going unregistered',
        'changed changing',
        'up new',
        'down on c refused',
        'up own',
      ])
      expect(selector.next()).toMatchObject({ ok: true, degraded: false, service: { weight: 7 } })
      expect([onC, steady].map((each) => each.next())).toMatchObject([
        { ok: false, degraded: false },
        { ok: true, degraded: false },
      ])
      await net.run(0)
      expect(snapshots.at(-1)).toMatchObject({ instances: [], degraded: false })
      expect(a.events('degraded').map(({ payload }) => payload)).toEqual([[{ reason: 'frozen' }]])
      expect(a.events('restored').map(({ payload }) => payload)).toEqual([[{ reason: 'frozen' }]])
      b.registry.register(service('later'))
      await net.run(TOLD_MS)
      expect(told(a).at(-1)).toBe('up later')
    })
  })

  test('nothing grows old: who stands in goes on to, until it is over', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      const handle = b.registry.register(service('s'))
      await net.run(TOLD_MS)
      handle.setState('unready')
      await net.run(TOLD_MS)
      const kept = a.registry.select('s', undefined, { stale: 'keep-last', maxStaleMs: 5_000 })
      expect(kept.next()).toMatchObject({ ok: true, stale: true, degraded: false })
      a.registry.freeze()
      await net.run(60_000)
      expect(kept.next()).toMatchObject({ ok: true, stale: true, degraded: true })
      a.registry.unfreeze()
      expect(kept.next()).toEqual({ ok: false, error: 'noinstance', degraded: false })
    })
  })

  test('who falls silent meanwhile stands in from the end on; who is known to be dead by then does not', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      for (const node of [b, c]) node.registry.register(service(node.name))
      await net.run(TOLD_MS)
      const keep = { stale: 'keep-last', maxStaleMs: 5_000 } as const
      a.registry.freeze()
      net.isolate(a)
      await net.run(40_000)
      b.crash()
      net.heal()
      net.isolate(c)
      await net.until('b is known to be dead', 60_000, () => a.events('node_dead').length === 1)
      expect(a.registry.lookup('b', undefined, keep)).toMatchObject({ ok: true, stale: false })
      a.registry.unfreeze()
      expect(a.registry.lookup('b', undefined, keep)).toMatchObject({ ok: false })
      expect(a.registry.lookup('c', undefined, keep)).toMatchObject({ ok: true, stale: true })
      await net.run(4_999)
      expect(a.registry.lookup('c', undefined, keep)).toMatchObject({ ok: true, stale: true })
      await net.run(1)
      expect(a.registry.lookup('c', undefined, keep)).toMatchObject({ ok: false })
    })
  })

  test('who stands in goes on to, though there is proof of its death by then, until it is over', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      b.registry.register(service('s'))
      await net.run(TOLD_MS)
      const kept = a.registry.select('s', undefined, { stale: 'keep-last' })
      net.isolate(a)
      await net.until('b is hidden', 60_000, () => !a.registry.lookup('s').ok)
      a.registry.freeze()
      b.crash()
      net.heal()
      await net.until('b is known to be dead', 60_000, () => a.events('node_dead').length === 1)
      expect(kept.next()).toMatchObject({ ok: true, stale: true, degraded: true })
      a.registry.unfreeze()
      expect(kept.next()).toMatchObject({ ok: false })
    })
  })

  test('doubt about nodes stays as it was, and counts again when it is over', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      for (const { registry } of [b, c]) registry.register(service('s'))
      await net.run(TOLD_MS)
      const returned = (): string[] => {
        const found = new Set<string>()
        for (let n = 0; n < 8; n++) {
          const answer = a.registry.lookup('s')
          if (answer.ok) found.add(answer.service.nodeName)
        }
        return [...found].sort()
      }
      // What is asked before the rest is told must not stand.
      a.registry.on('restored', returned)
      a.registry.freeze()
      c.stall(20_000)
      await net.run(10_000)
      expect(a.tracker.doubtOf(c.id)).toBe('unanswered')
      expect(returned()).toEqual(['b', 'c'])
      expect(a.registry.explain('s').map(({ reason }) => reason)).toEqual(['returned', 'returned'])
      a.registry.unfreeze()
      expect(returned()).toEqual(['b'])
      a.registry.freeze()
      await net.run(20_000)
      expect(a.tracker.doubtOf(c.id)).toBeUndefined()
      expect(returned()).toEqual(['b'])
      a.registry.unfreeze()
      expect(returned()).toEqual(['b', 'c'])
    })
  })

  test('what listeners bring about while they are told comes after the rest, and so does a new freeze', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      const { registry } = a
      registry.freeze()
      for (const name of ['one', 'two', 'three']) b.registry.register(service(name))
      const own = registry.register(service('own'))
      await net.run(TOLD_MS)
      a.forgetEvents()
      registry.once('service_up', () => {
        own.update({ weight: 2 })
        registry.register(service('made'))
      })
      registry.unfreeze()
      expect(told(a)).toEqual(['up own', 'up one', 'up two', 'up three', 'changed own', 'up made'])
      expect(registry.lookup('own')).toMatchObject({ ok: true, service: { weight: 2 } })
      expectOrderly(a)

      registry.freeze()
      b.registry.register(service('four'))
      registry.register(service('five'))
      await net.run(TOLD_MS)
      a.forgetEvents()
      registry.once('service_up', () => registry.freeze())
      registry.unfreeze()
      expect([registry.frozen, told(a)]).toEqual([true, ['up five']])
      registry.unfreeze()
      expect(told(a)).toEqual(['up five', 'up four'])

      registry.freeze()
      registry.register(service('six'))
      a.forgetEvents()
      registry.once('restored', () => registry.freeze())
      registry.unfreeze()
      expect([registry.frozen, told(a)]).toEqual([true, []])
      registry.unfreeze()
      expect(told(a)).toEqual(['up six'])
    })
  })

  test('C65: it closes, and then nothing is told', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      const { registry } = a
      const seen: number[] = []
      b.registry.register(service('s'))
      await net.run(TOLD_MS)
      registry.watch('s').subscribe(({ instances }) => seen.push(instances.length))
      registry.freeze()
      b.registry.register(service('s'))
      await net.run(TOLD_MS)
      a.forgetEvents()
      await net.settle(registry.close())
      registry.unfreeze()
      registry.freeze()
      await net.run(TOLD_MS)
      expect(told(a)).toEqual([])
      expect(registry.services()).toEqual([])
      expect(seen.at(-1)).toBe(1)
    })
  })
})

describe('against a node that was never frozen', () => {
  const act = fc.constantFrom(
    'register',
    'update',
    'unready',
    'unregister',
    'crash',
    'restart',
    'leave',
    'isolate',
    'heal',
    'freeze',
    'unfreeze',
    'wait',
    'long wait',
  )

  test('whatever happens meanwhile, in the end it shows the same, and its events come to what it shows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1_000),
        fc.array(fc.tuple(act, fc.nat(20)), { minLength: 10, maxLength: 30 }),
        async (seed, acts) => {
          await simulate({ seed }, async (net) => {
            const nodes = (await cluster(4, { net, downPeriodMs: 6_000, permdownPeriodMs: 30_000 })) as Four
            const [a, b, ...providers] = nodes
            const offers: Offer[] = []
            let frozen: readonly string[] | undefined
            for (const [what, pick] of acts) {
              const provider = providers[pick % providers.length]!
              const live = offers.filter(({ by, handle }) => !by.closed && handle.active)
              const { handle } = live[pick % Math.max(1, live.length)] ?? {}
              await perform(net, { a, provider, handle, offers }, what)
              if (what === 'freeze') frozen = picture(a)
              if (what === 'unfreeze') frozen = undefined
              if (frozen !== undefined) expect(picture(a)).toEqual(frozen)
            }
            net.heal()
            a.registry.unfreeze()
            await net.run(60_000)
            expect(picture(a)).toEqual(picture(b))
            expectOrderly(a)
            const shown = new Map<string, number>()
            for (const { name, payload } of a.events()) {
              if (!SERVICE_EVENTS.includes(name)) continue
              const [{ instance }] = payload as unknown as [{ instance: { id: string; weight: number } }]
              if (name === 'service_down') shown.delete(instance.id)
              else shown.set(instance.id, instance.weight)
            }
            const present = a.registry.services().map(({ id, weight }) => [id, weight] as const)
            expect([...shown].sort()).toEqual(present.sort())
          })
        },
      ),
      { numRuns: 100 },
    )
  })

  interface Offer {
    readonly by: Registry
    readonly handle: RegistrationHandle
  }

  interface Scene {
    readonly a: SimNode
    readonly provider: SimNode
    readonly handle: RegistrationHandle | undefined
    readonly offers: Offer[]
  }

  async function perform(net: SimulatedNetwork, scene: Scene, what: string): Promise<void> {
    const { a, provider, handle, offers } = scene
    const { alive } = provider
    if (what === 'register' && alive) {
      const { registry } = provider
      offers.push({ by: registry, handle: registry.register(service('s')) })
    }
    if (what === 'update') handle?.update({ weight: net.clock.now() })
    else if (what === 'unready') handle?.setState('unready')
    else if (what === 'unregister') handle?.unregister()
    else if (what === 'crash' && alive) provider.crash()
    else if (what === 'restart') await provider.restart()
    else if (what === 'leave' && alive) await net.settle(provider.close())
    else if (what === 'isolate') net.isolate(provider)
    else if (what === 'heal') net.heal()
    else if (what === 'freeze') a.registry.freeze()
    else if (what === 'unfreeze') a.registry.unfreeze()
    else if (what === 'long wait') await net.run(40_000)
    await net.run(500)
  }
})
