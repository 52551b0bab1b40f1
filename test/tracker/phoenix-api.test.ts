import { describe, expect, test } from 'vitest'
import { simulate, type SimNode, type SimulatedNetwork } from '../../src/testing/index.ts'
import { monitorState, type Monitor } from '../../src/tracker/monitor.ts'
import type { TrackerOptions } from '../../src/tracker/options.ts'
import { codeOf } from '../wire/codes.ts'
import { changes, list, open, start, started, TOPIC } from './phoenix-cluster.ts'
import { PERIODS } from './phoenix-roster.ts'
import { lone } from './stub-transport.ts'

const TOPICS = Array.from({ length: 100 }, (_, index) => `topic-${index}`)

const isTied = (monitor: Monitor): boolean => monitorState(monitor).isObserved

describe('untrack', () => {
  test('N12: of one topic drops only this one; of the last one it lets go of the monitor', async () => {
    const { tracker } = await lone()
    const monitor = open()
    tracker.track(monitor, 'topic', 'key', 1)
    tracker.track(monitor, 'other', 'key', 1)
    tracker.untrack(monitor, 'topic', 'key')
    expect(tracker.topics().sort()).toEqual(['$node', 'other'])
    expect(isTied(monitor)).toBe(true)
    tracker.untrack(monitor, 'other', 'key')
    expect(tracker.topics()).toEqual(['$node'])
    expect(isTied(monitor)).toBe(false)
    expect(monitor.closed).toBe(false)
  })

  test('N12: by topic alone drops all keys of the topic, in one batch', async () => {
    const { tracker } = await lone()
    const monitor = open()
    for (const key of ['a', 'b', 'c']) tracker.track(monitor, 'topic', key, 1)
    tracker.track(monitor, 'other', 'a', 1)
    const batches: number[] = []
    tracker.on('diff', ({ leaves }) => batches.push(leaves.length))
    tracker.untrack(monitor, 'topic')
    expect(batches).toEqual([3])
    expect(tracker.topics().sort()).toEqual(['$node', 'other'])
  })

  test('N13: without a topic drops all of this monitor, nothing of another, and lets go of it', async () => {
    const { tracker } = await lone()
    const [monitor, another] = [open(), open()]
    for (const topic of ['one', 'two', 'three']) {
      tracker.track(monitor, topic, 'key', 1)
      tracker.track(another, topic, 'key', 2)
    }
    tracker.untrack(monitor)
    expect(
      ['one', 'two', 'three'].map((topic) => tracker.getByKey(topic, 'key').map(({ meta }) => meta)),
    ).toEqual([[2], [2], [2]])
    expect([isTied(monitor), isTied(another)]).toEqual([false, true])
  })

  test('S11 (ours): an entry is found by its monitor, topic and key, and by no other three', async () => {
    const { tracker } = await lone()
    const monitor = open()
    tracker.track(monitor, 'topic', 'key', 1)
    for (const [who, topic, key] of [
      [monitor, 'topic', 'other'],
      [monitor, 'other', 'key'],
      [open(), 'topic', 'key'],
    ] as const) {
      tracker.untrack(who, topic, key)
      expect(codeOf(() => tracker.update(who, topic, key, 2))).toBe('ROLLCALL_NOT_TRACKED')
    }
    expect(tracker.getByKey('topic', 'key')).toMatchObject([{ meta: 1 }])
  })
})

test('N17: the same thrice is refused; other topics, keys and monitors are not, and all can be untracked', async () => {
  const { tracker } = await lone()
  const [monitor, another] = [open(), open()]
  tracker.track(monitor, 'topic', 'key', 1)
  for (const meta of [1, 2]) {
    expect(codeOf(() => tracker.track(monitor, 'topic', 'key', meta))).toBe('ROLLCALL_ALREADY_TRACKED')
  }
  tracker.track(monitor, 'other', 'key', 1)
  tracker.track(monitor, 'topic', 'other', 1)
  tracker.track(another, 'topic', 'key', 1)
  expect(tracker.getByKey('topic', 'key')).toHaveLength(2)
  for (const [topic, key] of [
    ['topic', 'key'],
    ['other', 'key'],
    ['topic', 'other'],
  ] as const) {
    tracker.untrack(monitor, topic, key)
  }
  expect([isTied(monitor), isTied(another)]).toEqual([false, true])
  expect(codeOf(() => tracker.track(monitor, 'topic', 'key', 1))).toBe('nothing')
})

// Their suite runs each with pools of 1, 2, 8 and 512 shards. Here is one loop, in two ways of sending.
describe.each<{ flush: NonNullable<TrackerOptions['flush']> }>([{ flush: 'period' }, { flush: 'eager' }])(
  'no pool (ours): with flush $flush',
  ({ flush }) => {
    const scenario = (
      name: string,
      run: (net: SimulatedNetwork, primary: SimNode, node1: SimNode) => Promise<void>,
    ) =>
      test(name, () =>
        simulate({ seed: 4 }, async (net) => {
          const [primary, node1] = await started(net, 2, { flush })
          await run(net, primary, node1)
        }),
      )
    const deliver = (net: SimulatedNetwork) => net.run(2 * PERIODS.broadcastPeriodMs)

    scenario('P1: track gives the ref that the list shows', async (net, primary, node1) => {
      const ref = primary.tracker.track(open(), TOPIC, 'key', { name: 'name' })
      await deliver(net)
      for (const node of [primary, node1]) {
        expect(node.tracker.list(TOPIC)).toMatchObject([
          { key: 'key', ref, meta: { name: 'name' }, node: primary.id },
        ])
      }
    })

    scenario(
      'P2 P3: of 100 topics each is listed, and untracked one by one each is empty',
      async (net, primary, node1) => {
        const monitor = open()
        const refs = TOPICS.map((topic) => primary.tracker.track(monitor, topic, 'key', topic))
        expect(new Set(refs).size).toBe(100)
        await deliver(net)
        for (const node of [primary, node1]) {
          expect(TOPICS.map((topic) => node.tracker.list(topic).map(({ ref, meta }) => [ref, meta]))).toEqual(
            TOPICS.map((topic, index) => [[refs[index], topic]]),
          )
          expect(node.tracker.topics()).toHaveLength(101)
        }
        for (const topic of TOPICS) primary.tracker.untrack(monitor, topic, 'key')
        await deliver(net)
        for (const node of [primary, node1]) expect(node.tracker.topics()).toEqual(['$node'])
      },
    )

    scenario('P4: untracked all at once all 100 are empty, by one report', async (net, primary, node1) => {
      const monitor = open()
      for (const topic of TOPICS) primary.tracker.track(monitor, topic, 'key', topic)
      await deliver(net)
      primary.forgetEvents()
      node1.forgetEvents()
      primary.tracker.untrack(monitor)
      await deliver(net)
      for (const node of [primary, node1]) {
        expect(node.tracker.topics()).toEqual(['$node'])
        expect(node.events('diff').map(({ payload: [{ leaves }] }) => leaves.length)).toEqual([100])
      }
    })

    scenario(
      'P5 P6 (ours): an update keeps the ref, raises the version and takes a meta or a function',
      async (net, primary, node1) => {
        const monitor = open()
        const ref = primary.tracker.track(monitor, TOPIC, 'key', { count: 1 })
        const versions: (number | undefined)[] = []
        const noteVersion = () => versions.push(primary.tracker.getByKey(TOPIC, 'key')[0]?.version)
        noteVersion()
        expect(primary.tracker.update(monitor, TOPIC, 'key', { count: 2 })).toBe(ref)
        noteVersion()
        expect(
          primary.tracker.update(monitor, TOPIC, 'key', (meta) => ({
            count: (meta as { count: number }).count + 1,
          })),
        ).toBe(ref)
        noteVersion()
        expect(versions).toEqual([ref, ref + 1, ref + 2])
        await deliver(net)
        for (const node of [primary, node1]) {
          expect(node.tracker.getByKey(TOPIC, 'key')).toMatchObject([
            { ref, version: ref + 2, meta: { count: 3 } },
          ])
        }
      },
    )

    scenario(
      'P7: a close ends, and a node of the same name starts again with nothing',
      async (net, primary, node1) => {
        const monitor = open()
        node1.tracker.track(monitor, TOPIC, 'key', 1)
        await deliver(net)
        const { tracker } = node1
        await net.settle(node1.close())
        expect([tracker.closed, monitor.closed, isTied(monitor)]).toEqual([true, false, false])
        await node1.restart()
        expect(list(node1)).toEqual([])
        await net.until('both have met again', 2_000, () => primary.tracker.nodes().length === 2)
        await deliver(net)
        expect([list(primary), list(node1)]).toEqual([[], []])
        expect(changes(primary)).toEqual(['+key', '-key (left)'])
        // The monitor outlived its tracker, and can be tied to the next one.
        node1.tracker.track(monitor, TOPIC, 'key', 2)
        await deliver(net)
        expect(list(primary)).toEqual(['key'])
      },
    )
  },
)

describe('two trackers in one process', () => {
  test('one monitor may be tied to both: closing one tracker leaves the other’s entry, closing it ends both', () =>
    simulate({ seed: 5 }, async (net) => {
      const [primary, node1] = await started(net, 2)
      const monitor = open()
      primary.tracker.track(monitor, TOPIC, 'shared', 'primary')
      node1.tracker.track(monitor, TOPIC, 'shared', 'node1')
      await net.run(2 * PERIODS.broadcastPeriodMs)
      const metas = () => primary.tracker.getByKey(TOPIC, 'shared').map(({ meta }) => meta)
      expect(metas()).toEqual(['primary', 'node1'])
      await net.settle(node1.close())
      await net.run(50)
      expect(metas()).toEqual(['primary'])
      expect([monitor.closed, isTied(monitor)]).toEqual([false, true])
      monitor.close()
      expect(metas()).toEqual([])
    }))

  test('both close at once, with an entry each: both end, and nobody lists either', () =>
    simulate({ seed: 6 }, async (net) => {
      const [primary, node1, node2] = await started(net, 3)
      for (const node of [primary, node1]) node.tracker.track(open(), TOPIC, node.name, 1)
      await net.run(2 * PERIODS.broadcastPeriodMs)
      await net.settle(Promise.all([primary.close(), node1.close()]), 2_000)
      await net.run(50)
      expect(changes(node2).slice(2).sort()).toEqual(['-node1 (left)', '-primary (left)'])
      const again = await start(net, 'node3')
      await net.run(PERIODS.broadcastPeriodMs)
      expect(list(again)).toEqual([])
    }))
})
