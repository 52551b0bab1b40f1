import { describe, expect, test } from 'vitest'
import { cluster, expectSame, simulate, type SimNodeOptions } from '../../src/testing/index.ts'
import { lifeOf, list, NAMES, open, start, started, TOPIC } from './phoenix-cluster.ts'
import { PERIODS } from './phoenix-roster.ts'

const DAY_MS = 86_400_000

interface Edge {
  readonly options: SimNodeOptions
  /** Entries at each node, and their meta. */
  readonly entries?: number
  readonly meta?: string | number
}

/** Options at the least, or most, that they may be: what is legal must work. */
const EDGES: Readonly<Record<string, Edge>> = {
  'maxFrameBytes 128': { options: { maxFrameBytes: 128 } },
  'maxMetaBytes 1': { options: { maxMetaBytes: 1 }, meta: 1 },
  'maxKeyBytes 8': { options: { maxKeyBytes: 8 } },
  'maxSyncChunkBytes 17,408': { options: { maxSyncChunkBytes: 17_408 }, meta: 'x'.repeat(1_000) },
  'maxSyncChunkBytes 17,408, each message full': {
    options: { maxSyncChunkBytes: 17_408, maxFrameBytes: 128 },
    meta: 'ä'.repeat(8_191),
    entries: 5,
  },
  'maxLogWrites 1': { options: { maxLogWrites: 1 } },
  'maxEntriesPerNode 1': { options: { maxEntriesPerNode: 1 }, entries: 1 },
  'maxNodes 2, of three': { options: { maxNodes: 2, syncPeriodMs: 200 } },
  'maxConcurrentSyncs 1': { options: { maxConcurrentSyncs: 1 } },
  'maxSilentPeriods 1': { options: { maxSilentPeriods: 1 } },
  'short periods': { options: { broadcastPeriodMs: 5, downPeriodMs: 20, permdownPeriodMs: 20.1 } },
  'a period of a day': {
    options: {
      broadcastPeriodMs: DAY_MS,
      downPeriodMs: 2 * DAY_MS,
      permdownPeriodMs: 2 ** 31 - 1,
      probePeriodMs: DAY_MS,
      probeTimeoutMs: DAY_MS,
    },
  },
  'a silence of weeks': {
    options: {
      broadcastPeriodMs: 10_000_000,
      maxSilentPeriods: 1_000,
      downPeriodMs: 2 ** 31 - 2,
      permdownPeriodMs: 2 ** 31 - 1,
      probePeriodMs: 2 ** 31 - 1,
    },
  },
}

describe('what is legal works', () => {
  test.each(Object.entries(EDGES))('%s', (_, { options, entries = 100, meta = 'meta' }) =>
    // Connections are watched and neighbours asked that seldom so that days cost no hours.
    simulate({ seed: 7, partitionNoticeMs: DAY_MS }, async (net) => {
      const [primary, node1] = await started(net, 2, options)
      const { broadcastPeriodMs, downPeriodMs } = primary.options
      for (const { tracker } of [primary, node1]) {
        for (let index = 0; index < entries; index++) tracker.track(open(), TOPIC, `key ${index}`, meta)
      }
      const both = () => [primary, node1].every((node) => list(node).length === 2 * entries)
      await net.until(
        'both list all',
        3 * broadcastPeriodMs + 5_000,
        both,
        Math.max(10, broadcastPeriodMs / 10),
      )
      const node2 = await start(net, 'node2', options)
      await net.until('a newcomer, too', 5_000, () => list(node2).length === 2 * entries)
      // Small periods many times over, large ones at least until the next beats.
      await net.run(Math.min(downPeriodMs, 1_000_000) + 2 * broadcastPeriodMs)
      expectSame(primary, node1, node2)
      for (const node of [primary, node1, node2]) {
        expect(node.events('rejected')).toEqual([])
        expect(node.events('node_down')).toEqual([])
      }
      const { id } = node1
      await net.settle(node1.close())
      await net.run(50)
      expect(primary.events('node_down')).toMatchObject([{ payload: [{ id }, 'left'] }])
    }),
  )
})

describe('O1 (ours)', () => {
  test.each([200, 399])('a legal but short downPeriodMs of %d does not flap an idle node', (downPeriodMs) =>
    simulate({ seed: 8 }, async (net) => {
      const options = { ...PERIODS, maxSilentPeriods: 10, downPeriodMs }
      const nodes = await cluster(3, { net, names: NAMES, ...options })
      await net.run(100 * downPeriodMs)
      for (const node of nodes) expect(node.events('node_down')).toEqual([])
    }),
  )

  test('nodes configured differently do not misjudge each other: twice the promise is allowed, and not more', () =>
    simulate({ seed: 9 }, async (net) => {
      // The second one promises a beat every 2 s only; the first one alone would call it down after 0.4 s.
      const slow = {
        broadcastPeriodMs: 1_000,
        maxSilentPeriods: 2,
        downPeriodMs: 4_000,
        permdownPeriodMs: 60_000,
      }
      const [hasty, patient] = await cluster(2, {
        net,
        names: NAMES,
        ...PERIODS,
        permdownPeriodMs: 60_000,
        syncPeriodMs: 1_000_000,
        each: (index) => (index === 1 ? slow : {}),
      })
      if (hasty === undefined || patient === undefined) throw new Error('two nodes were asked for')
      await net.run(60_000)
      expect(hasty.events('node_down')).toEqual([])
      expect(patient.events('node_down')).toEqual([])

      const silentFrom = net.clock.now()
      patient.stall(60_000)
      await net.run(2_000)
      expect(lifeOf(hasty, patient.id)?.status).toBe('up')
      await net.until('it is down', 4_000, () => lifeOf(hasty, patient.id)?.status === 'down')
      // Its last beat was up to 2 s old when it fell silent.
      expect(net.clock.now() - silentFrom).toBeGreaterThan(2_000)
      expect(net.clock.now() - silentFrom).toBeLessThanOrEqual(4_000 + 2 * PERIODS.broadcastPeriodMs)
    }))
})
