import { expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/index.ts'
import { CountedClock } from '../counted-clock.ts'
import { sleep } from '../../src/tracker/sleep.ts'
import type { Channel } from '../../src/tracker/ports.ts'
import { TrafficTally } from '../../src/tracker/traffic-tally.ts'
import { WatchedChannel } from '../../src/tracker/watched-channel.ts'

/** A channel whose sends resolve when told. */
function stub() {
  const sends: (() => void)[] = []
  const aborts: Error[] = []
  const channel: Channel = {
    send: () => new Promise((resolve) => sends.push(resolve)),
    messages: (async function* () {
      yield await Promise.resolve(new Uint8Array(1))
    })(),
    close: () => Promise.resolve(),
    abort: (reason) => aborts.push(reason),
  }
  return { channel, sends, aborts }
}

test('a channel in which nothing moves is broken off, one in which anything does is not', async () => {
  const clock = new VirtualClock()
  const { channel, sends, aborts } = stub()
  const watched = new WatchedChannel(channel, clock, 1_000, new AbortController().signal, new TrafficTally())
  await clock.advance(900)
  const sending = watched.send(new Uint8Array(1))
  sends[0]?.()
  await sending
  await clock.advance(900)
  for await (const message of watched.messages) expect(message).toHaveLength(1)
  expect(watched.movedAt).toBe(1_800)
  await clock.advance(999)
  expect(aborts).toEqual([])
  await clock.advance(1)
  expect(aborts.map(String)).toEqual(['RollcallError: no progress for 1000 ms'])
})

test('tells once when it has stood still for a while', async () => {
  const clock = new VirtualClock()
  const { channel, sends } = stub()
  const watched = new WatchedChannel(channel, clock, 1_000, new AbortController().signal, new TrafficTally())
  let told = 0
  watched.onStill(500, () => told++)
  await clock.advance(400)
  const sending = watched.send(new Uint8Array(1))
  sends[0]?.()
  await sending
  await clock.advance(499)
  expect(told).toBe(0)
  await clock.advance(1)
  expect(told).toBe(1)
  await clock.advance(400)
  expect(told).toBe(1)
})

test.each(['stop', 'abort'] as const)(
  'C65: after %s no timer is left, also when a send resolves later',
  async (how) => {
    const clock = new CountedClock()
    const { channel, sends, aborts } = stub()
    const controller = new AbortController()
    const watched = new WatchedChannel(channel, clock, 1_000, controller.signal, new TrafficTally())
    watched.onStill(500, () => undefined)
    expect(clock.pending).toBe(2)
    const sending = watched.send(new Uint8Array(1))
    if (how === 'stop') watched.stop()
    else controller.abort(new Error('closing'))
    expect(clock.pending).toBe(0)
    sends[0]?.()
    await sending
    watched.onStill(500, () => undefined)
    expect(clock.pending).toBe(0)
    expect(aborts).toHaveLength(how === 'abort' ? 1 : 0)
  },
)

test('C65: a sleep that is aborted rejects with the reason and leaves no timer', async () => {
  const clock = new CountedClock()
  const controller = new AbortController()
  const sleeping = sleep(clock, 1_000, controller.signal)
  controller.abort(new Error('closing'))
  await expect(sleeping).rejects.toThrow('closing')
  await expect(sleep(clock, 0, controller.signal)).rejects.toThrow('closing')
  expect(clock.pending).toBe(0)
})

test('a sleep resolves in time, and lets go of its signal', async () => {
  const virtual = new VirtualClock()
  const sleeping = sleep(virtual, 10, new AbortController().signal)
  await virtual.advance(10)
  await expect(sleeping).resolves.toBeUndefined()
})
