import { expect, test } from 'vitest'
import { RollcallError } from '../../src/errors.ts'
import { HeardOf } from '../../src/tracker/heard-of.ts'
import { Lateness } from '../../src/tracker/lateness.ts'
import { SyncTally } from '../../src/tracker/sync-tally.ts'

test('of syncs: all are counted, the last eight failures are remembered, cut to a length', () => {
  const tally = new SyncTally()
  for (let n = 0; n < 10_000; n++) tally.failed(`peer-${n}`, 'gap', new Error(`${n} `.repeat(1_000)), n)
  tally.failed('last', 'retry', new RollcallError('ROLLCALL_PEER_UNREACHABLE', 'gone'), 10_000)
  expect(tally.counts.gap).toEqual({ begun: 0, failed: 10_000, frames: 0 })
  expect(tally.counts.retry.failed).toBe(1)
  expect(tally.failures).toHaveLength(8)
  expect(tally.failures[0]).toMatchObject({
    peer: 'peer-9993',
    cause: 'gap',
    code: 'ROLLCALL_SYNC_FAILED',
    at: 9_993,
  })
  expect(tally.failures[0]!.message).toHaveLength(200)
  expect(tally.failures[7]).toEqual({
    peer: 'last',
    cause: 'retry',
    code: 'ROLLCALL_PEER_UNREACHABLE',
    message: 'gone',
    at: 10_000,
  })
})

test('of what peers told of us: the last of each, of so many peers, the oldest gives way', () => {
  const heardOf = new HeardOf(3)
  const word = (version: number) => ({ head: { incarnation: 1, version }, at: version })
  heardOf.note('kept', word(1))
  for (let n = 0; n < 10_000; n++) {
    heardOf.note(`peer-${n}`, word(n))
    heardOf.note('kept', word(n))
  }
  expect(heardOf.get('kept')).toEqual(word(9_999))
  expect(heardOf.get('peer-9999')).toEqual(word(9_999))
  expect(heardOf.get('peer-9998')).toEqual(word(9_998))
  expect(heardOf.get('peer-9997')).toBeUndefined()
})

test('of late ticks: the last and the worst of a window', () => {
  const lateness = new Lateness()
  expect([lateness.lastMs, lateness.worstMs, lateness.ticks]).toEqual([0, 0, 0])
  lateness.note(900)
  for (let n = 0; n < 63; n++) lateness.note(n)
  expect([lateness.lastMs, lateness.worstMs, lateness.ticks]).toEqual([62, 900, 64])
  lateness.note(-3)
  expect([lateness.lastMs, lateness.worstMs, lateness.ticks]).toEqual([0, 62, 64])
})
