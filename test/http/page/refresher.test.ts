import { beforeEach, expect, test } from 'vitest'
import { Refresher } from '../../../src/http/page/client/refresher.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'

let clock: VirtualClock
let starts: number[]
let failures: unknown[]
let read: () => Promise<void>
let refresher: Refresher

beforeEach(() => {
  clock = new VirtualClock()
  starts = []
  failures = []
  read = () => Promise.resolve()
  refresher = new Refresher({
    read: () => {
      starts.push(clock.now())
      return read()
    },
    failed: (error) => failures.push(error),
    clock,
    leastMs: 500,
    mostMs: 10_000,
  })
})

/** Takes so long. */
const lasting = (ms: number) => () => new Promise<void>((resolve) => clock.setTimer(resolve, ms))

test('nothing is read before anything is said', async () => {
  await clock.advance(60_000)
  expect(starts).toEqual([])
})

test('the first change is read at once, a burst after it in one, half a second later', async () => {
  refresher.poke()
  expect(starts).toEqual([0])
  for (let ms = 0; ms < 400; ms += 10) {
    await clock.advance(10)
    refresher.poke()
  }
  await clock.advance(9_000)
  expect(starts).toEqual([0, 500])
})

test('a change after a rest is read at once', async () => {
  refresher.poke()
  await clock.advance(3_000)
  refresher.poke()
  expect(starts).toEqual([0, 3_000])
})

test('a change during a read is read after it, never beside it', async () => {
  read = lasting(2_000)
  refresher.poke()
  await clock.advance(1_500)
  refresher.poke()
  refresher.poke()
  await clock.advance(8_000)
  expect(starts).toEqual([0, 2_000])
})

test('what no event tells of is read every ten seconds', async () => {
  refresher.poke()
  await clock.advance(25_000)
  expect(starts).toEqual([0, 10_000, 20_000])
})

test('a read that fails is told of, and tried again', async () => {
  const error = new Error('gone')
  read = () => Promise.reject(error)
  refresher.poke()
  await clock.advance(11_000)
  expect(failures).toEqual([error, error])
  read = () => Promise.resolve()
  refresher.poke()
  await clock.advance(1)
  expect(starts).toEqual([0, 10_000, 11_000])
  expect(failures).toHaveLength(2)
})
