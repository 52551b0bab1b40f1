import { describe, expect, test } from 'vitest'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import type { RegistrationHandle } from '../../src/registry/registration.ts'
import { Monitor } from '../../src/tracker/monitor.ts'
import { codeOf } from '../wire/codes.ts'
import { instanceOf, PERIOD_MS, service } from './scenario.ts'

/** What a message takes. */
const DELIVERY_MS = 100
/** A change that waits for the period is there by then, and not surely before. */
const TOLD_MS = PERIOD_MS + DELIVERY_MS

/** One that offers, and one that watches. */
async function two(
  scenario: (net: SimulatedNetwork, owner: SimNode, observer: SimNode) => Promise<void> | void,
) {
  await simulate({ seed: 1 }, async (net) => {
    const [owner, observer] = await cluster(2, { net })
    await scenario(net, owner!, observer!)
  })
}

const stateOf = (node: SimNode, name = 's'): readonly (string | undefined)[] => {
  const [instance] = node.registry.lookupAll(name, undefined, { state: 'any' })
  return instance === undefined ? ['gone'] : [instance.state, instance.reason]
}

const downs = (node: SimNode) => node.events('service_down').map(({ payload: [{ reason }] }) => reason)

describe('a lease', () => {
  test('lives as long as it is renewed, and its end is told as such', async () => {
    await two(async (net, owner, observer) => {
      const handle = owner.registry.register(service('s'), { lease: 900 })
      for (let round = 0; round < 10; round++) {
        await net.run(899)
        handle.renew()
      }
      expect(stateOf(observer)).toEqual(['ready', undefined])
      await net.run(899)
      expect(handle.active).toBe(true)
      await net.run(1)
      expect(handle.active).toBe(false)
      expect(codeOf(() => handle.renew())).toBe('ROLLCALL_MONITOR_CLOSED')
      await net.run(TOLD_MS)
      expect([downs(owner), downs(observer)]).toEqual([['expired'], ['expired']])
    })
  })

  test('says its state when it is renewed, in one write, and only when it is another', async () => {
    await two(async (net, owner, observer) => {
      const handle = owner.registry.register(service('s'), { lease: 10_000 })
      await net.run(TOLD_MS)
      const { version } = owner.tracker.diagnostics().self
      handle.renew({ state: 'unready', reason: 'disk full' })
      handle.renew({ state: 'unready', reason: 'disk full' })
      expect(owner.tracker.diagnostics().self.version).toBe(version + 1)
      await net.run(TOLD_MS)
      expect(stateOf(observer)).toEqual(['unready', 'disk full'])
      handle.renew({ state: 'unready', reason: 'disk slow' })
      expect(handle.instance.reason).toBe('disk slow')
      expect(observer.registry.lookup('s')).toEqual({ ok: false, error: 'noinstance', degraded: false })
      handle.renew({ state: 'ready' })
      await net.run(TOLD_MS)
      expect(stateOf(observer)).toEqual(['ready', undefined])
      // A reason is one for a state, however it is said.
      handle.update({ state: 'unready', reason: 'disk full' })
      handle.update({ weight: 2 })
      expect(handle.instance.reason).toBe('disk full')
      handle.update({ state: 'ready' })
      expect(handle.instance.reason).toBeUndefined()
    })
  })

  test('is refused together with a monitor, for no time, and where there is none to renew', async () => {
    await two((_net, { registry }) => {
      const register = (options: object) => () => registry.register(service('s'), options)
      expect(codeOf(register({ lease: 1, monitor: new Monitor() }))).toBe('ROLLCALL_INVALID_ARGUMENT')
      expect(codeOf(register({ lease: 0 }))).toBe('ROLLCALL_INVALID_ARGUMENT')
      expect(codeOf(register({ leases: 1 }))).toBe('ROLLCALL_INVALID_ARGUMENT')
      expect(registry.services()).toEqual([])
      const handle = registry.register(service('s'))
      expect(codeOf(() => handle.renew())).toBe('ROLLCALL_INVALID_ARGUMENT')
      expect(codeOf(() => handle.renew({ status: 'ready' } as object))).toBe('ROLLCALL_INVALID_ARGUMENT')
    })
  })
})

describe('maintenance', () => {
  test('a state set by hand stays over what probes and owner say, until it is cleared', async () => {
    await two(async (net, owner, observer) => {
      let well = true
      const handle = owner.registry.register(service('s'), {
        health: { readiness: { check: () => well, periodMs: 100, fall: 1, jitter: 0 }, reentryMs: 0 },
      })
      await net.run(TOLD_MS)
      expect(stateOf(observer)).toEqual(['ready', undefined])
      handle.setState('unready', { reason: 'maintenance' })
      handle.update({ metadata: { edition: 2 } })
      await net.run(TOLD_MS)
      expect(stateOf(observer)).toEqual(['unready', 'maintenance'])
      handle.setState('ready')
      well = false
      await net.run(TOLD_MS)
      expect(stateOf(observer)).toEqual(['ready', 'by-hand'])
      handle.clearState()
      await net.run(TOLD_MS)
      expect(stateOf(observer)).toEqual(['unready', 'probe-failed'])
      well = true
      await net.run(TOLD_MS + 100)
      expect(stateOf(observer)).toEqual(['ready', undefined])
    })
  })

  test('is refused for what is no state to be held in, and after the end', async () => {
    await two((_net, { registry }) => {
      const handle = registry.register(service('s'))
      for (const call of [
        () => handle.setState('draining' as 'ready'),
        () => handle.setState('unready', { reason: '' }),
        () => handle.setState('unready', { reason: 'x'.repeat(65) }),
        () => handle.setState('unready', { why: 'x' } as object),
      ]) {
        expect(codeOf(call)).toBe('ROLLCALL_INVALID_ARGUMENT')
      }
      expect(handle.instance.state).toBe('ready')
      handle.unregister()
      expect(codeOf(() => handle.setState('unready'))).toBe('ROLLCALL_MONITOR_CLOSED')
      handle.clearState()
    })
  })
})

describe('a drain', () => {
  test('C51: is told at once, waits for what is in flight, and ends with the entry gone', async () => {
    await two(async (net, owner, observer) => {
      const handle = owner.registry.register(service('s'))
      await net.run(TOLD_MS)
      let finish: () => void = () => undefined
      let ended = 'not yet'
      const draining = handle.drain({
        graceMs: 60_000,
        until: () => new Promise<void>((done) => (finish = done)),
      })
      void draining.then(() => (ended = stateOf(owner).join()))
      expect(handle.drain()).toBe(draining)
      await net.run(DELIVERY_MS)
      expect(stateOf(observer)).toEqual(['draining', 'draining'])
      expect(observer.registry.lookup('s')).toEqual({ ok: false, error: 'noinstance', degraded: false })
      await net.run(20_000)
      expect([stateOf(observer), ended]).toEqual([['draining', 'draining'], 'not yet'])
      finish()
      await net.run(DELIVERY_MS)
      expect([stateOf(observer), ended]).toEqual([['gone'], 'gone'])
      expect(downs(observer)).toEqual(['drained'])
      expect(handle.instance.state).toBe('draining')
    })
  })

  test('ends at its bound, when something else ends the registration, and though what it waits for breaks', async () => {
    await two(async (net, owner, observer) => {
      const { registry } = owner
      const monitor = new Monitor()
      const register = (options = {}) => registry.register(service('s'), options)
      const outcomes: string[] = []
      const drain = (handle: RegistrationHandle, options: object) => {
        const done = handle.drain(options)
        void done.then(
          () => outcomes.push('drained'),
          (error: unknown) => outcomes.push(String(error)),
        )
      }
      drain(register(), { graceMs: 2_000 })
      await net.run(1_999)
      expect(outcomes).toEqual([])
      await net.run(1)
      expect(outcomes).toEqual(['drained'])

      const shared = register({ monitor })
      drain(shared, { graceMs: 600_000 })
      monitor.close()
      await net.run(0)
      expect(outcomes).toEqual(['drained', 'drained'])

      drain(register(), {
        until: () => {
          throw new Error('broken')
        },
      })
      await net.run(TOLD_MS)
      expect(outcomes.slice(2)).toEqual(['Error: broken'])
      expect([registry.services(), observer.registry.services()]).toEqual([[], []])
      expect(codeOf(() => void register().drain({ graceMs: -1 }))).toBe('ROLLCALL_INVALID_ARGUMENT')
    })
  })
})

describe('health', () => {
  test('C54 C55: a service starts, is ready, unready and ready again elsewhere, by what its probes say', async () => {
    await two(async (net, owner, observer) => {
      const well = { startup: false, readiness: false, write: false }
      const probe = (what: keyof typeof well) => ({
        check: () => well[what],
        periodMs: 100,
        fall: 2,
        jitter: 0,
      })
      const handle = owner.registry.register(service('s'), {
        health: {
          startup: { ...probe('startup'), fall: 1_000 },
          readiness: probe('readiness'),
          capabilities: { write: probe('write') },
          reentryMs: 0,
        },
      })
      const states: unknown[] = []
      const next = async (change: Partial<typeof well>) => {
        Object.assign(well, change)
        await net.run(TOLD_MS + 200)
        states.push([...stateOf(observer), handle.instance.capabilities['write']])
      }
      await next({})
      await next({ startup: true })
      await next({ readiness: true })
      await next({ write: true })
      await next({ readiness: false })
      await next({ readiness: true, write: false })
      expect(states).toEqual([
        ['starting', 'starting', 'unready'],
        ['starting', 'starting', 'unready'],
        ['ready', undefined, 'unready'],
        ['ready', undefined, 'ready'],
        ['unready', 'probe-failed', 'ready'],
        ['ready', undefined, 'unready'],
      ])
      expect(downs(observer)).toEqual([])
      const probed = owner.events('service_probed').map(({ payload: [{ run }] }) => run.probe)
      expect(new Set(probed)).toEqual(new Set(['startup', 'readiness', 'capabilities.write']))
      handle.unregister()
      const before = owner.events('service_probed').length
      await net.run(1_000)
      expect(owner.events('service_probed')).toHaveLength(before)
    })
  })

  test('liveness that fails ends the entry, and all that its monitor has; its process is told why', async () => {
    await two(async (net, owner, observer) => {
      const monitor = new Monitor()
      let lives = true
      const check = () => {
        if (!lives) throw new Error('out of handles')
      }
      const handle = owner.registry.register(service('s'), {
        monitor,
        health: { liveness: { check, periodMs: 100, fall: 3, jitter: 0 } },
      })
      owner.registry.register(service('beside'), { monitor })
      await net.run(TOLD_MS)
      expect(stateOf(observer)).toEqual(['ready', undefined])
      lives = false
      await net.run(TOLD_MS + 300)
      expect([stateOf(observer), stateOf(observer, 'beside')]).toEqual([['gone'], ['gone']])
      expect(downs(observer)).toEqual(['unhealthy', 'unhealthy'])
      expect(monitor.closed).toBe(true)
      expect(handle.active).toBe(false)
      const [{ payload } = { payload: [] }] = owner.events('service_unhealthy')
      expect(payload).toMatchObject([
        { instance: { name: 's' }, run: { probe: 'liveness', error: new Error('out of handles') } },
      ])
    })
  })
})

describe('a shutdown', () => {
  test('drains all that a process offers, with one question and two messages, and then closes', async () => {
    await two(async (net, owner, observer) => {
      for (let index = 0; index < 50; index++) owner.registry.register(service(`s${index}`))
      await net.run(TOLD_MS)
      let published = 0
      const publish = owner.transport.publish.bind(owner.transport)
      owner.transport.publish = (message) => {
        published++
        return publish(message)
      }
      let asked = 0
      let isOver = false
      void owner.registry
        .shutdown({
          until: () => {
            asked++
          },
        })
        .then(() => (isOver = true))
      await net.run(0)
      expect(published).toBe(1)
      await net.run(DELIVERY_MS)
      const draining = observer.registry.services().filter(({ state }) => state === 'draining')
      expect(draining).toHaveLength(50)
      await net.run(PERIOD_MS)
      expect([asked, isOver, owner.registry.closed]).toEqual([1, true, true])
      expect(observer.registry.services()).toEqual([])
      expect(new Set(downs(observer))).toEqual(new Set(['drained']))
      expect(observer.events('service_down').map((event) => instanceOf(event).name)).toHaveLength(50)
    })
  })

  test('closes though what it waits for breaks, and refuses what it cannot do', async () => {
    await two(async (net, { registry }) => {
      registry.register(service('s'))
      for (const options of [{ signals: [] }, { signals: 'SIGTERM' }, { signals: ['TERM'] }, { grace: 1 }]) {
        expect(codeOf(() => void registry.shutdown(options as object))).toBe('ROLLCALL_INVALID_ARGUMENT')
      }
      let isOver = false
      const until = () => Promise.reject(new Error('broken'))
      void registry.shutdown({ until }).then(() => (isOver = true))
      await net.run(2_000)
      expect([isOver, registry.closed]).toEqual([true, true])
    })
  })
})
