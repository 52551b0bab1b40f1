import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { Snapshot } from '../../src/registry/watch-types.ts'
import { until } from './face.ts'
import { settle } from '../settle.ts'
import type { Reader } from './face.ts'
import { GATHER_MS, HEARTBEAT_MS, Scene } from './scene.ts'

const S = { name: 's', version: '1.0.0' }

const snapshots = (reader: Reader): Snapshot[] =>
  reader.events.map(({ data }) => JSON.parse(data) as Snapshot)
const versions = (reader: Reader): string[] =>
  snapshots(reader).map(({ instances }) => instances.map(({ version }) => version).join())

describe('a watch', () => {
  test('tells what is, then what changes: the snapshots of the registry, as JSON', async () => {
    await using scene = await Scene.open()
    const { registry } = scene
    registry.register({ ...S, metadata: { text: 'a\n\u2028b' } })
    const reader = scene.ask('/v1/watch/s')
    await until(() => reader.events.length === 1)
    const loop = registry.watch('s')[Symbol.asyncIterator]()
    const { value } = (await loop.next()) as { value: Snapshot }
    expect(reader.data(0)).toEqual(JSON.parse(JSON.stringify(value)))
    expect(reader.events[0]).toMatchObject({ event: 'snapshot', id: `${value.epoch}:${value.revision}` })
    registry.register({ ...S, version: '2.0.0' })
    await until(() => reader.events.length === 2)
    expect(versions(reader)).toEqual(['1.0.0', '2.0.0,1.0.0'])
    expect(reader.retryMs).toBe(1_000)
    expect(reader.faults).toEqual([])
  })

  test('says what it is, so that nobody stores it or holds it back', async () => {
    await using scene = await Scene.open()
    const reader = scene.ask('/v1/watch/s')
    await until(() => reader.response !== undefined)
    expect(reader.response).toMatchObject({ statusCode: 200 })
    expect(reader.response!.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      connection: 'close',
    })
  })

  test('by requirement, and of hostile names', async () => {
    await using scene = await Scene.open()
    for (const name of ['__proto__', 'a/b?c&d', '<script>', '\u2028', '🦊']) {
      const one = scene.registry.register({ name, version: '1.0.0' })
      scene.registry.register({ name, version: '2.0.0' })
      const reader = scene.ask(
        `/v1/watch/${encodeURIComponent(name)}?version=${encodeURIComponent('~> 1.0')}`,
      )
      await until(() => reader.events.length === 1)
      expect(reader.data(0)).toMatchObject({ service: name, instances: [{ version: '1.0.0' }] })
      one.unregister()
      await until(() => reader.events.length === 2)
      expect(reader.data(1)).toMatchObject({ service: name, instances: [] })
    }
  })

  test('is refused as the registry refuses it, before a byte is written, and nothing is left of it', async () => {
    await using scene = await Scene.open()
    const reader = scene.ask('/v1/watch/s?version=nonsense')
    await until(() => reader.response !== undefined)
    expect(reader.response!.statusCode).toBe(400)
    expect(scene.streams.size).toBe(0)
    expect(scene.clock.pending).toBe(0)
  })

  test('a snapshot is written out once for all who ask the same', async () => {
    await using scene = await Scene.open()
    let written = 0
    scene.registry.register(S)
    const readers = Array.from({ length: 20 }, () => scene.ask('/v1/watch/s'))
    await until(() => readers.every(({ events }) => events.length === 1))
    const plain = JSON.stringify.bind(JSON)
    const stringify = vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown) => {
      written++
      return plain(value)
    })
    try {
      scene.registry.register({ ...S, version: '2.0.0' })
      await until(() => readers.every(({ events }) => events.length === 2))
    } finally {
      stringify.mockRestore()
    }
    // Of the snapshot, and of what the registry itself does.
    expect(written).toBeLessThan(10)
  })
})

describe('C60: a last id', () => {
  test('that is the present one: nothing is told until something changes', async () => {
    await using scene = await Scene.open()
    scene.registry.register(S)
    const first = scene.ask('/v1/watch/s')
    await until(() => first.events.length === 1)
    const asks = [
      () => scene.ask('/v1/watch/s', { lastEventId: first.lastId }),
      () => scene.ask(`/v1/watch/s?lastEventId=${encodeURIComponent(first.lastId!)}`),
    ]
    for (const ask of asks) {
      const reader = ask()
      await until(() => reader.retryMs !== undefined)
      await settle()
      expect(reader.events).toEqual([])
      const offer = scene.registry.register(S)
      await until(() => reader.events.length === 1)
      expect(reader.names).toEqual(['snapshot'])
      offer.unregister()
      await settle()
    }
  })

  test('that is past: what is, at once', async () => {
    await using scene = await Scene.open()
    scene.registry.register(S)
    const first = scene.ask('/v1/watch/s')
    await until(() => first.events.length === 1)
    scene.registry.register({ ...S, version: '2.0.0' })
    const reader = scene.ask('/v1/watch/s', { lastEventId: first.lastId })
    await until(() => reader.events.length === 1)
    expect(reader.names).toEqual(['snapshot'])
    expect(versions(reader)).toEqual(['2.0.0,1.0.0'])
  })

  test('of a former life, past what is remembered, from the future, or nonsense: a reset with what is, once', async () => {
    await using former = await Scene.open()
    const before = former.ask('/v1/watch/s')
    await until(() => before.events.length === 1)
    await using scene = await Scene.open()
    const first = scene.ask('/v1/watch/s')
    await until(() => first.events.length === 1)
    for (let n = 0; n <= 1_024; n++) scene.registry.register({ ...S, name: `once-${n}` }).unregister()
    const { epoch } = snapshots(first)[0]!
    for (const lastEventId of [
      before.lastId,
      first.lastId,
      `${epoch}:999999`,
      `${epoch}:-1`,
      ':',
      'nonsense',
    ]) {
      const reader = scene.ask('/v1/watch/s', { lastEventId })
      await until(() => reader.events.length === 1)
      expect(reader.names).toEqual(['reset'])
      expect(reader.data(0)).toMatchObject({ reset: true, instances: [] })
      const offer = scene.registry.register(S)
      await until(() => reader.events.length === 2)
      expect(reader.names).toEqual(['reset', 'snapshot'])
      offer.unregister()
      reader.leave()
    }
  })
})

test('C61: while 10,000 states go by a slow one is written little, and then gets the last', async () => {
  await using scene = await Scene.open()
  const handle = scene.registry.register({ ...S, metadata: { text: 'x'.repeat(1_000) } })
  const reader = scene.ask('/v1/watch/s')
  await until(() => reader.events.length === 1)
  reader.pause()
  for (let turn = 1; turn <= 10_000; turn++) {
    handle.update({ weight: turn })
    if (turn % 10 === 0) await new Promise(setImmediate)
  }
  reader.resume()
  await until(() => snapshots(reader).at(-1)?.instances[0]?.weight === 10_000)
  await settle()
  // What two streams in memory hold, at 1.4 KB each.
  expect(reader.events.length).toBeLessThan(150)
  expect(snapshots(reader).at(-1)?.instances[0]?.weight).toBe(10_000)
  const weights = snapshots(reader).map(({ instances }) => instances[0]!.weight)
  expect(weights).toEqual([...weights].sort((a, b) => a - b))
})

test('C62: snapshot, then tail: of changes that come while it is asked for, none is lost or told twice', async () => {
  await using scene = await Scene.open()
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3), { minLength: 1, maxLength: 20 }), async (pauses) => {
      const name = 't'
      const handles = [scene.registry.register({ ...S, name, weight: 0 })]
      const reader = scene.ask('/v1/watch/t')
      for (const [at, turns] of pauses.entries()) {
        for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
        handles[0]!.update({ weight: at + 1 })
      }
      await until(() => snapshots(reader).at(-1)?.instances[0]?.weight === pauses.length)
      await settle()
      const revisions = snapshots(reader).map(({ revision }) => revision)
      expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b))
      reader.leave()
      handles[0]!.unregister()
    }),
    { numRuns: 30 },
  )
})

test('a snapshot of 2 MB arrives whole, in pieces, as its reader takes them', async () => {
  await using scene = await Scene.open()
  for (let n = 0; n < 200; n++) scene.registry.register({ ...S, metadata: { text: 'x'.repeat(10_000) } })
  const reader = scene.ask('/v1/watch/s')
  await until(() => reader.response !== undefined)
  reader.pause()
  await scene.clock.pass(HEARTBEAT_MS)
  reader.resume()
  await until(() => reader.events.length === 1)
  expect(snapshots(reader)[0]?.instances).toHaveLength(200)
  expect(reader.faults).toEqual([])
})

describe('the end', () => {
  test('a reader that goes releases its watch at once', async () => {
    await using scene = await Scene.open()
    const { registry } = scene
    const watch = registry.watch.bind(registry)
    const loops: AsyncIterator<Snapshot, undefined>[] = []
    vi.spyOn(registry, 'watch').mockImplementation((...asked) => {
      const made = watch(...asked)
      const loop = made[Symbol.asyncIterator]()
      loops.push(loop)
      return { ...made, [Symbol.asyncIterator]: () => loop }
    })
    const [idle, slow] = [scene.ask('/v1/watch/s'), scene.ask('/v1/watch/s')]
    await until(() => [idle, slow].every(({ events }) => events.length === 1))
    slow.pause()
    for (let n = 0; n < 100; n++) {
      registry.register({ ...S, metadata: { text: 'x'.repeat(10_000) } })
      await settle()
    }
    expect(scene.streams.size).toBe(2)
    for (const reader of [idle, slow]) reader.leave()
    await until(() => scene.streams.size === 0)
    await scene.clock.pass(GATHER_MS)
    expect(scene.clock.pending).toBe(0)
    expect(await Promise.all(loops.map((loop) => loop.next()))).toEqual(
      loops.map(() => ({ done: true, value: undefined })),
    )
  })

  test('when the registry closes, all end after the last snapshot, and so does who is behind', async () => {
    await using scene = await Scene.open()
    const [prompt, slow] = [scene.ask('/v1/watch/s'), scene.ask('/v1/watch/s')]
    await until(() => [prompt, slow].every(({ events }) => events.length === 1))
    slow.pause()
    const handle = scene.registry.register({ ...S, metadata: { text: 'x'.repeat(5_000) } })
    for (let weight = 1; weight <= 100; weight++) {
      handle.update({ weight })
      await settle()
    }
    handle.update({ weight: 101 })
    await scene.registry.close()
    await until(() => prompt.isOver)
    expect(snapshots(prompt).at(-1)?.instances[0]?.weight).toBe(101)
    slow.resume()
    await until(() => slow.isOver)
    expect(snapshots(slow).at(-1)?.instances[0]?.weight).toBe(101)
    expect(slow.events.length).toBeLessThan(50)
    expect(scene.streams.size).toBe(0)
    expect(scene.clock.pending).toBe(0)
  })
})
