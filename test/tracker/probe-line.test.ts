import { expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { Channel } from '../../src/tracker/ports.ts'
import { ProbeLine } from '../../src/tracker/probe-line.ts'
import { Answering } from './answering.ts'

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the channel stays open from one question to the next, and is opened anew when it broke or did not open', async () => {
  const clock = new VirtualClock()
  const channels: Channel[] = []
  let reachable = false
  const line = new ProbeLine(clock, {
    open: () => {
      if (!reachable) return Promise.reject(new Error('not now'))
      const channel = new Answering()
      channels.push(channel)
      return Promise.resolve(channel)
    },
    heard: () => undefined,
    late: () => undefined,
    rejected: () => undefined,
  })
  const first = line.ping(1_000)
  await settled()
  await clock.advance(1_000)
  expect(await first).toBe(false)
  reachable = true
  expect(await line.ping(1_000)).toBe(true)
  expect(await line.ping(1_000)).toBe(true)
  expect(channels).toHaveLength(1)
  channels[0]?.abort(new Error('it broke'))
  await settled()
  expect(await line.ping(1_000)).toBe(true)
  expect(channels).toHaveLength(2)
  const last = line.ping(1_000)
  line.stop(new Error('over'))
  expect(await last).toBe(false)
})

test('a node that was away itself waits once more before it takes a question for unanswered', async () => {
  const world = new VirtualClock()
  const clock = world.node()
  const channel = new Answering()
  channel.willing = false
  let late = 0
  const line = new ProbeLine(clock, {
    open: () => Promise.resolve(channel),
    heard: () => undefined,
    late: () => late++,
    rejected: () => undefined,
  })
  const first = line.ping(1_000)
  await settled()
  clock.stall(5_000)
  await world.advance(5_500)
  expect(late).toBe(1)
  channel.answer(1)
  await settled()
  expect(await first).toBe(true)
  // Without an answer it comes to that in the end.
  const second = line.ping(1_000)
  await settled()
  clock.stall(2_000)
  await world.advance(3_100)
  expect(await second).toBe(false)
  expect(late).toBe(2)
})
