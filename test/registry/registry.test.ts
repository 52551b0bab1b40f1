import { EventEmitter, getEventListeners, once } from 'node:events'
import { inspect } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { RegistryOptions } from '../../src/registry/options.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Registry } from '../../src/registry/registry.ts'
import type { Instance, LookupAnswer, ServiceSpec } from '../../src/registry/types.ts'
import { Monitor } from '../../src/tracker/monitor.ts'
import type { Clock } from '../../src/tracker/ports.ts'
import { systemClock } from '../../src/tracker/system.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'

const open: Registry[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((registry) => registry.close()))
})

async function start(
  network: MemoryNetwork,
  name: string,
  options: Partial<RegistryOptions> = {},
): Promise<Registry> {
  const transport = memoryTransport(network, { address: `/memory/${name}`, join: ['/memory/a'] })
  const registry = await createRegistry({ transport, name, flush: 'eager', ...options })
  open.push(registry)
  return registry
}

/** One node alone. */
const alone = (options?: Partial<RegistryOptions>): Promise<Registry> =>
  start(new MemoryNetwork(), 'a', options)

/** Two nodes that see each other. */
async function pair(options?: Partial<RegistryOptions>): Promise<[Registry, Registry]> {
  const network = new MemoryNetwork()
  const nodes: [Registry, Registry] = [await start(network, 'a', options), await start(network, 'b', options)]
  await vi.waitFor(() => {
    for (const node of nodes) expect(node.nodes().map(({ status }) => status)).toEqual(['up', 'up'])
  })
  return nodes
}

/** The system's clock, but for the timers of this many ms, which are fired by hand. */
function holding(held: number): { readonly clock: Clock; readonly timers: Set<() => void> } {
  const timers = new Set<() => void>()
  const setTimer: Clock['setTimer'] = (callback, ms) => {
    if (ms !== held) return systemClock.setTimer(callback, ms)
    timers.add(callback)
    return { cancel: () => void timers.delete(callback) }
  }
  return { clock: { ...systemClock, setTimer }, timers }
}

const S: ServiceSpec = { name: 'MasterData', version: '2.1.0' }

const brief = (answer: LookupAnswer): string =>
  answer.ok ? `${answer.service.version} ${answer.service.nodeName}` : answer.error

/** All that a registry reports of services, as short lines; each is checked against a lookup made in the listener. */
function record(registry: Registry): string[] {
  const lines: string[] = []
  const held = (id: string): Instance | undefined =>
    registry.lookupAll(S.name, '*', { state: 'any' }).find((instance) => instance.id === id)
  registry.on('service_up', ({ instance }) => {
    expect(held(instance.id)).toEqual(instance)
    lines.push(`up ${instance.name} ${instance.nodeName}`)
  })
  registry.on('service_changed', ({ instance, previous }) => {
    expect(held(instance.id)).toEqual(instance)
    expect(previous.id).toBe(instance.id)
    lines.push(`changed ${instance.name} ${previous.state} ${instance.state}`)
  })
  registry.on('service_down', ({ instance, reason }) => {
    expect(held(instance.id)).toBeUndefined()
    lines.push(`down ${instance.name} ${instance.nodeName} ${reason}`)
  })
  return lines
}

describe('register', () => {
  test('is seen here at once and elsewhere soon; so are updates and the end', async () => {
    const [a, b] = await pair()
    const here = record(a)
    const there = record(b)
    const handle = a.register({ ...S, address: 'host:80', metadata: { team: 'x' } })
    expect(brief(a.lookup('MasterData', '2.0.0'))).toBe('2.1.0 a')
    await vi.waitFor(() => expect(brief(b.lookup('MasterData', '2.0.0'))).toBe('2.1.0 a'))
    expect(b.lookup('MasterData')).toMatchObject({ ok: true, service: handle.instance })
    expect(a.lookup('MasterData')).toMatchObject({ ok: true, service: handle.instance })

    handle.update({ state: 'draining' })
    expect(handle.instance).toMatchObject({ state: 'draining', metadata: { team: 'x' } })
    expect(brief(a.lookup('MasterData'))).toBe('noinstance')
    await vi.waitFor(() => expect(brief(b.lookup('MasterData'))).toBe('noinstance'))
    handle.update(({ state }) => ({ state: state === 'draining' ? 'ready' : 'unready' }))
    await vi.waitFor(() =>
      expect(b.lookup('MasterData')).toMatchObject({ ok: true, service: handle.instance }),
    )

    handle.unregister()
    expect(brief(a.lookup('MasterData'))).toBe('noservice')
    await vi.waitFor(() => expect(brief(b.lookup('MasterData'))).toBe('noservice'))
    expect(handle.active).toBe(false)
    expect(handle.instance).toMatchObject({ name: 'MasterData', state: 'ready' })
    handle.unregister()
    expect(() => handle.update({ weight: 2 })).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_NOT_TRACKED' }),
    )
    for (const lines of [here, there]) {
      expect(lines).toEqual([
        'up MasterData a',
        'changed MasterData ready draining',
        'changed MasterData draining ready',
        'down MasterData a unregistered',
      ])
    }
  })

  test('one process may offer one service many times, by monitors of its own', async () => {
    const a = await alone()
    const handles = [a.register(S), a.register(S), a.register({ ...S, version: '3.0.0' })]
    expect(new Set(handles.map(({ instance }) => instance.id)).size).toBe(3)
    expect(a.lookupAll('MasterData').map(({ version }) => version)).toEqual(['3.0.0', '2.1.0', '2.1.0'])
    expect(a.lookupAll('MasterData', '~> 2.0')).toHaveLength(2)
    handles[0]?.unregister()
    expect(a.lookupAll('MasterData', '~> 2.0').map(({ id }) => id)).toEqual([handles[1]?.instance.id])
  })

  test('C14: a monitor of the caller ends all that is tied to it, and only its own part is ended by unregister', async () => {
    const a = await alone()
    const server = new EventEmitter()
    const monitor = Monitor.of(server)
    const first = a.register(S, { monitor })
    const second = a.register({ ...S, name: 'Other' }, { monitor })
    expect(() => a.register(S, { monitor })).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_ALREADY_TRACKED' }),
    )
    first.unregister()
    expect(monitor.closed).toBe(false)
    expect(a.services().map(({ name }) => name)).toEqual(['Other'])
    server.emit('close')
    expect(second.active).toBe(false)
    expect(second.instance.name).toBe('Other')
    expect(a.services()).toEqual([])
    expect(() => a.register(S, { monitor })).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_MONITOR_CLOSED' }),
    )
  })

  test('a handle ends with its block', async () => {
    const a = await alone()
    {
      await using handle = a.register(S)
      expect(a.services()).toEqual([handle.instance])
    }
    expect(a.services()).toEqual([])
  })

  test('what is refused leaves nothing behind and changes nothing', async () => {
    const a = await alone()
    const lines = record(a)
    const refused = (code: string, call: () => unknown): void =>
      expect(call).toThrow(expect.objectContaining({ code }))
    refused('ROLLCALL_INVALID_VERSION', () => a.register({ ...S, version: '2.1' }))
    refused('ROLLCALL_LIMIT_EXCEEDED', () => a.register({ ...S, metadata: { big: 'x'.repeat(20_000) } }))
    refused('ROLLCALL_INVALID_ARGUMENT', () => a.register(S, { monitor: {} } as object))
    refused('ROLLCALL_INVALID_ARGUMENT', () => a.register(S, { monitors: new Monitor() } as object))
    expect(a.services()).toEqual([])
    const handle = a.register(S)
    const before = handle.instance
    refused('ROLLCALL_INVALID_ARGUMENT', () => handle.update({ state: 'dead' as 'ready' }))
    refused('ROLLCALL_LIMIT_EXCEEDED', () => handle.update({ metadata: { big: 'x'.repeat(20_000) } }))
    refused('ROLLCALL_INVALID_ARGUMENT', () => handle.update({ name: 'Other' } as object))
    expect(() =>
      handle.update(() => {
        throw new Error('mine')
      }),
    ).toThrow('mine')
    expect(handle.instance).toEqual(before)
    expect(a.services()).toEqual([before])
    expect(lines).toEqual(['up MasterData a'])
  })

  test('a listener may register and look up; the events stay in order', async () => {
    const a = await alone()
    const lines = record(a)
    a.once('service_up', () => {
      const handle = a.register({ ...S, version: '2.2.0' })
      expect(handle.instance).toMatchObject({ version: '2.2.0', node: a.tracker.id, nodeName: 'a' })
      handle.update({ state: 'draining' })
      handle.unregister()
    })
    a.register(S)
    expect(lines).toEqual([
      'up MasterData a',
      'up MasterData a',
      'changed MasterData ready draining',
      'down MasterData a unregistered',
    ])
  })
})

test('registrations: those of this process that have not ended, in their order', async () => {
  const [a, b] = await pair()
  const [first, second] = [a.register(S), a.register({ ...S, name: 'Mail' })]
  const list = a.registrations()
  expect(list).toEqual([first, second])
  expect(list[0]).toBe(first)
  expect(Object.isFrozen(list)).toBe(true)
  expect(b.registrations()).toEqual([])
  first.unregister()
  expect(a.registrations()).toEqual([second])
  expect(list).toHaveLength(2)
  await a.close()
  expect(a.registrations()).toEqual([])
})

describe('of other nodes', () => {
  test('a node that leaves takes its services along, reason left; the handles of the others stay', async () => {
    const [a, b] = await pair()
    const lines = record(b)
    a.register(S)
    await vi.waitFor(() => expect(b.services('a')).toHaveLength(1))
    expect(b.services(a.tracker.id)).toEqual(b.services('a'))
    expect(b.services('b')).toEqual([])
    await a.close()
    await vi.waitFor(() => expect(brief(b.lookup('MasterData'))).toBe('noservice'))
    expect(lines).toEqual(['up MasterData a', 'down MasterData a left'])
  })

  test('a newcomer has what was registered before', async () => {
    const network = new MemoryNetwork()
    const a = await start(network, 'a')
    const handle = a.register({ ...S, zone: 'eu' })
    const b = await start(network, 'b')
    await vi.waitFor(() => expect(b.services()).toEqual([handle.instance]))
    expect(b.lookup('MasterData', undefined, { node: 'a' })).toMatchObject({
      ok: true,
      service: handle.instance,
    })
  })

  test('a node that says its name after it was heard is known by that name', async () => {
    const a = await alone()
    const node = 'memory-late'
    const tell = (event: string, payload: unknown): boolean =>
      EventEmitter.prototype.emit.call(a.tracker, event, payload)
    const joins = [
      {
        node,
        incarnation: 1,
        ref: 1,
        version: 1,
        topic: '$node',
        key: 'late',
        meta: { addresses: [], library: '0' },
      },
      {
        node,
        incarnation: 1,
        ref: 2,
        version: 2,
        topic: '$service',
        key: 'MasterData',
        meta: { version: '1.0.0' },
      },
    ]
    tell('node_up', { id: node, name: '' })
    tell('diff', { node, joins, leaves: [], updates: [], reason: undefined })
    expect(a.services('late')).toMatchObject([{ node, nodeName: 'late' }])
    tell('diff', { node, joins: [], leaves: joins, updates: [], reason: 'silent' })
    tell('node_purged', { id: node })
    expect(a.services('late')).toEqual([])
  })

  test('what is no service is counted, reported and logged, and hides nothing', async () => {
    const warn = vi.fn<(message: string) => void>()
    const silent = (): void => undefined
    const [a, b] = await pair({ logger: { debug: silent, info: silent, warn, error: silent } })
    const rejected: unknown[] = []
    b.on('service_rejected', (event) => rejected.push(event))
    const handle = a.register(S)
    const monitor = new Monitor()
    a.tracker.track(monitor, '$service', 'MasterData', { version: 'nonsense' })
    await vi.waitFor(() => expect(rejected).toHaveLength(1))
    expect(rejected).toEqual([
      {
        node: a.tracker.id,
        name: 'MasterData',
        code: 'ROLLCALL_SERVICE_INVALID',
        message: expect.stringContaining('"nonsense"') as string,
      },
    ])
    expect(b.rejected).toBe(1)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('a published "MasterData"'))
    expect(b.services()).toEqual([handle.instance])
    expect(b.explain('MasterData').map(({ reason }) => reason)).toEqual(['returned', 'invalid'])
    const lines = record(b)
    a.tracker.update(monitor, '$service', 'MasterData', { version: '1.0.0' })
    await vi.waitFor(() => expect(lines).toEqual(['up MasterData a']))
    a.tracker.update(monitor, '$service', 'MasterData', 5)
    await vi.waitFor(() => expect(lines).toEqual(['up MasterData a', 'down MasterData a invalid']))
    monitor.close()
    await vi.waitFor(() => expect(b.explain('MasterData')).toHaveLength(1))
    expect(lines).toHaveLength(2)
  })

  test('a service that comes and goes is told to the log, in words', async () => {
    const info = vi.fn<(message: string) => void>()
    const silent = (): void => undefined
    const [a, b] = await pair({ logger: { debug: silent, info, warn: silent, error: silent } })
    info.mockClear()
    const handle = a.register({ ...S, address: 'host:80' })
    await b.waitFor('MasterData')
    handle.unregister()
    await vi.waitFor(() => expect(info).toHaveBeenCalledTimes(4))
    const { id } = a.tracker
    expect(b.services()).toEqual([])
    expect(new Set(info.mock.calls.map(([line]) => line))).toEqual(
      new Set([
        `MasterData 2.1.0 became available on a (${id}, host:80)`,
        `MasterData 2.1.0 is no longer available on a (${id}, host:80): unregistered`,
      ]),
    )
  })
})

describe('waitFor', () => {
  test('C66: resolves at once, or when the first match appears, here or elsewhere', async () => {
    const [a, b] = await pair()
    const waiting = b.waitFor('MasterData', '~> 2.2', { timeoutMs: 10_000 })
    const ready = b.waitFor('MasterData', '~> 2.1')
    let settled = false
    void waiting.then(() => (settled = true))
    const old = a.register({ ...S, state: 'starting' })
    await vi.waitFor(() => expect(b.services()).toHaveLength(1))
    old.update({ state: 'ready' })
    expect(await ready).toEqual(old.instance)
    expect(settled).toBe(false)
    const handle = a.register({ ...S, version: '2.2.0' })
    expect(await waiting).toEqual(handle.instance)
    expect(await b.waitFor('MasterData')).toEqual(handle.instance)
  })

  test('ends in time, by its signal, or with the registry, and leaves nothing behind', async () => {
    const a = await alone()
    const { signal } = new AbortController()
    await expect(a.waitFor('MasterData', '~> 2.0', { timeoutMs: 5, signal })).rejects.toMatchObject({
      code: 'ROLLCALL_WAIT_TIMEOUT',
      message: expect.stringContaining('"MasterData"') as string,
    })
    expect(getEventListeners(signal, 'abort')).toEqual([])

    const controller = new AbortController()
    const aborted = a.waitFor('MasterData', undefined, { signal: controller.signal, timeoutMs: 60_000 })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    const reason = new Error('no longer wanted')
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    await expect(a.waitFor('MasterData', undefined, { signal: controller.signal })).rejects.toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])

    const closed = a.waitFor('MasterData', undefined, { signal, timeoutMs: 60_000 })
    const outcome = expect(closed).rejects.toMatchObject({ code: 'ROLLCALL_CLOSED' })
    await a.close()
    await outcome
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await expect(a.waitFor('MasterData')).rejects.toMatchObject({ code: 'ROLLCALL_CLOSED' })
  })

  test.each<[string, string | undefined, object]>([
    ['ROLLCALL_INVALID_REQUIREMENT', 'latest', {}],
    ['ROLLCALL_INVALID_ARGUMENT', undefined, { timeoutMs: -1 }],
    ['ROLLCALL_INVALID_ARGUMENT', undefined, { timeoutMs: 2 ** 31 }],
    ['ROLLCALL_INVALID_ARGUMENT', undefined, { signal: {} }],
    ['ROLLCALL_INVALID_ARGUMENT', undefined, { timeout: 5 }],
    ['ROLLCALL_INVALID_ARGUMENT', undefined, { state: 'dead' }],
  ])('rejects with %s for %s, %o', async (code, requirement, options) => {
    const a = await alone()
    await expect(a.waitFor('MasterData', requirement, options)).rejects.toMatchObject({ code })
  })
})

test('a capability is asked for in every way of looking up', async () => {
  const a = await alone()
  const write = { capability: 'write' }
  const waiting = a.waitFor('MasterData', undefined, write)
  const selector = a.select('MasterData', undefined, write)
  const reader = a.register({ ...S, version: '2.2.0', capabilities: { read: 'ready', write: 'unready' } })
  a.register(S)
  expect(brief(a.lookup('MasterData', undefined, write))).toBe('noinstance')
  expect(brief(selector.next())).toBe('noinstance')
  expect(a.lookupAll('MasterData', undefined, write)).toEqual([])
  expect(a.explain('MasterData', undefined, write)).toMatchObject([
    { reason: 'capability', returned: false, text: 'MasterData 2.2.0 on a is not ready for write' },
    { reason: 'capability', returned: false, text: 'MasterData 2.1.0 on a is not ready for write' },
  ])

  reader.update({ capabilities: { read: 'ready', write: 'ready' } })
  expect(await waiting).toEqual(reader.instance)
  expect(a.lookup('MasterData', undefined, write)).toMatchObject({ ok: true, service: reader.instance })
  expect(selector.next()).toMatchObject({ ok: true, service: reader.instance })
  expect(a.lookupAll('MasterData', undefined, write)).toEqual([reader.instance])
  expect(a.explain('MasterData', undefined, write).map(({ reason }) => reason)).toEqual([
    'returned',
    'capability',
  ])
})

describe('calling', () => {
  test('errors make an instance avoided here, for a time of the own clock, and nowhere else', async () => {
    const { clock, timers } = holding(7_777)
    const [a, b] = await pair({ clock, outlierErrors: 2, outlierBackoffMs: 7_777 })
    a.register(S)
    b.register(S)
    await vi.waitFor(() => {
      for (const node of [a, b]) expect(node.services()).toHaveLength(2)
    })
    const reasons = (node: Registry): string[] =>
      node.explain('MasterData').map(({ reason, instance }) => `${instance?.nodeName ?? ''} ${reason}`)
    const fail = (): void => {
      using pick = a.select('MasterData', undefined, { node: 'b' }).acquire()
      pick.report('error')
    }
    const selector = a.select('MasterData')
    const names = (): string[] => [1, 2].map(() => brief(selector.next())).sort()
    fail()
    expect(names()).toEqual(['2.1.0 a', '2.1.0 b'])
    expect(a.diagnostics().services.avoided).toBe(0)
    fail()
    expect(names()).toEqual(['2.1.0 a', '2.1.0 a'])
    expect(a.diagnostics().services.avoided).toBe(1)
    expect(reasons(a).sort()).toEqual(['a returned', 'b outlier'])
    expect(reasons(b).sort()).toEqual(['a returned', 'b returned'])
    expect(timers.size).toBe(1)
    for (const end of timers) end()
    expect(reasons(a).sort()).toEqual(['a returned', 'b returned'])
    expect(a.diagnostics().services.avoided).toBe(0)
  })

  test('the end of the registry ends a back-off, and a call in flight then counts for nothing', async () => {
    const { clock, timers } = holding(7_777)
    const a = await alone({ clock, outlierErrors: 1, outlierBackoffMs: 7_777 })
    a.register(S)
    const selector = a.select('MasterData')
    const [first, second] = [selector.acquire(), selector.acquire()]
    first.report('error')
    expect(timers.size).toBe(1)
    await a.close()
    expect(timers.size).toBe(0)
    second.report('error')
    expect(timers.size).toBe(0)
    expect(a.diagnostics().services.avoided).toBe(0)
    expect(selector.acquire().answer).toEqual({ ok: false, error: 'noservice', degraded: false })
  })

  test('by key, in every way of looking up', async () => {
    const a = await alone()
    for (let count = 0; count < 4; count++) a.register(S)
    const options = { balance: 'hash', key: 'user-1' } as const
    const answer = a.lookup('MasterData', undefined, options)
    expect(a.select('MasterData', undefined, { balance: 'hash' }).next('user-1')).toBe(answer)
    expect(a.select('MasterData', undefined, options).acquire().answer).toBe(answer)
    expect(await a.waitFor('MasterData', undefined, options)).toBe(answer.ok && answer.service)
    expect(a.explain('MasterData', undefined, { balance: 'hash' })[0]?.text).toContain(
      'its share of the keys',
    )
    await expect(a.waitFor('MasterData', undefined, { balance: 'hash' })).rejects.toMatchObject({
      code: 'ROLLCALL_INVALID_ARGUMENT',
    })
  })
})

describe('reading', () => {
  test('services is data in order, and a table when printed', async () => {
    const a = await alone({ zone: 'eu' })
    a.register({ name: 'b', version: '1.2.0' })
    a.register({ name: 'b', version: '1.10.0', address: 'host:80' })
    a.register({ name: 'a', version: '0.1.0', state: 'draining' })
    const services = a.services()
    expect(services.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'a 0.1.0',
      'b 1.10.0',
      'b 1.2.0',
    ])
    expect(Array.isArray(services)).toBe(true)
    expect(Object.isFrozen(services)).toBe(true)
    expect(JSON.parse(JSON.stringify(services))).toHaveLength(3)
    expect(inspect(services).split('\n')).toEqual([
      'name  version  state     node  address  zone',
      'a     0.1.0    draining  a              eu',
      'b     1.10.0   ready     a     host:80  eu',
      'b     1.2.0    ready     a              eu',
    ])
    expect(inspect(a.services('nobody'))).toBe('(no services)')
    expect(() => a.services('')).toThrow(expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT' }))
  })

  test('callOptions is what the owner says of the function, or else of all', async () => {
    const [a, b] = await pair()
    const handle = a.register({
      ...S,
      timeoutMs: 900,
      functions: { 'get/1': { retry: { limit: 2, afterMs: 5 } } },
    })
    await b.waitFor('MasterData')
    const options = async (fn: string): Promise<unknown> => b.callOptions(await b.waitFor('MasterData'), fn)
    expect(await options('get/1')).toEqual({ timeoutMs: 900, retry: { limit: 2, afterMs: 5 } })
    expect(await options('put/2')).toEqual({ timeoutMs: 900, retry: { limit: 0, afterMs: 0 } })
    expect(await options('toString/0')).toEqual({ timeoutMs: 900, retry: { limit: 0, afterMs: 0 } })
    handle.update({ timeoutMs: 100 })
    await vi.waitFor(async () =>
      expect(await options('get/1')).toEqual({ timeoutMs: 100, retry: { limit: 2, afterMs: 5 } }),
    )
    expect(() => b.callOptions(handle.instance, 'get')).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT' }),
    )
  })

  test('C8: of a service that is gone, not even the turn is remembered', async () => {
    const a = await alone({ random: { next: () => 0 } })
    const turn = (): string => {
      const handles = ['1.0.0+a', '1.0.0+b'].map((version) => a.register({ ...S, version }))
      const answer = brief(a.lookup('MasterData', '~> 1.0'))
      for (const handle of handles) handle.unregister()
      return answer
    }
    expect([turn(), turn()]).toEqual(['1.0.0+a a', '1.0.0+a a'])
  })

  test('lookupAll takes the filters of lookup, and not what chooses one', async () => {
    const a = await alone()
    a.register({ ...S, state: 'unready' })
    a.register({ ...S, version: '1.0.0' })
    expect(a.lookupAll('MasterData').map(({ version }) => version)).toEqual(['1.0.0'])
    expect(a.lookupAll('MasterData', '*', { state: 'any' })).toHaveLength(2)
    expect(a.lookupAll('Nothing')).toEqual([])
    expect(() => a.lookupAll('MasterData', '*', { balance: 'first' } as object)).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT' }),
    )
    expect(() => a.lookupAll('MasterData', '~> x')).toThrow(
      expect.objectContaining({ code: 'ROLLCALL_INVALID_REQUIREMENT' }),
    )
  })

  test('a bare version means what compat says', async () => {
    const a = await alone({ compat: '>= 1.0.0' })
    a.register({ ...S, version: '1.5.0' })
    expect(brief(a.lookup('MasterData', '9.0.0'))).toBe('1.5.0 a')
    expect(brief(a.lookup('MasterData', '== 9.0.0'))).toBe('noversion')
  })
})

describe('the end', () => {
  test('close ends every registration, answers nothing more, and may be called twice', async () => {
    const a = await alone()
    const handle = a.register(S)
    const selector = a.select('MasterData')
    expect(selector.next().ok).toBe(true)
    const closing = a.close()
    expect(a.close()).toBe(closing)
    await closing
    expect(a.closed).toBe(true)
    expect(handle.active).toBe(false)
    handle.unregister()
    expect(brief(a.lookup('MasterData'))).toBe('noservice')
    expect(brief(selector.next())).toBe('noservice')
    expect(() => a.register(S)).toThrow(expect.objectContaining({ code: 'ROLLCALL_CLOSED' }))
    for (const event of ['diff', 'node_up', 'node_purged', 'error'] as const) {
      expect(a.tracker.listenerCount(event)).toBe(0)
    }
  })

  test('of a tracker that closes itself: waiters learn why, and the error is not hidden', async () => {
    const a = await alone()
    const waiting = expect(a.waitFor('MasterData')).rejects.toMatchObject({
      code: 'ROLLCALL_IDENTITY_CONFLICT',
    })
    const failure = { code: 'ROLLCALL_IDENTITY_CONFLICT' }
    const uncaught = once(process, 'uncaughtException')
    const others = process.listeners('uncaughtException').slice(0, -1)
    for (const other of others) process.off('uncaughtException', other)
    EventEmitter.prototype.emit.call(a.tracker, 'error', failure)
    expect(await uncaught).toEqual([failure, 'uncaughtException'])
    for (const other of others) process.on('uncaughtException', other)
    await waiting
    expect(a.closed).toBe(true)
  })
})

test.each([
  [{ logger: {} }, 'logger'],
  [{ logger: null }, 'logger'],
  [{ prerelease: 'maybe' }, 'prerelease'],
  [{ outlierErrors: 0 }, 'outlierErrors'],
  [{ stale: 'keep' }, 'stale'],
  [{ maxStaleMs: 0 }, 'maxStaleMs'],
  [{ maxStaleMs: Infinity }, 'maxStaleMs'],
  [{ outlierErrors: 1.5 }, 'outlierErrors'],
  [{ outlierErrors: '5' }, 'outlierErrors'],
  [{ outlierBackoffMs: 0 }, 'outlierBackoffMs'],
  [{ outlierBackoffMs: Infinity }, 'outlierBackoffMs'],
  [{ outlierBackoffMs: 5_000, maxOutlierBackoffMs: 4_999 }, 'at least outlierBackoffMs (5000)'],
  [{ maxOutlierBackoffMs: Infinity }, 'maxOutlierBackoffMs'],
  [{ compat: '2.1.0' }, 'compat'],
  [{ compat: null }, 'compat'],
])('the options %o are refused before anything starts', async (options, option) => {
  const transport = memoryTransport(new MemoryNetwork())
  const starting = vi.spyOn(transport, 'start')
  await expect(createRegistry({ transport, ...(options as object) })).rejects.toMatchObject({
    code: 'ROLLCALL_INVALID_OPTION',
    message: expect.stringContaining(option) as string,
  })
  expect(starting).not.toHaveBeenCalled()
})

test('console is a logger', async () => {
  const info = vi.spyOn(console, 'info').mockImplementation(() => undefined)
  const a = await alone({ logger: console })
  a.register(S)
  expect(info).toHaveBeenCalledWith(expect.stringContaining('MasterData 2.1.0 became available on a'))
  info.mockRestore()
})
