import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { RegistryOptions } from '../../src/registry/options.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Registry } from '../../src/registry/registry.ts'
import type { ServiceWatch, Snapshot, WatchOptions } from '../../src/registry/watch-types.ts'
import { cluster, simulate } from '../../src/testing/index.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'
import { settle } from './watched.ts'

const open: Registry[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((registry) => registry.close()))
})

async function alone(options: Partial<RegistryOptions> = {}): Promise<Registry> {
  const transport = memoryTransport(new MemoryNetwork(), { address: '/memory/a' })
  const registry = await createRegistry({ transport, name: 'a', ...options })
  open.push(registry)
  return registry
}

type Answer = IteratorResult<Snapshot, undefined>

/** A loop that is read by hand. */
const loopOf = (watch: ServiceWatch): AsyncIterator<Snapshot, undefined> => watch[Symbol.asyncIterator]()

const versions = ({ instances }: Snapshot): string[] => instances.map(({ version }) => version)

async function read(loop: AsyncIterator<Snapshot, undefined>): Promise<Snapshot> {
  const answer = await loop.next()
  if (answer.done === true) throw new Error('the loop has ended')
  return answer.value
}

/** Whether a loop has something to tell; if not, it is left waiting. */
async function isSilent(loop: AsyncIterator<Snapshot, undefined>): Promise<boolean> {
  let answered = false
  const note = (): void => void (answered = true)
  loop.next().then(note, note)
  await settle()
  return !answered
}

const S = { name: 's', version: '1.0.0' }

describe('a loop', () => {
  test('C62: begins with what is, goes on with what changes, and agrees with lookups', async () => {
    const registry = await alone()
    const first = registry.register(S)
    const told: string[] = []
    const loop = (async () => {
      for await (const snapshot of registry.watch('s')) {
        expect(snapshot.instances).toEqual(registry.lookupAll('s'))
        told.push(versions(snapshot).join())
        if (told.length === 4) break
      }
    })()
    await settle()
    const second = registry.register({ ...S, version: '2.0.0' })
    await settle()
    first.unregister()
    await settle()
    second.unregister()
    await loop
    expect(told).toEqual(['1.0.0', '2.0.0,1.0.0', '2.0.0', ''])
  })

  test('shows what lookupAll answers, by requirement and filters, and sleeps through the rest', async () => {
    const registry = await alone()
    const offer = { ...S, functions: { 'f/1': {} } }
    registry.register(offer)
    registry.register({ ...S, version: '2.0.0' })
    registry.register({ ...S, version: '2.1.0-rc.1', state: 'starting' })
    const asked: [string | undefined, WatchOptions][] = [
      [undefined, {}],
      ['~> 2.0', {}],
      ['>= 2.0.0', { state: 'any', prerelease: 'exclude' }],
      ['>= 2.0.0', { state: 'any' }],
      [undefined, { function: 'f/1' }],
      [undefined, { node: 'a' }],
      [undefined, { node: 'b' }],
      [undefined, { state: 'starting' }],
    ]
    const loops = asked.map(([requirement, options]) => loopOf(registry.watch('s', requirement, options)))
    const firsts = await Promise.all(loops.map(read))
    expect(firsts.map((snapshot) => versions(snapshot).join())).toEqual([
      '2.0.0,1.0.0',
      '2.0.0',
      '2.0.0',
      '2.1.0-rc.1,2.0.0',
      '1.0.0',
      '2.0.0,1.0.0',
      '',
      '2.1.0-rc.1',
    ])
    for (const [at, [requirement, options]] of asked.entries()) {
      expect(firsts[at]?.instances).toEqual(registry.lookupAll('s', requirement, options))
    }
    registry.register({ ...offer, version: '1.2.0' })
    const silent = await Promise.all(loops.map(isSilent))
    expect(silent).toEqual([false, true, true, true, false, false, true, true])
  })

  test('a snapshot is frozen, shared by who asks the same, and tells its service, epoch and revision', async () => {
    const registry = await alone()
    registry.register(S)
    const [one, two, other] = [
      loopOf(registry.watch('s', '^1.0.0', { state: 'ready' })),
      loopOf(registry.watch('s', '^1.0.0')),
      loopOf(registry.watch('s')),
    ]
    const [a, b, c] = await Promise.all([one, two, other].map(read))
    expect(a).toBe(b)
    expect(a).not.toBe(c)
    expect(a).toMatchObject({ service: 's', stale: false, reset: false })
    expect(a?.epoch).toMatch(new RegExp(`^${registry.tracker.id}/\\d+$`, 'u'))
    expect(Number.isSafeInteger(a?.revision)).toBe(true)
    expect(c?.revision).toBe(a?.revision)
    expect(Object.isFrozen(a)).toBe(true)
    expect(Object.isFrozen(a?.instances)).toBe(true)
    registry.register({ ...S, version: '2.0.0' })
    const later = await read(other)
    expect(later.revision).toBeGreaterThan(a!.revision)
    expect(later.instances[1]).toBe(c?.instances[0])
    expect(c?.instances).toHaveLength(1)
  })

  test('C61: a slow one misses 10,000 states, holds none of them, and gets the last', async () => {
    const registry = await alone()
    const handle = registry.register(S)
    const loop = loopOf(registry.watch('s'))
    expect(versions(await read(loop))).toEqual(['1.0.0'])
    for (let turn = 1; turn <= 10_000; turn++) {
      handle.update({ state: turn % 2 === 0 ? 'ready' : 'unready', weight: turn })
      if (turn % 1_000 === 0) await settle()
    }
    expect((await read(loop)).instances).toEqual([handle.instance])
    expect(handle.instance.weight).toBe(10_000)
    expect(await isSilent(loop)).toBe(true)
  })

  test('all changes of one turn wake it once, with the last state', async () => {
    const registry = await alone()
    const loop = loopOf(registry.watch('s'))
    await read(loop)
    const answer = loop.next() as Promise<{ value: Snapshot }>
    const handle = registry.register(S)
    handle.update({ weight: 2 })
    registry.register({ ...S, version: '2.0.0' })
    expect(versions((await answer).value)).toEqual(['2.0.0', '1.0.0'])
    expect(await isSilent(loop)).toBe(true)
  })

  test('comes after the events of the same change', async () => {
    const registry = await alone()
    const order: string[] = []
    registry.on('service_up', ({ instance }) => order.push(`event ${instance.version}`))
    const loop = loopOf(registry.watch('s'))
    await read(loop)
    const answer = loop.next().then(() => order.push('snapshot'))
    registry.watch('s').subscribe((snapshot) => order.push(`listener ${versions(snapshot).join()}`))
    await settle()
    registry.register(S)
    await answer
    await settle()
    expect(order.slice(0, 2)).toEqual(['listener ', 'event 1.0.0'])
    expect(order.slice(2).sort()).toEqual(['listener 1.0.0', 'snapshot'])
  })

  test('answers all that was asked ahead, one state each, in order', async () => {
    const registry = await alone()
    const loop = loopOf(registry.watch('s'))
    const told: string[] = []
    const asked = [1, 2, 3].map(async () => told.push(versions(await read(loop)).join()))
    await settle()
    for (const version of ['1.0.0', '1.1.0']) {
      registry.register({ ...S, version })
      await settle()
    }
    await Promise.all(asked)
    expect(told).toEqual(['', '1.0.0', '1.1.0,1.0.0'])
  })

  test('each loop of a watch goes its own way', async () => {
    const registry = await alone()
    const watch = registry.watch('s')
    const [slow, quick] = [loopOf(watch), loopOf(watch)]
    await read(quick)
    registry.register(S)
    expect(versions(await read(quick))).toEqual(['1.0.0'])
    expect(versions(await read(slow))).toEqual(['1.0.0'])
    expect(await isSilent(slow)).toBe(true)
  })
})

describe('C60: since', () => {
  test('the present revision is silent until something changes', async () => {
    const registry = await alone()
    registry.register(S)
    const since = await read(loopOf(registry.watch('s')))
    registry.register({ name: 'other', version: '1.0.0' })
    const loop = loopOf(registry.watch('s', undefined, { since }))
    const answer = loop.next() as Promise<{ value: Snapshot }>
    await settle()
    registry.register({ ...S, version: '2.0.0' })
    const { value } = await answer
    expect(versions(value)).toEqual(['2.0.0', '1.0.0'])
    expect(value.reset).toBe(false)
  })

  test('a past one gives a snapshot at once, also of a name that was away meanwhile', async () => {
    const registry = await alone()
    const handle = registry.register(S)
    const since = await read(loopOf(registry.watch('s')))
    handle.unregister()
    const gone = await read(loopOf(registry.watch('s', undefined, { since })))
    expect(gone).toMatchObject({ instances: [], reset: false })
    expect(gone.revision).toBeGreaterThan(since.revision)
    expect(await isSilent(loopOf(registry.watch('s', undefined, { since: gone })))).toBe(true)
    registry.register(S)
    const back = await read(loopOf(registry.watch('s', undefined, { since })))
    expect(back.reset).toBe(false)
    expect(back.revision).toBeGreaterThan(gone.revision)
  })

  test('one of another life, or above the present, gives a reset, once', async () => {
    const [before, registry] = [await alone(), await alone()]
    for (const each of [before, registry]) each.register(S)
    const former = await read(loopOf(before.watch('s')))
    const present = await read(loopOf(registry.watch('s')))
    const resets = async (since: { epoch: string; revision: number }): Promise<boolean> => {
      const loop = loopOf(registry.watch('s', undefined, { since }))
      const { reset, instances } = await read(loop)
      expect(instances).toEqual(present.instances)
      const offer = registry.register(S)
      expect((await read(loop)).reset).toBe(false)
      offer.unregister()
      return reset
    }
    expect(await resets({ epoch: former.epoch, revision: present.revision })).toBe(true)
    expect(await resets({ epoch: present.epoch, revision: present.revision + 1_000 })).toBe(true)
  })

  test('a revision that is past what is remembered gives a reset', async () => {
    const registry = await alone()
    const since = await read(loopOf(registry.watch('s')))
    for (let n = 0; n <= 1_024; n++) registry.register({ name: `once-${n}`, version: '1.0.0' }).unregister()
    const loop = loopOf(registry.watch('s', undefined, { since }))
    expect(await read(loop)).toMatchObject({ instances: [], reset: true })
  })
})

describe('the end', () => {
  test('an abort throws its reason at once, even past a snapshot that waits, and then it is over', async () => {
    const registry = await alone()
    const { signal, abort } = controller()
    const watch = registry.watch('s', undefined, { signal })
    const [waiting, slow] = [loopOf(watch), loopOf(watch)]
    await read(waiting)
    const asked = [waiting.next(), waiting.next()]
    registry.register(S)
    const reason = new Error('enough')
    abort(reason)
    await expect(asked[0]).rejects.toBe(reason)
    expect(await asked[1]).toEqual({ done: true, value: undefined })
    await expect(slow.next()).rejects.toBe(reason)
    expect(await slow.next()).toEqual({ done: true, value: undefined })
    await expect(loopOf(watch).next()).rejects.toBe(reason)
    expect(() => registry.watch('s', undefined, { signal })).toThrow(reason)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('by default the reason is an AbortError, as of the iterators of Node', async () => {
    const registry = await alone()
    const { signal, abort } = controller()
    const loop = (async () => {
      for await (const { service } of registry.watch('s', undefined, { signal })) expect(service).toBe('s')
    })()
    await settle()
    abort()
    await expect(loop).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('leaving the loop lets go of the signal, and answers who still asks', async () => {
    const registry = await alone()
    const { signal } = controller()
    for await (const { instances } of registry.watch('s', undefined, { signal })) {
      expect(instances).toEqual([])
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      break
    }
    expect(getEventListeners(signal, 'abort')).toEqual([])
    const loop = loopOf(registry.watch('s'))
    await read(loop)
    const asked = loop.next()
    expect(await loop.return?.()).toEqual({ done: true, value: undefined })
    expect(await asked).toEqual({ done: true, value: undefined })
    registry.register(S)
    expect(await loop.next()).toEqual({ done: true, value: undefined })
  })

  test('when the registry closes, a loop ends, after the snapshot that it has not seen', async () => {
    const registry = await alone()
    const { signal } = controller()
    const watch = registry.watch('s', undefined, { signal })
    const [waiting, behind, fresh] = [loopOf(watch), loopOf(watch), loopOf(watch)]
    for (const loop of [waiting, behind]) await read(loop)
    const asked = waiting.next()
    registry.register(S)
    const second = waiting.next()
    const closing = registry.close()
    expect(versions(((await asked) as { value: Snapshot }).value)).toEqual(['1.0.0'])
    expect(await second).toEqual({ done: true, value: undefined })
    await closing
    for (const loop of [behind, fresh]) expect(versions(await read(loop))).toEqual(['1.0.0'])
    const ends: Answer[] = await Promise.all([behind, fresh, loopOf(watch)].map((loop) => loop.next()))
    expect(ends).toEqual(ends.map(() => ({ done: true, value: undefined })))
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(watch).toMatchObject({ age: 0, stale: false })
    expect(() => registry.watch('s')).toThrow(expect.objectContaining({ code: 'ROLLCALL_CLOSED' }))
  })
})

describe('a listener', () => {
  test('is told what is, soon, and what changes, until it is stopped', async () => {
    const registry = await alone()
    registry.register(S)
    const told: string[] = []
    const stop = registry.watch('s').subscribe((snapshot) => {
      expect(snapshot.instances).toEqual(registry.lookupAll('s'))
      told.push(versions(snapshot).join())
    })
    expect(told).toEqual([])
    await settle()
    expect(told).toEqual(['1.0.0'])
    registry.register({ ...S, version: '2.0.0' })
    registry.register({ ...S, version: '3.0.0' })
    await settle()
    expect(told).toEqual(['1.0.0', '3.0.0,2.0.0,1.0.0'])
    registry.register({ ...S, version: '4.0.0' })
    stop()
    stop()
    await settle()
    expect(told).toHaveLength(2)
    registry.watch('s').subscribe(() => told.push('stopped before the first'))()
    await settle()
    expect(told).toHaveLength(2)
  })

  test('C64: one that throws, stops itself or another, or registers harms nobody, and all see the last state', async () => {
    const registry = await alone()
    const thrown: unknown[] = []
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', (error) => thrown.push(error))
    try {
      const watch = registry.watch('s')
      const told: string[] = []
      const agree = (who: string, snapshot: Snapshot): void => {
        expect(snapshot.instances).toEqual(registry.lookupAll('s'))
        told.push(`${who} ${snapshot.instances.length}`)
      }
      watch.subscribe(() => {
        throw new Error('of the listener')
      })
      watch.subscribe((snapshot) => {
        agree('registers', snapshot)
        if (snapshot.instances.length === 1) registry.register(S)
      })
      const stopSelf = watch.subscribe((snapshot) => {
        agree('itself', snapshot)
        stopSelf()
        stopOther()
      })
      const stopOther = watch.subscribe((snapshot) => agree('other', snapshot))
      watch.subscribe((snapshot) => agree('last', snapshot))
      await settle()
      expect(told).toEqual(['registers 0', 'itself 0', 'last 0'])
      told.length = 0
      registry.register(S)
      await settle()
      expect(told).toEqual(['registers 1', 'last 2', 'registers 2'])
      await vi.waitFor(() => expect(thrown).toHaveLength(3))
    } finally {
      process.removeAllListeners('uncaughtException')
      for (const listener of listeners) process.on('uncaughtException', listener)
    }
  })

  test('C64: one that is stopped by another is not called for the same change', async () => {
    const registry = await alone()
    const watch = registry.watch('s')
    const told: string[] = []
    watch.subscribe(({ instances }) => {
      told.push(`first ${instances.length}`)
      if (instances.length > 0) stop()
    })
    const stop = watch.subscribe(({ instances }) => told.push(`second ${instances.length}`))
    await settle()
    registry.register(S)
    await settle()
    expect(told).toEqual(['first 0', 'second 0', 'first 1'])
  })

  test('one that comes after the abort is never called, though others watch the same', async () => {
    const registry = await alone()
    const { signal, abort } = controller()
    const watch = registry.watch('s', undefined, { signal })
    const [other, late] = [vi.fn(), vi.fn()]
    registry.watch('s').subscribe(other)
    abort()
    watch.subscribe(late)
    await settle()
    registry.register(S)
    await settle()
    expect(other).toHaveBeenCalledTimes(2)
    expect(late).not.toHaveBeenCalled()
  })

  test('an abort stops it without a word; the close of the registry after the last state', async () => {
    const registry = await alone()
    const { signal, abort } = controller()
    const told: string[] = []
    const note =
      (who: string) =>
      (snapshot: Snapshot): void =>
        void told.push(`${who} ${versions(snapshot).join()}`)
    const aborted = registry.watch('s', undefined, { signal })
    aborted.subscribe(note('aborted'))
    registry.watch('s').subscribe(note('closed'))
    const stop = registry.watch('s').subscribe(note('stopped'))
    await settle()
    told.length = 0
    registry.register(S)
    abort()
    const closing = registry.close()
    expect(told).toEqual([])
    stop()
    await closing
    expect(told).toEqual(['closed 1.0.0'])
    aborted.subscribe(note('late'))
    await settle()
    expect(told).toHaveLength(1)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('on a registry that has closed it is never called', async () => {
    const registry = await alone()
    const watch = registry.watch('s')
    await registry.close()
    const listener = vi.fn()
    watch.subscribe(listener)()
    watch.subscribe(listener)
    await settle()
    expect(listener).not.toHaveBeenCalled()
  })
})

test.each<[string, WatchOptions, RegExp]>([
  ['an unknown option', { zone: 'x' } as WatchOptions, /unknown field "zone"/],
  ['a signal that is none', { signal: 1 as never }, /signal is 1/],
  ['no epoch', { since: { revision: 1 } as never }, /since is an object/],
  ['no since', { since: 'now' as never }, /since is "now"/],
  ['a broken revision', { since: { epoch: 'e', revision: 1.5 } }, /revision of since is 1.5/],
  ['a negative revision', { since: { epoch: 'e', revision: -1 } }, /revision of since is -1/],
  ['a filter that is none', { state: 'x' as never }, /state is "x"/],
])('refuses %s', async (_, options, message) => {
  const registry = await alone()
  expect(() => registry.watch('s', undefined, options)).toThrow(
    expect.objectContaining({
      code: 'ROLLCALL_INVALID_ARGUMENT',
      message: expect.stringMatching(message) as string,
    }),
  )
  expect(() => registry.watch('s').subscribe(undefined as never)).toThrow(/listener is undefined/)
  expect(() => registry.watch('s', 'nonsense')).toThrow(
    expect.objectContaining({ code: 'ROLLCALL_INVALID_REQUIREMENT' }),
  )
})

test('age is the longest silence of an owner of what is shown', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b, c] = await cluster(3, { net, flush: 'eager' })
    b!.registry.register(S)
    c!.registry.register({ ...S, version: '2.0.0' })
    await net.run(1_000)
    const watch = a!.registry.watch('s')
    const only = a!.registry.watch('s', '^1.0.0')
    expect(a!.registry.lookupAll('s')).toHaveLength(2)
    net.partition([a!, b!], [c!])
    await net.run(10_000)
    const silentMs = (node = c): number =>
      a!.registry.nodes().find(({ id }) => id === node!.tracker.id)?.silentMs ?? -1
    expect(watch.age).toBe(silentMs())
    expect(watch.age).toBeGreaterThan(5_000)
    expect(only.age).toBe(silentMs(b))
    expect(only.age).toBeLessThan(2_000)
    expect(c!.registry.watch('s', '^2.0.0').age).toBe(0)
    expect(a!.registry.watch('nobody').age).toBe(0)
    expect(a!.tracker.silenceOf('nobody')).toBe(0)
    expect(watch.stale).toBe(false)
    expect(watch.service).toBe('s')
  })
})

test('C60: a node that restarts with its identity counts anew, and knows that it does', async () => {
  await simulate({ seed: 3 }, async (net) => {
    const [node] = await cluster(1, { net })
    node!.registry.register(S)
    const since = await read(loopOf(node!.registry.watch('s')))
    await node!.restart()
    node!.registry.register(S)
    const first = await read(loopOf(node!.registry.watch('s')))
    expect(first.revision).toBe(since.revision)
    expect(first.epoch).not.toBe(since.epoch)
    expect(await read(loopOf(node!.registry.watch('s', undefined, { since })))).toMatchObject({ reset: true })
  })
})

test('C63: of a node that restarts 200 times, no snapshot shows two lives', async () => {
  await simulate({ seed: 2 }, async (net) => {
    const [a, b] = await cluster(2, { net, flush: 'eager' })
    const shown = new Set<string>()
    a!.registry.watch('s').subscribe(({ instances }) => {
      expect(instances.length).toBeLessThanOrEqual(1)
      for (const { id } of instances) shown.add(id)
    })
    for (let life = 1; life <= 200; life++) {
      b!.registry.register(S)
      await net.until('a sees it', 20_000, () => shown.size === life)
      b!.crash()
      await b!.restart()
    }
  })
})

function controller(): { signal: AbortSignal; abort: (reason?: unknown) => void } {
  const made = new AbortController()
  return { signal: made.signal, abort: (reason) => made.abort(reason) }
}
