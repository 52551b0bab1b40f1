import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { expectSame, simulate, type SeededRandom, type SimNode } from '../../src/testing/index.ts'
import type { Monitor } from '../../src/tracker/monitor.ts'
import type { Tracker } from '../../src/tracker/tracker.ts'
import { encodeBeat } from '../../src/wire/gossip.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { changes, countFrames, list, open, start, started, TOPIC } from './phoenix-cluster.ts'
import { PERIODS, Speaker } from './phoenix-roster.ts'
import { lone } from './stub-transport.ts'

const { broadcastPeriodMs: PERIOD_MS } = PERIODS

const everything = (tracker: Tracker): Entry<Json>[] =>
  tracker.topics().flatMap((topic) => tracker.list(topic))

const idOf = ({ node, incarnation, ref }: Entry<Json>): string => `${node}/${incarnation}/${ref}`

/** Follows a tracker by its events alone, from now on, and throws when an event does not follow on what was. */
class Follower {
  readonly #tracker: Tracker
  readonly #held = new Map<string, Entry<Json>>()

  constructor(tracker: Tracker) {
    this.#tracker = tracker
    for (const entry of everything(tracker)) this.#held.set(idOf(entry), entry)
    tracker.on('diff', ({ joins, leaves, updates }) => {
      for (const entry of leaves) {
        expect(this.#held.get(idOf(entry))).toBe(entry)
        this.#held.delete(idOf(entry))
      }
      for (const entry of joins) {
        expect(this.#held.has(idOf(entry))).toBe(false)
        this.#held.set(idOf(entry), entry)
      }
      for (const { entry, previous } of updates) {
        expect(this.#held.get(idOf(entry))).toBe(previous)
        expect(entry.version).toBeGreaterThan(previous.version)
        this.#held.set(idOf(entry), entry)
      }
      // A lookup within a listener agrees with the event already.
      this.check()
    })
  }

  check(): void {
    const shown = new Set(everything(this.#tracker))
    expect(new Set(this.#held.values())).toEqual(shown)
    expect(shown.size).toBe(this.#held.size)
  }
}

/** Does something at random to what a node tracks. */
function churn(node: SimNode, monitors: Monitor[], random: SeededRandom): void {
  const monitor = monitors[Math.floor(random.next() * monitors.length)]
  const action = random.next()
  if (monitor === undefined || action < 0.4) {
    const next = open()
    node.tracker.track(next, TOPIC, `key ${Math.floor(random.next() * 5)}`, { n: 0 })
    monitors.push(next)
  } else if (action < 0.8) {
    const [entry] = node.tracker.list(TOPIC).filter(({ node: owner }) => owner === node.id)
    for (const key of ['key 0', 'key 1', 'key 2', 'key 3', 'key 4', entry?.key ?? '-']) {
      try {
        node.tracker.update(monitor, TOPIC, key, (meta) => ({ n: (meta as { n: number }).n + 1 }))
        return
      } catch {
        // It is another key that this monitor tracks.
      }
    }
  } else {
    monitor.close()
    monitors.splice(monitors.indexOf(monitor), 1)
  }
}

describe('what that suite does not test: events', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'replayed, they always give what the list shows, through loss, repeats, reorder, splits and crashes (seed %d)',
    (seed) =>
      simulate({ seed, loss: 0.1, repeat: 0.05, reorder: 0.05, strayMs: 800 }, async (net) => {
        const nodes = await started(net, 3)
        const [primary, node1, node2] = nodes
        const follower = new Follower(primary.tracker)
        const random = net.random.fork('churn')
        const monitors = new Map<SimNode, Monitor[]>(nodes.map((node) => [node, []]))
        for (let step = 0; step < 300; step++) {
          const node = nodes[Math.floor(random.next() * 3)] ?? primary
          if (node.alive) churn(node, monitors.get(node) ?? [], random)
          if (step === 60) net.partition(primary, [node1, node2])
          if (step === 120) net.heal()
          if (step === 160) node1.stall(900)
          if (step === 220) {
            await node2.restart({ sameIdentity: seed % 2 === 0 })
            monitors.set(node2, [])
          }
          await net.run(20)
          follower.check()
        }
        await net.run(30 * PERIOD_MS)
        follower.check()
        expectSame(...nodes)
        expect(changes(primary).length).toBeGreaterThan(50)
      }),
  )

  test.each([1, 2, 3])(
    'a newcomer amid changes: never a version back, nothing twice, all the same in the end (seed %d)',
    (seed) =>
      simulate({ seed }, async (net) => {
        const [primary, node1] = await started(net, 2, { flush: 'eager' })
        const random = net.random.fork('churn')
        const monitors: Monitor[] = []
        const step = async () => {
          churn(node1, monitors, random)
          await net.run(3)
        }
        for (let count = 0; count < 100; count++) await step()
        const node2 = await start(net, 'node2', { flush: 'eager' })
        const follower = new Follower(node2.tracker)
        for (let count = 0; count < 300; count++) await step()
        follower.check()
        await net.run(20 * PERIOD_MS)
        expectSame(primary, node1, node2)
        expect(node2.events('node_down')).toEqual([])
      }),
  )
})

describe('what that suite does not test: transfers', () => {
  const many = (node: SimNode, count: number, meta: Json) => {
    const monitor = open()
    for (let index = 0; index < count; index++)
      node.tracker.track(monitor, TOPIC, `${node.name} ${index}`, meta)
  }

  test('a newcomer has all that three nodes have within a second, and nobody sees a passing down', () =>
    simulate({ seed: 11 }, async (net) => {
      const nodes = await started(net, 3)
      for (const node of nodes) many(node, 1_000, { some: 'meta' })
      await net.run(2_000)
      expectSame(...nodes)
      const frames = countFrames(net)
      const node3 = await start(net, 'node3')
      await net.until('it lists all', 1_000, () => list(node3).length === 3_000)
      await net.run(5_000)
      expect(frames.filter((frame) => frame.endsWith(` to ${node3.address}`))).toHaveLength(3)
      expectSame(...nodes, node3)
      for (const node of [...nodes, node3]) expect(node.events('node_down')).toEqual([])
    }))

  test('a big frame is cut, each part is within its limit, and it shows whole or not at all', () =>
    simulate({ seed: 12 }, async (net) => {
      const [primary, node1] = await started(net, 2)
      const largest = { gossip: 0, sync: 0, probe: 0, control: 0 }
      net.tap(({ kind, payload }) => (largest[kind] = Math.max(largest[kind], payload?.length ?? 0)))
      many(primary, 200, 'x'.repeat(WIRE_LIMITS.maxMetaBytes - 2))
      const sizes = new Set<number>()
      for (let ms = 0; ms < 3_000; ms++) {
        await net.run(1)
        sizes.add(list(node1).length)
      }
      expect([...sizes]).toEqual([0, 200])
      expect(changes(node1)).toHaveLength(200)
      expect(node1.events('diff').filter(({ payload: [{ joins }] }) => joins.length > 1)).toHaveLength(1)
      expect(largest.sync).toBeLessThanOrEqual(WIRE_LIMITS.maxChunkBytes)
      expect(largest.gossip).toBeLessThan(1_000)
      expectSame(primary, node1)
    }))

  test('of a frame that is too big for gossip the head is told at once, so that others ask for it', async () => {
    const { tracker, transport, clock } = await lone({ ...PERIODS, maxFrameBytes: 128 })
    const monitor = open()
    await clock.advance(1_000)
    const { length } = transport.beats
    tracker.track(monitor, TOPIC, 'big', 'x'.repeat(200))
    tracker.track(monitor, TOPIC, 'small', 'x')
    await clock.advance(PERIOD_MS)
    expect(transport.beats.slice(length)).toMatchObject([
      { beat: length + 1, from: tracker.getByKey(TOPIC, 'small')[0]?.version, to: 3, writes: [] },
    ])
    tracker.update(monitor, TOPIC, 'small', 'y')
    await clock.advance(PERIOD_MS)
    expect(transport.beats.at(-1)).toMatchObject({
      beat: length + 2,
      from: 3,
      to: 4,
      writes: [{ meta: 'y' }],
    })
  })

  test('lives come and go: nothing of them stays, and after the purge nothing is synced', () =>
    simulate({ seed: 13 }, async (net) => {
      const [primary, node1, node2] = await started(net, 3)
      for (let life = 0; life < 30; life++) {
        many(node2, 3, life)
        await net.run(300)
        await node2.restart({ sameIdentity: life % 3 === 0 })
      }
      many(node2, 1, 'last')
      await net.run(PERIODS.permdownPeriodMs + 10 * PERIOD_MS)
      expectSame(primary, node1, node2)
      expect(primary.tracker.nodes()).toHaveLength(3)
      expect(primary.tracker.topics().sort()).toEqual(['$node', TOPIC])
      expect(list(primary)).toEqual(['node2 0'])
      const frames = countFrames(net)
      const before = net.traffic
      await net.run(60_000)
      expect(frames).toEqual([])
      // Six hops of a heartbeat each period at most, and what the regular syncs of three nodes say.
      expect(net.traffic.gossip.bytes - before.gossip.bytes).toBeLessThan(6 * 40 * (60_000 / PERIOD_MS))
    }))
})

describe('what that suite does not test: hostile messages', () => {
  const bytesOf = (beat: Parameters<typeof encodeBeat>[0]): Uint8Array => {
    const bytes = encodeBeat(beat, Infinity)
    if (bytes === undefined) throw new Error('a beat without limit always has bytes')
    return bytes
  }
  const crowd = (count: number): Speaker => {
    const speaker = new Speaker('crowd')
    for (let index = 0; index < count; index++) speaker.join(`key ${index}`)
    return speaker
  }

  test.each<[string, () => Uint8Array, string, boolean]>([
    ['nothing', () => Uint8Array.of(), 'ROLLCALL_MESSAGE_UNKNOWN', true],
    [
      'garbage',
      () => Uint8Array.from({ length: 100 }, (_, index) => (index * 37) % 256),
      'ROLLCALL_FRAME_INVALID',
      false,
    ],
    [
      'a beat and more',
      () => Uint8Array.of(...bytesOf(crowd(1).beat(0)), 0, 1, 2),
      'ROLLCALL_FRAME_INVALID',
      false,
    ],
    ['half a beat', () => bytesOf(crowd(10).beat(0)).subarray(0, 40), 'ROLLCALL_FRAME_INVALID', false],
    ['too many bytes', () => new Uint8Array(WIRE_LIMITS.maxFrameBytes + 1), 'ROLLCALL_FRAME_LIMIT', false],
    [
      'a promise without end',
      () => bytesOf({ ...crowd(1).beat(0), promiseMs: 1e9 }),
      'ROLLCALL_FRAME_LIMIT',
      false,
    ],
    ['a beat that is none', () => bytesOf({ ...crowd(1).beat(0), beat: 0 }), 'ROLLCALL_FRAME_INVALID', false],
    ['a range backwards', () => bytesOf({ ...crowd(1).beat(0), from: 5 }), 'ROLLCALL_FRAME_INVALID', false],
    ['more entries than allowed', () => bytesOf(crowd(12).beat(0)), 'ROLLCALL_FRAME_LIMIT', true],
  ])('%s: reported, counted, and nothing changes', async (_, make, code, passedOn) => {
    const { tracker, transport } = await lone({ maxEntriesPerNode: 10, maxLogWrites: 10 })
    const mine = open()
    tracker.track(mine, TOPIC, 'mine', 1)
    const before = everything(tracker)
    const rejected: unknown[] = []
    tracker.on('rejected', (from, what) => rejected.push([from, what]))
    expect(transport.events?.gossip('crowd', 'via', make())).toBe(passedOn)
    expect(rejected).toEqual([['crowd', code]])
    expect(tracker.rejected).toEqual({ [code]: 1 })
    expect(everything(tracker)).toEqual(before)
    expect(tracker.nodes()).toHaveLength(1)
  })

  test('a beat of this node’s own, come back or forged, changes nothing', async () => {
    const { tracker, transport } = await lone()
    const mine = open()
    tracker.track(mine, TOPIC, 'mine', 1)
    const before = everything(tracker)
    const twin = new Speaker(tracker.id, Number.MAX_SAFE_INTEGER)
    twin.join('forged')
    for (const beat of [twin.beat(0), twin.goodbye()]) {
      transport.events?.gossip(tracker.id, 'via', bytesOf(beat))
    }
    expect(everything(tracker)).toEqual(before)
    expect(tracker.closed).toBe(false)
  })

  test('who is beyond maxNodes is reported and not held; its place is taken when one leaves', async () => {
    const { tracker, transport } = await lone({ maxNodes: 2 })
    const speakers = ['a', 'b', 'c'].map((id) => new Speaker(id))
    for (const speaker of speakers) {
      speaker.join(`of ${speaker.id}`)
      transport.events?.gossip(speaker.id, 'via', bytesOf(speaker.beat(0)))
    }
    expect(tracker.rejected).toEqual({ ROLLCALL_FRAME_LIMIT: 1 })
    expect(tracker.list(TOPIC).map(({ key }) => key)).toEqual(['of a', 'of b'])
    const [a, , c] = speakers
    if (a === undefined || c === undefined) throw new Error('three speakers were made')
    transport.events?.gossip('a', 'via', bytesOf(a.goodbye()))
    transport.events?.gossip('c', 'via', bytesOf(c.beat(0)))
    expect(tracker.list(TOPIC).map(({ key }) => key)).toEqual(['of b', 'of c'])
  })
})
