import { describe, expect, test } from 'vitest'
import { expectSame, simulate, type SimNode, type SimulatedNetwork } from '../../src/testing/index.ts'
import type { Monitor } from '../../src/tracker/monitor.ts'
import { changes, countFrames, lifeOf, list, open, start, started, TOPIC } from './phoenix-cluster.ts'
import { PERIODS } from './phoenix-roster.ts'
import { lone } from './stub-transport.ts'

const { broadcastPeriodMs: PERIOD_MS, downPeriodMs, permdownPeriodMs } = PERIODS
const SEEDS = [1, 2, 3]

const track = (node: SimNode, key: string, monitor = open()): Monitor => {
  node.tracker.track(monitor, TOPIC, key, { of: node.name })
  return monitor
}

const scenario = (name: string, run: (net: SimulatedNetwork) => Promise<void>) =>
  test.each(SEEDS)(`${name} (seed %d)`, (seed) => simulate({ seed }, run))

test('N1 (ours): a node that is alone keeps beating, at the latest every maxSilentPeriods', async () => {
  const { clock, transport } = await lone(PERIODS)
  await clock.advance(1_000)
  const { length } = transport.published
  for (let second = 0; second < 3; second++) {
    const before = transport.published.length
    await clock.advance(PERIODS.maxSilentPeriods * PERIOD_MS)
    expect(transport.published).toHaveLength(before + 1)
  }
  const { beats } = transport
  expect(beats.map(({ beat }) => beat)).toEqual(beats.map((_, index) => index + 1))
  expect(beats.slice(length)).toMatchObject(
    [1, 1, 1].map((version) => ({ from: version, to: version, writes: [], promiseMs: 200, left: false })),
  )
})

describe('a node that was deaf', () => {
  scenario('N2 (ours): gets what it missed by one sync with whom it meets', async (net) => {
    const [primary] = await started(net, 1)
    net.isolate(primary)
    const node1 = await start(net, 'node1')
    track(node1, 'node1')
    await net.run(500)
    expect(list(primary)).toEqual([])
    const frames = countFrames(net)
    net.heal()
    await net.until('the primary has met node1', 5_000, () => list(primary).length === 1)
    expect(frames.filter((frame) => frame === `${node1.id} to ${primary.address}`)).toHaveLength(1)
    await net.until('a heartbeat reaches both', 1_000, () => lifeOf(node1, primary.id)?.status === 'up')
    expectSame(primary, node1)
    expect(changes(primary)).toEqual(['+node1'])
  })

  scenario(
    'N3 (ours): fetches what it lacks of each owner once, from whomever, and lists all',
    async (net) => {
      const [primary, node1, node2] = await started(net, 3)
      net.isolate(primary)
      track(node1, 'node1a')
      track(node1, 'node1b')
      track(node2, 'node2')
      await net.run(2 * downPeriodMs)
      expect([list(node1), list(node2)]).toEqual([list(node2), ['node1a', 'node1b', 'node2']])
      expect(list(primary)).toEqual([])
      const frames = countFrames(net)
      net.heal()
      await net.until('the primary lists all', 5_000, () => list(primary).length === 3)
      await net.run(2_000)
      expect(frames.filter((frame) => frame.endsWith(` to ${primary.address}`)).sort()).toEqual([
        `${node1.id} to ${primary.address}`,
        `${node2.id} to ${primary.address}`,
      ])
      expect(changes(primary).sort()).toEqual(['+node1a', '+node1b', '+node2'])
      expectSame(primary, node1, node2)
    },
  )

  // Short: the connections outlive it, so the next beat shows the gap. Long: they meet again, and sync at once.
  test.each(SEEDS.flatMap((seed) => [2 * downPeriodMs, 15_000].map((ms) => [ms, seed] as const)))(
    'sees nothing again that was removed meanwhile (deaf for %d ms, seed %d)',
    (deafMs, seed) =>
      simulate({ seed }, async (net) => {
        const [primary, node1, node2] = await started(net, 3, { permdownPeriodMs: 60_000 })
        const gone = track(node1, 'gone')
        track(node2, 'kept')
        await net.run(2 * PERIOD_MS)
        net.isolate(primary)
        gone.close()
        track(node1, 'new')
        await net.run(deafMs)
        expect(changes(primary).slice(2).sort()).toEqual(['-gone (silent)', '-kept (silent)'])
        primary.forgetEvents()
        net.heal()
        await net.until('the primary lists both', 5_000, () => list(primary).join() === 'kept,new')
        await net.run(2_000)
        expect(changes(primary).sort()).toEqual(['+kept', '+new'])
        expectSame(primary, node1, node2)
      }),
  )
})

describe('a node that dies', () => {
  for (const sameIdentity of [true, false]) {
    scenario(
      `N4: is purged, and starts again without its old entry (same identity: ${sameIdentity})`,
      async (net) => {
        const [primary, node1, node2] = await started(net, 3)
        for (const node of [primary, node1, node2]) track(node, node.name)
        await net.run(2 * PERIOD_MS)
        expectSame(primary, node1, node2)
        const { id, incarnation } = node1.tracker.nodes()[0] ?? {}
        const diedAt = net.clock.now()
        node1.crash()
        await net.until(
          'node1 is purged',
          2 * permdownPeriodMs,
          () => primary.events('node_purged').length === 1,
        )
        expect(primary.events('node_purged')[0]).toMatchObject({ payload: [{ id, incarnation }] })
        expect(net.clock.now() - diedAt).toBeGreaterThan(permdownPeriodMs - 2 * PERIOD_MS - PERIOD_MS)
        await node1.restart({ sameIdentity })
        track(node1, 'node1')
        await net.until('all list it', 5_000, () =>
          [primary, node1, node2].every((node) => list(node).length === 3),
        )
        await net.run(2_000)
        expectSame(primary, node1, node2)
        for (const node of [primary, node1, node2]) {
          const old = node.tracker
            .list(TOPIC)
            .filter((entry) => entry.node === id && entry.incarnation === incarnation)
          expect(old).toEqual([])
        }
      },
    )
  }

  scenario('N5: silence hides it and its return shows it, in one and the same life', async (net) => {
    const [primary, node1, node2] = await started(net, 3)
    track(node1, 'node1')
    await net.run(2 * PERIOD_MS)
    const before = lifeOf(primary, node1.id)
    primary.forgetEvents()
    node1.stall(2 * downPeriodMs)
    await net.run(2 * downPeriodMs - PERIOD_MS)
    expect(changes(primary)).toEqual(['-node1 (silent)'])
    expect(list(primary)).toEqual([])
    expect(lifeOf(primary, node1.id)).toEqual({ ...before, status: 'down', reason: 'silent' })
    expect(lifeOf(primary, node2.id)?.status).toBe('up')
    await net.run(6 * PERIOD_MS)
    expect(changes(primary)).toEqual(['-node1 (silent)', '+node1'])
    expect(lifeOf(primary, node1.id)).toEqual(before)
    expectSame(primary, node1, node2)
  })

  scenario('N6 N7 N8 (ours): a kill is seen at once, a return is another life, and again', async (net) => {
    const [primary, node1, node2] = await started(net, 3)
    track(node1, 'node1')
    track(node2, 'node2')
    await net.run(2 * PERIOD_MS)
    const first = lifeOf(primary, node1.id)
    primary.forgetEvents()

    node1.crash()
    await net.run(PERIOD_MS)
    expect(changes(primary)).toEqual(['-node1 (refused)'])
    expect(lifeOf(primary, node1.id)).toEqual({ ...first, status: 'down', reason: 'refused' })

    await node1.restart()
    track(node1, 'node1-back')
    await net.until('node1 is back', 2_000, () => list(primary).length === 2)
    expect(changes(primary)).toEqual(['-node1 (refused)', '+node1-back'])
    expect(list(primary)).toEqual(['node1-back', 'node2'])
    const second = lifeOf(primary, node1.id)
    expect(second?.status).toBe('up')
    expect(second?.incarnation).toBeGreaterThan(first?.incarnation ?? Infinity)

    await net.run(2 * PERIOD_MS)
    node1.crash()
    await net.run(PERIOD_MS)
    expect(changes(primary)).toEqual(['-node1 (refused)', '+node1-back', '-node1-back (refused)'])
    expect(lifeOf(primary, node1.id)).toMatchObject({ status: 'down', incarnation: second?.incarnation })
    await net.run(permdownPeriodMs + 2 * PERIOD_MS)
    expect(primary.tracker.nodes().map(({ id }) => id)).toEqual([primary.id, node2.id])
    expect(lifeOf(primary, node2.id)?.status).toBe('up')
    expect(changes(primary)).toHaveLength(3)
  })

  scenario(
    'N10 (ours): its entries are hidden and still counted until the purge; there is no dirty list',
    async (net) => {
      const [primary, node1] = await started(net, 2)
      track(primary, 'local')
      track(node1, 'remote')
      await net.run(2 * PERIOD_MS)
      expect(list(primary)).toEqual(['local', 'remote'])
      node1.crash()
      await net.run(PERIOD_MS)
      expect(changes(primary).at(-1)).toBe('-remote (refused)')
      expect(list(primary)).toEqual(['local'])
      expect(primary.tracker.getByKey(TOPIC, 'remote')).toEqual([])
      expect(lifeOf(primary, node1.id)).toMatchObject({ status: 'down', entries: 1 })
      await net.run(permdownPeriodMs + 2 * PERIOD_MS)
      expect(lifeOf(primary, node1.id)).toBeUndefined()
      expect(list(primary)).toEqual(['local'])
    },
  )
})

scenario('N9: joins and leaves, here and there, are listed and reported where they are seen', async (net) => {
  const [primary, node1] = await started(net, 2)
  const ref = primary.tracker.track(open(), TOPIC, 'local1', { name: 'l1' })
  expect(changes(primary)).toEqual(['+local1'])
  expect(primary.tracker.list(TOPIC)).toMatchObject([
    { key: 'local1', ref, meta: { name: 'l1' }, node: primary.id },
  ])
  const local2 = track(primary, 'local2')
  expect(list(primary)).toEqual(['local1', 'local2'])
  const remote = track(node1, 'remote')
  await net.until('the primary sees it', 2 * PERIOD_MS, () => list(primary).length === 3)
  expect(changes(primary)).toEqual(['+local1', '+local2', '+remote'])
  expect(lifeOf(primary, node1.id)?.status).toBe('up')
  expect(list(primary)).toEqual(['local1', 'local2', 'remote'])
  local2.close()
  expect(changes(primary).at(-1)).toBe('-local2')
  expect(list(primary)).toEqual(['local1', 'remote'])
  remote.close('its process is gone')
  await net.until('the primary sees that, too', 2 * PERIOD_MS, () => list(primary).length === 1)
  expect(changes(primary).slice(3)).toEqual(['-local2', '-remote'])
  expectSame(primary, node1)
})

describe('updates', () => {
  scenario('N14 (ours): an update is one update, never leave + join', async (net) => {
    const [primary, node1] = await started(net, 2)
    const monitor = open()
    const ref = primary.tracker.track(monitor, TOPIC, 'me', { name: 'old' })
    await net.run(2 * PERIOD_MS)
    expect(primary.tracker.update(monitor, TOPIC, 'me', { name: 'new' })).toBe(ref)
    await net.run(2 * PERIOD_MS)
    for (const node of [primary, node1]) {
      expect(changes(node)).toEqual(['+me', '~me'])
      const diff = node.events('diff').at(-1)?.payload[0]
      expect(diff).toMatchObject({
        node: primary.id,
        joins: [],
        leaves: [],
        updates: [{ entry: { ref, meta: { name: 'new' } }, previous: { ref, meta: { name: 'old' } } }],
      })
      expect(node.tracker.getByKey(TOPIC, 'me')).toMatchObject([{ ref, meta: { name: 'new' } }])
    }
  })

  scenario(
    'N15 (ours): a function is given the old meta, and what it returns is the whole new one',
    async (net) => {
      const [primary, node1] = await started(net, 2)
      const monitor = open()
      const ref = primary.tracker.track(monitor, TOPIC, 'me', { name: 'old', age: 1 })
      const given: unknown[] = []
      await net.run(2 * PERIOD_MS)
      primary.tracker.update(monitor, TOPIC, 'me', (meta) => {
        given.push(meta)
        return { name: 'new' }
      })
      await net.run(2 * PERIOD_MS)
      expect(given).toEqual([{ name: 'old', age: 1 }])
      expect(node1.tracker.getByKey(TOPIC, 'me')).toMatchObject([{ ref }])
      expect(node1.tracker.getByKey(TOPIC, 'me')[0]?.meta).toEqual({ name: 'new' })
      expect(changes(node1)).toEqual(['+me', '~me'])
    },
  )

  scenario(
    'an update that the others never saw joined is a join to them, an entry they never saw is nothing',
    async (net) => {
      const [primary, node1] = await started(net, 2)
      await net.run(2 * PERIOD_MS)
      const monitor = open()
      primary.tracker.track(monitor, TOPIC, 'me', 1)
      primary.tracker.update(monitor, TOPIC, 'me', 2)
      track(primary, 'short').close()
      await net.run(2 * PERIOD_MS)
      expect(changes(primary)).toEqual(['+me', '~me', '+short', '-short'])
      expect(changes(node1)).toEqual(['+me'])
      expectSame(primary, node1)
    },
  )
})

scenario('N18: a close is seen at once, without a down phase, and the node is forgotten', async (net) => {
  const [primary, node1] = await started(net, 2)
  track(node1, 'node1')
  await net.run(2 * PERIOD_MS)
  const { id } = node1
  await net.settle(node1.close())
  await net.run(50)
  expect(changes(primary)).toEqual(['+node1', '-node1 (left)'])
  expect(list(primary)).toEqual([])
  expect(primary.tracker.nodes().map((node) => node.id)).toEqual([primary.id])
  expect(primary.events('node_down')).toMatchObject([{ payload: [{ id }, 'left'] }])
  expect(primary.events('node_purged')).toMatchObject([{ payload: [{ id }] }])
  await net.run(2 * permdownPeriodMs)
  expect(primary.events('node_down')).toHaveLength(1)
})

scenario('N18 (ours): two that close at the same moment end, and the third forgets both', async (net) => {
  const [primary, node1, node2] = await started(net, 3)
  track(node1, 'node1')
  track(node2, 'node2')
  await net.run(2 * PERIOD_MS)
  await net.settle(Promise.all([node1.close(), node2.close()]))
  await net.run(50)
  expect(list(primary)).toEqual([])
  expect(primary.tracker.nodes()).toHaveLength(1)
  expect(changes(primary).slice(2).sort()).toEqual(['-node1 (left)', '-node2 (left)'])
})

scenario(
  'N19: a rolling update: the newcomer fetches once, and never hears of the one that is dead',
  async (net) => {
    const [primary, node1] = await started(net, 2)
    track(primary, 'primary')
    await net.run(2 * PERIOD_MS)
    const dead = node1.id
    node1.crash()
    await net.run(PERIOD_MS)
    expect(lifeOf(primary, dead)?.status).toBe('down')
    const frames = countFrames(net)
    const node2 = await start(net, 'node2')
    const both = () =>
      [lifeOf(primary, node2.id), lifeOf(node2, primary.id)].every((life) => life?.status === 'up')
    await net.until('both are up', 2_000, both)
    await net.run(1_000)
    expect(frames.filter((frame) => frame.endsWith(` to ${node2.address}`))).toEqual([
      `${primary.id} to ${node2.address}`,
    ])
    expect(lifeOf(primary, dead)?.status).toBe('down')
    expect(list(node2)).toEqual(['primary'])
    frames.length = 0
    await net.run(2_000)
    expect(frames).toEqual([])
    expect(primary.events('node_purged')).toMatchObject([{ payload: [{ id: dead }] }])
    expect(node2.events().filter(({ about }) => about === dead)).toEqual([])
  },
)
