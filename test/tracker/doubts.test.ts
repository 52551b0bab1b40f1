import { expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { Doubts } from '../../src/tracker/doubts.ts'

const WINDOW_MS = 60_000

function doubts() {
  const clock = new VirtualClock()
  return { clock, doubts: new Doubts({ clock, flapLimit: 2, flapWindowMs: WINDOW_MS }) }
}

test('suspicion begins once, says why and since when, and ends with a sign of life or the death of its subject', async () => {
  const { clock, doubts: told } = doubts()
  await clock.advance(5)
  expect(told.suspect('b', 'unanswered')).toBe(true)
  expect(told.suspect('b', 'unreachable')).toBe(false)
  expect([told.of('b'), told.suspectedSince('b')]).toEqual(['unanswered', 5])
  expect([told.of('c'), told.suspectedSince('c')]).toEqual([undefined, -Infinity])
  expect(told.clear('b')).toBe(true)
  expect(told.clear('b')).toBe(false)
  told.suspect('b', 'unreachable')
  told.down('b')
  expect(told.of('b')).toBeUndefined()
  expect(told.counts).toEqual({ suspected: 2, flapping: 0 })
})

test('flapping begins once, and who flaps is not trusted for answering', async () => {
  const { clock, doubts: told } = doubts()
  expect([told.down('b'), told.down('b'), told.down('b'), told.down('b')]).toEqual([
    false,
    false,
    true,
    false,
  ])
  told.suspect('b', 'unanswered')
  expect(told.of('b')).toBe('unanswered')
  expect(told.clear('b')).toBe(false)
  expect([told.of('b'), told.isFlapping('b')]).toEqual(['flapping', true])
  expect(told.tick()).toEqual([])
  await clock.advance(2 * WINDOW_MS)
  expect(told.tick()).toEqual(['b'])
  expect(told.of('b')).toBeUndefined()
  expect(told.counts).toEqual({ suspected: 1, flapping: 1 })
})

test('who is steady again and suspected is trusted when the suspicion ends', async () => {
  const { clock, doubts: told } = doubts()
  for (let n = 0; n < 3; n++) told.down('b')
  told.suspect('b', 'unanswered')
  await clock.advance(2 * WINDOW_MS)
  expect(told.tick()).toEqual([])
  expect(told.clear('b')).toBe(true)
})
