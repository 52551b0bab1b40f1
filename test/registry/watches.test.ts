import { afterEach, describe, expect, test, vi } from 'vitest'
import { ServiceRecord } from '../../src/registry/service-record.ts'
import type { ServiceWatch, Snapshot, WatchOptions } from '../../src/registry/watch-types.ts'
import { entry, type Meta } from './replica.ts'
import { settle, Watched } from './watched.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Counts how often the list of a service is read from end to end. */
const countReads = (): { readonly count: number } => {
  const spy = vi.spyOn(ServiceRecord.prototype, 'entries', 'get')
  return {
    get count() {
      return spy.mock.calls.length
    },
  }
}

const many = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => entry(name, { version: '1.0.0' }, { ref: n + 1 }))

describe('cost', () => {
  test('of 1,000 watches on 1,000 services, a change of one wakes one', async () => {
    const watched = new Watched()
    const woken: string[] = []
    for (let n = 0; n < 1_000; n++) {
      watched.watch(`s${n}`).subscribe(({ service }) => woken.push(service))
    }
    await settle()
    expect(woken).toHaveLength(1_000)
    woken.length = 0
    const calls = vi.spyOn(globalThis, 'queueMicrotask')
    watched.apply({ joins: [entry('s7', { version: '1.0.0' })] })
    watched.apply({ joins: [entry('nobody watches', { version: '1.0.0' }, { ref: 2 })] })
    await settle()
    expect(woken).toEqual(['s7'])
    expect(calls).toHaveBeenCalledTimes(1)
  })

  test('of a service of 10,000 instances a change costs one copy of its list, for 100 loops and 100 listeners', async () => {
    const watched = new Watched()
    const entries = many('s', 10_000)
    watched.apply({ joins: entries })
    const shown = new Set<Snapshot>()
    let told = 0
    for (let n = 0; n < 100; n++) {
      const note = (snapshot: Snapshot): void => {
        shown.add(snapshot)
        told++
      }
      watched.watch('s').subscribe(note)
      void (async () => {
        for await (const snapshot of watched.watch('s')) note(snapshot)
      })()
    }
    await settle()
    expect(told).toBe(200)
    const [before] = shown
    shown.clear()
    const reads = countReads()
    const [first] = entries
    watched.apply({
      updates: [{ previous: first!, entry: { ...first!, meta: { version: '1.0.0', weight: 2 } } }],
    })
    await settle()
    expect(told).toBe(400)
    expect(shown.size).toBe(1)
    expect(reads.count).toBe(1)
    const [after] = shown
    // The instances that did not change are the same objects.
    expect(after?.instances.filter((instance, at) => instance !== before?.instances[at])).toHaveLength(1)
    expect(before?.instances[0]?.weight).toBe(1)
  })

  test('a change costs no copy while nobody waits', async () => {
    const watched = new Watched()
    const loop = watched.watch('s')[Symbol.asyncIterator]()
    await loop.next()
    const calls = vi.spyOn(globalThis, 'queueMicrotask')
    const reads = countReads()
    for (const each of many('s', 100)) watched.apply({ joins: [each] })
    await settle()
    expect(calls).not.toHaveBeenCalled()
    expect(reads.count).toBe(0)
    expect(((await loop.next()) as { value: Snapshot }).value.instances).toHaveLength(100)
    expect(reads.count).toBe(1)
  })

  test('a node with 100 services of 100 instances that is hidden is one wake for each service', async () => {
    const watched = new Watched()
    const names = Array.from({ length: 100 }, (_, n) => `s${n}`)
    const entries = names.flatMap((name, n) =>
      many(name, 100).map((each) => ({ ...each, ref: each.ref + 100 * n })),
    )
    watched.apply({ joins: entries })
    const woken: string[] = []
    for (const name of names) watched.watch(name).subscribe(({ service }) => woken.push(service))
    await settle()
    woken.length = 0
    const calls = vi.spyOn(globalThis, 'queueMicrotask')
    watched.apply({ leaves: entries, reason: 'silent' })
    await settle()
    expect(woken).toEqual(names)
    expect(calls).toHaveBeenCalledTimes(100)
  })

  test('what is no service wakes nobody', async () => {
    const watched = new Watched()
    const listener = vi.fn()
    watched.watch('s').subscribe(listener)
    await settle()
    watched.apply({ joins: [entry('s', { version: 'none' })] })
    await settle()
    expect(listener).toHaveBeenCalledTimes(1)
  })
})

test.each<[string, string | undefined, WatchOptions, number[]]>([
  ['requirement', '== 1.0.0', {}, [6]],
  ['node', undefined, { node: 'n2' }, [2]],
  ['function', undefined, { function: 'get/1' }, [3]],
  ['state', undefined, { state: 'unready' }, [4]],
  ['capability', undefined, { capability: 'write' }, [5]],
  ['prerelease', '>=1.0.0 <3', { prerelease: 'exclude' }, [1, 2, 3, 5, 6]],
])('who asks with another %s is shown something else', async (_what, requirement, options, refs) => {
  const watched = new Watched()
  const of = (ref: number, meta: Meta = {}, node = 'n1') =>
    entry('s', { version: '2.0.0', ...meta }, { ref, node })
  watched.apply({
    joins: [
      of(1),
      of(3, { functions: { 'get/1': {} } }),
      of(4, { state: 'unready' }),
      of(5, { capabilities: { write: 'ready' } }),
      of(6, { version: '1.0.0' }),
      of(7, { version: '2.1.0-rc.1' }),
    ],
  })
  watched.apply({ node: 'n2', joins: [of(2, {}, 'n2')] })
  const shown = new Map<string, number[]>()
  const follow = (who: string, watch: ServiceWatch) =>
    watch.subscribe(({ instances }) =>
      shown.set(
        who,
        instances.map(({ id }) => Number(id.split('/')[2])).sort((a, b) => a - b),
      ),
    )
  follow('all', watched.watch('s'))
  follow('some', watched.watch('s', requirement, options))
  await settle()
  expect([shown.get('all'), shown.get('some')]).toEqual([[1, 2, 3, 5, 6, 7], refs])
})

test('nothing is kept of a watch before it is read, nor after it has ended', async () => {
  const watched = new Watched()
  const controller = new AbortController()
  const { signal } = controller
  const watch = watched.watch('s', '^1.0.0', { signal })
  expect(watch.age).toBe(0)
  expect(watched.watches.size).toBe(0)
  const loop = watch[Symbol.asyncIterator]()
  const stop = watch.subscribe(() => undefined)
  const other = watched.watch('s')[Symbol.asyncIterator]()
  expect(watched.watches.size).toBe(3)
  await loop.return?.()
  stop()
  stop()
  expect(watched.watches.size).toBe(1)
  await other.return?.()
  watch.subscribe(() => undefined)
  void watch[Symbol.asyncIterator]()
    .next()
    .catch(() => undefined)
  expect(watched.watches.size).toBe(2)
  controller.abort()
  expect(watched.watches.size).toBe(0)
  await expect(watch[Symbol.asyncIterator]().next()).rejects.toBe(signal.reason)
  watch.subscribe(() => undefined)
  expect(watched.watches.size).toBe(0)
  const open = watched.watch('s')
  const last = open[Symbol.asyncIterator]()
  watched.watches.close()
  expect(watched.watches.size).toBe(0)
  expect(await last.next()).toMatchObject({ done: false })
  open.subscribe(() => undefined)
  expect(await open[Symbol.asyncIterator]().next()).toMatchObject({ done: true })
  expect(watched.watches.size).toBe(0)
})
