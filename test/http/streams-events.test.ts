import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { until } from './face.ts'
import { settle } from '../settle.ts'
import type { Reader } from './face.ts'
import { GATHER_MS, HEARTBEAT_MS, Scene } from './scene.ts'

const S = { name: 's', version: '1.0.0' }

/** Fires an event of a registry or its tracker, as if it had happened. */
const fire = (emitter: object, event: string, ...payload: unknown[]): void =>
  void EventEmitter.prototype.emit.call(emitter as EventEmitter, event, ...payload)

const epochOf = (reader: Reader): string => reader.lastId!.split(':')[0]!
const numbers = (reader: Reader): number[] => reader.events.map(({ id }) => Number(id?.split(':')[1]))

describe('events', () => {
  test('begin by saying where they are, so that nothing is lost between them and what is read next', async () => {
    await using scene = await Scene.open()
    scene.registry.register(S)
    const reader = scene.ask('/v1/events')
    await until(() => reader.events.length === 1)
    const epoch = epochOf(reader)
    expect(reader.events[0]).toMatchObject({ event: 'begin', id: `${epoch}:1` })
    expect(reader.data(0)).toEqual({ epoch, number: 1 })
    const handle = scene.registry.register({ ...S, name: 'next' })
    await scene.clock.pass(GATHER_MS)
    expect(reader.events[1]).toMatchObject({ event: 'service_up', id: `${epoch}:2` })
    expect(reader.data(1)).toEqual({ instance: JSON.parse(JSON.stringify(handle.instance)) as unknown })
  })

  test('are those of the registry and its tracker, with their payload by field name', async () => {
    await using scene = await Scene.open()
    const { registry } = scene
    const reader = scene.ask('/v1/events')
    await until(() => reader.events.length === 1)
    const handle = registry.register(S)
    handle.update({ weight: 2 })
    handle.unregister()
    registry.freeze()
    registry.unfreeze()
    fire(registry, 'service_stale', { name: 's' })
    const node = { id: 'b', name: 'b\n' }
    const fired: [string, unknown[], object][] = [
      ['node_up', [node], { node }],
      ['node_down', [node, 'refused'], { node, reason: 'refused' }],
      ['node_dead', [node, 'replaced'], { node, reason: 'replaced' }],
      ['node_purged', [node], { node }],
      ['node_suspected', [node, 'unanswered'], { node, why: 'unanswered' }],
      ['node_trusted', [node], { node }],
      ['node_flapping', [node], { node }],
      ['isolated', [3, 4], { silent: 3, known: 4 }],
      ['isolation_ended', [2, 4], { silent: 2, known: 4 }],
    ]
    for (const [event, payload] of fired) fire(registry.tracker, event, ...payload)
    await scene.clock.pass(GATHER_MS)
    const told = reader.events.slice(1).map(({ event, data }) => [event, JSON.parse(data) as object] as const)
    expect(told.slice(0, 3)).toMatchObject([
      ['service_up', { instance: { name: 's', weight: 1 } }],
      ['service_changed', { instance: { weight: 2 }, previous: { weight: 1 } }],
      ['service_down', { instance: { weight: 2 }, reason: 'unregistered' }],
    ])
    expect(told.filter(([event]) => event?.startsWith('service_') !== true).slice(0, 2)).toEqual([
      ['degraded', { reason: 'frozen' }],
      ['restored', { reason: 'frozen' }],
    ])
    expect(told).toContainEqual(['service_stale', { name: 's' }])
    // A registry makes events of its own of those of its tracker.
    const ofTracker = told.filter(([event]) => /^(node|isol)/.test(event ?? ''))
    expect(ofTracker).toEqual(fired.map(([event, , data]) => [event, data]))
  })

  test('of one burst are written at once, and nobody waits longer', async () => {
    await using scene = await Scene.open()
    const reader = scene.ask('/v1/events')
    await until(() => reader.events.length === 1)
    for (let n = 0; n < 10; n++) scene.registry.register(S)
    await scene.clock.pass(GATHER_MS - 1)
    expect(reader.events).toHaveLength(1)
    await scene.clock.pass(1)
    expect(reader.events).toHaveLength(11)
    expect(scene.clock.pending).toBe(1)
  })

  test('another life has another epoch, also in one process', async () => {
    await using one = await Scene.open()
    await using other = await Scene.open()
    const readers = [one, other].map((scene) => scene.ask('/v1/events'))
    await until(() => readers.every(({ events }) => events.length === 1))
    expect(new Set(readers.map(epochOf)).size).toBe(2)
  })
})

describe('a last id', () => {
  test('over connections that break off at any moment, every event comes once, in order', async () => {
    await using scene = await Scene.open()
    const step = fc.constantFrom('event', 'event', 'pass', 'turn', 'leave', 'pause', 'resume')
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        let reader = scene.ask('/v1/events')
        await until(() => reader.events.length === 1)
        const first = numbers(reader)[0]!
        const seen: number[] = []
        const comeBack = (): void => {
          seen.push(...numbers(reader))
          const { lastId } = reader
          reader.leave()
          reader = scene.ask('/v1/events', { lastEventId: lastId ?? lastSeen })
          lastSeen = lastId ?? lastSeen
        }
        let lastSeen = reader.lastId
        let fired = 0
        for (const step of steps) {
          if (step === 'event') {
            fire(scene.registry, 'service_stale', { name: 'x'.repeat(1 + ((fired++ * 997) % 9_000)) })
          } else if (step === 'pass') await scene.clock.pass(GATHER_MS)
          else if (step === 'turn') await new Promise(setImmediate)
          else if (step === 'leave') comeBack()
          else reader[step]()
        }
        reader.resume()
        comeBack()
        await scene.clock.pass(GATHER_MS)
        seen.push(...numbers(reader))
        expect(seen).toEqual(Array.from({ length: fired + 1 }, (_, at) => first + at))
        reader.leave()
        await settle()
      }),
      { numRuns: 60 },
    )
    expect(scene.streams.size).toBe(0)
  })

  test('C60: of another epoch, past the log, from the future or nonsense: a reset, and then what comes', async () => {
    await using former = await Scene.open()
    await using scene = await Scene.open()
    const [before, first] = [former.ask('/v1/events'), scene.ask('/v1/events')]
    await until(() => [before, first].every(({ events }) => events.length === 1))
    const [epoch, firstId] = [epochOf(first), first.lastId]
    for (let n = 0; n <= 1_000; n++) fire(scene.registry, 'service_stale', { name: 's' })
    await scene.clock.pass(GATHER_MS)
    for (const lastEventId of [before.lastId, firstId, `${epoch}:1002`, `${epoch}:x`, ':', 'nonsense']) {
      const reader = scene.ask('/v1/events', { lastEventId })
      await until(() => reader.events.length > 0)
      expect(reader.events).toMatchObject([{ event: 'reset', id: `${epoch}:1001`, data: '{}' }])
      reader.leave()
    }
    const oldest = scene.ask(`/v1/events?lastEventId=${epoch}:1`)
    await until(() => oldest.events.length === 1_000)
    fire(scene.registry, 'service_stale', { name: 's' })
    await scene.clock.pass(GATHER_MS)
    expect(numbers(oldest)).toEqual(Array.from({ length: 1_001 }, (_, at) => at + 2))
  })
})

describe('slow readers', () => {
  test('one that falls behind what is kept is cut off; others are told all', async () => {
    await using scene = await Scene.open({ maxBufferBytes: 100_000 })
    const [slow, prompt] = [scene.ask('/v1/events'), scene.ask('/v1/events')]
    await until(() => [slow, prompt].every(({ events }) => events.length === 1))
    slow.pause()
    let fired = 0
    while (scene.streams.size === 2 && fired < 100) {
      fire(scene.registry, 'service_stale', { name: 'x'.repeat(5_000) })
      fired++
      await scene.clock.pass(GATHER_MS)
    }
    // What is kept, and what the connection holds.
    expect(fired * 5_000).toBeGreaterThan(100_000)
    expect(fired * 5_000).toBeLessThan(250_000)
    expect(numbers(prompt)).toEqual(Array.from({ length: fired + 1 }, (_, at) => at))
    slow.resume()
    await until(() => slow.isOver)
    const back = scene.ask('/v1/events', { lastEventId: slow.lastId })
    await until(() => back.events.length > 0)
    expect(back.names).toEqual(['reset'])
  })

  test('a burst of more than is kept resets all readers, and cuts off none', async () => {
    await using scene = await Scene.open()
    const reader = scene.ask('/v1/events')
    await until(() => reader.events.length === 1)
    for (let n = 0; n < 2_000; n++) fire(scene.registry, 'service_stale', { name: 's' })
    await scene.clock.pass(GATHER_MS)
    expect(reader.names).toEqual(['begin', 'reset'])
    fire(scene.registry, 'service_stale', { name: 's' })
    await scene.clock.pass(GATHER_MS)
    expect(numbers(reader)).toEqual([0, 2_000, 2_001])
    expect(reader.isOver).toBe(false)
  })

  test('one that takes nothing for two heartbeats is cut off, one that takes a little is not', async () => {
    await using scene = await Scene.open()
    const readers = [scene.ask('/v1/events'), scene.ask('/v1/events')] as const
    await until(() => readers.every(({ events }) => events.length === 1))
    for (const reader of readers) reader.pause()
    for (let n = 0; n < 60; n++) fire(scene.registry, 'service_stale', { name: 'x'.repeat(10_000) })
    await scene.clock.pass(GATHER_MS)
    const [stuck, slow] = readers
    for (let beat = 0; beat < 2; beat++) {
      expect(scene.streams.size).toBe(2)
      // More than its own end of the connection holds already.
      for (let n = 0; n < 10; n++) await slow.take()
      await scene.clock.pass(HEARTBEAT_MS)
    }
    expect(scene.streams.size).toBe(1)
    slow.resume()
    await until(() => slow.events.length === 61)
    stuck.resume()
    await until(() => stuck.isOver)
    expect(stuck.events.length).toBeLessThan(20)
  })
})

test('when the registry closes, all that was is told, and then it is over', async () => {
  await using scene = await Scene.open()
  const reader = scene.ask('/v1/events')
  await until(() => reader.events.length === 1)
  for (let n = 0; n < 20; n++) fire(scene.registry, 'service_stale', { name: 'x'.repeat(5_000) })
  await scene.registry.close()
  await until(() => reader.isOver)
  expect(reader.events.length).toBe(21)
  expect(scene.streams.size).toBe(0)
  expect(scene.clock.pending).toBe(0)
})
