import { describe, expect, test } from 'vitest'
import { cluster, simAddress, SimNode, simulate } from '../../src/testing/index.ts'
import type { SimulatedNetwork } from '../../src/testing/index.ts'
import type { NodeDiagnostics, TrackerDiagnostics } from '../../src/tracker/diagnostics.ts'
import { SYNC_CAUSES } from '../../src/tracker/sync-tally.ts'
import { service, PERIOD_MS } from './scenario.ts'
import type { Two } from './scenario.ts'
import { beatOf, observer } from './scripted.ts'

const diagnosticsOf = (node: SimNode): TrackerDiagnostics => node.tracker.diagnostics()

/** What `node` says of `other`. */
function of(node: SimNode, other: SimNode): NodeDiagnostics {
  const found = diagnosticsOf(node).nodes.find(({ id }) => id === other.id)
  expect(found, `${node.name} knows ${other.name}`).toBeDefined()
  return found!
}

const headOf = (node: SimNode): object => {
  const { incarnation, version } = diagnosticsOf(node).self
  return { incarnation, version }
}

const never = (): AbortSignal => new AbortController().signal

const onTwo = (
  scenario: (net: SimulatedNetwork, a: SimNode, b: SimNode) => Promise<void>,
  options: object = {},
): Promise<void> =>
  simulate({ seed: 1, delayMs: [10, 10] }, async (net) => {
    const [a, b] = (await cluster(2, { net, ...options })) as Two
    await net.run(3_000)
    await scenario(net, a, b)
  })

test('gossip: every message and its bytes, by direction', async () => {
  await onTwo(async (net, a, b) => {
    // Of two nodes each hears what the other says, and passes nothing on.
    const count = () => {
      const [ofA, ofB] = [diagnosticsOf(a).traffic.gossip, diagnosticsOf(b).traffic.gossip]
      expect(ofA.received).toEqual(ofB.sent)
      expect(ofB.received).toEqual(ofA.sent)
      return { a: ofA.sent, messages: net.traffic.gossip.messages }
    }
    const before = count()
    expect(before.a.messages).toBe(diagnosticsOf(a).self.beat)
    a.registry.register(service('s', { metadata: { text: 'x'.repeat(1_000) } }))
    await net.run(PERIOD_MS)
    const after = count()
    expect(after.a.messages - before.a.messages).toBe(1)
    expect(after.a.bytes - before.a.bytes).toBeGreaterThan(1_000)
    expect(after.a.bytes - before.a.bytes).toBeLessThan(1_500)
  })
})

test('gossip: hints count as messages, sent and received', async () => {
  await simulate({ seed: 1, delayMs: [10, 10] }, async (net) => {
    const [a, b, c] = (await cluster(3, { net })) as [SimNode, SimNode, SimNode]
    c.stall(20_000)
    await net.until('c is suspected', 20_000, () => diagnosticsOf(a).doubts.suspected > 0)
    await net.run(1_000)
    const said = [a, b].map(
      (node) => diagnosticsOf(node).traffic.gossip.sent.messages - diagnosticsOf(node).self.beat,
    )
    // One of the two was the first to hint, and the other spared itself the same.
    expect(said.sort()).toEqual([0, 1])
  })
})

test('syncs: every message and its bytes, by direction', async () => {
  await onTwo(async (net, a, b) => {
    const [ofA, ofB] = [diagnosticsOf(a).traffic.sync, diagnosticsOf(b).traffic.sync]
    expect(ofA.received).toEqual(ofB.sent)
    expect(ofB.received).toEqual(ofA.sent)
    expect(ofA.sent.messages).toBeGreaterThan(1)
    // Nothing else has gone this way: no probe has been needed yet.
    expect(ofA.sent.bytes + ofB.sent.bytes).toBe(net.traffic.sync.bytes)
    b.registry.register(service('s', { metadata: { text: 'x'.repeat(1_000) } }))
    net.oneWay(b, a)
    await net.run(PERIOD_MS)
    net.heal()
    await net.run(60_000)
    // What gossip lost came by a sync.
    expect(a.registry.lookup('s').ok).toBe(true)
    expect(diagnosticsOf(a).traffic.sync.received.bytes - ofA.received.bytes).toBeGreaterThan(1_000)
  })
})

test('behind: since when writes have been known to be missing, until they are here', async () => {
  await onTwo(async (net, a, b) => {
    expect(of(a, b)).toMatchObject({ behind: false, behindMs: 0 })
    net.oneWay(b, a)
    b.registry.register(service('lost'))
    await net.run(PERIOD_MS)
    net.heal()
    // A frame that does not follow tells of it, and what would bring the rest is lost.
    b.registry.register(service('s'))
    await net.until('a knows', 2 * PERIOD_MS, () => of(a, b).behind, 1)
    expect(of(a, b).behindMs).toBeLessThanOrEqual(1)
    net.partition(a, b)
    await net.run(5_000)
    expect(of(a, b).behindMs).toBeGreaterThan(4_990)
    expect(of(a, b).behindMs).toBeLessThan(5_010)
    net.heal()
    await net.until('all is here', 60_000, () => !of(a, b).behind, 1)
    expect(of(a, b).behindMs).toBe(0)
    // The next time counts from its own beginning.
    await net.run(2 * PERIOD_MS)
    net.oneWay(b, a)
    b.registry.register(service('lost again'))
    await net.run(PERIOD_MS)
    net.heal()
    b.registry.register(service('t'))
    await net.until('a knows', 2 * PERIOD_MS, () => of(a, b).behind, 1)
    expect(of(a, b).behindMs).toBeLessThanOrEqual(1)
  })
})

test('gaps: frames that do not follow what is held, and no others', async () => {
  const { transport, registry } = await observer()
  const gaps = () => registry.diagnostics().gaps
  transport.events.gossip('b', 'b', beatOf('b'))
  expect(gaps()).toBe(0)
  transport.events.gossip('b', 'b', beatOf('b', { beat: 2, from: 4, to: 5, writes: [] }))
  expect(gaps()).toBe(1)
  transport.events.gossip('b', 'b', beatOf('b'))
  expect(gaps()).toBe(1)
  await registry.close()
})

test('what it says of this node: the head counts writes, the beat messages', async () => {
  await onTwo(async (net, a) => {
    const { self } = diagnosticsOf(a)
    expect(self).toEqual({
      id: a.id,
      name: 'a',
      incarnation: a.tracker.nodes()[0]!.incarnation,
      version: 1,
      beat: self.beat,
      entries: 1,
    })
    const registration = a.registry.register(service('s'))
    registration.update({ metadata: { n: 1 } })
    expect(diagnosticsOf(a).self).toEqual({ ...self, version: 3, entries: 2 })
    registration.unregister()
    expect(diagnosticsOf(a).self).toEqual({ ...self, version: 4 })
    await net.run(PERIOD_MS)
    expect(diagnosticsOf(a).self.beat).toBe(self.beat + 1)
    const beat = net.traffic.gossip.messages
    await net.run(120_000)
    // Two nodes: each message is sent once, and both beat alike.
    expect(diagnosticsOf(a).self.beat - self.beat - 1).toBeLessThan(net.traffic.gossip.messages - beat)
    expect(diagnosticsOf(a).self.beat).toBeGreaterThan(self.beat + 7)
  })
})

test('what it says of others: whole and near, silent, down, back', async () => {
  await onTwo(async (net, a, b) => {
    b.registry.register(service('s'))
    await net.run(PERIOD_MS + 20)
    const seen = of(a, b)
    expect(seen).toMatchObject({ id: b.id, name: 'b', status: 'up', reason: null, neighbour: true })
    expect(seen).toMatchObject({ head: headOf(b), claimed: headOf(b), behind: false })
    expect(Math.abs(seen.silentMs - a.tracker.nodes()[1]!.silentMs)).toBeLessThan(0.1)
    net.isolate(b)
    await net.run(60_000)
    expect(of(a, b)).toMatchObject({ status: 'down', reason: 'silent', neighbour: false, probes: null })
    expect(of(a, b).silentMs).toBeGreaterThan(58_000)
    net.heal()
    await net.run(60_000)
    expect(of(a, b)).toMatchObject({ status: 'up', reason: null, neighbour: true })
    expect(of(a, b).silentMs).toBeLessThan(1_100)
  })
})

test('a write that is lost: its reader is behind, until the sync for the gap has brought it', async () => {
  await onTwo(
    async (net, a, b) => {
      const before = diagnosticsOf(b).syncs
      net.setFaults(a, b, { loss: 1 })
      a.registry.register(service('s'))
      await net.run(50)
      net.setFaults(a, b, { loss: 0 })
      expect(of(b, a).behind).toBe(false)
      await net.until('b hears of it', 2 * PERIOD_MS, () => of(b, a).behind, 1)
      const { head, claimed } = of(b, a)
      expect(claimed).toEqual(headOf(a))
      expect(head!.version).toBe(claimed.version - 1)
      await net.until('it has come', 1_000, () => !of(b, a).behind, 1)
      expect(of(b, a).head).toEqual(headOf(a))
      await net.run(100)
      const { syncs } = diagnosticsOf(b)
      expect(syncs.gap).toEqual({ begun: before.gap.begun + 1, failed: 0, frames: before.gap.frames + 1 })
      for (const cause of SYNC_CAUSES) if (cause !== 'gap') expect(syncs[cause]).toEqual(before[cause])
      expect(diagnosticsOf(a).syncs.answered.begun).toBeGreaterThan(0)
    },
    { flush: 'eager', syncPeriodMs: 1e9 },
  )
})

test('who lacks our writes says so in a sync, and that it has them in the next', async () => {
  await onTwo(
    async (net, a, b) => {
      const old = headOf(a)
      net.setFaults(a, b, { loss: 1 })
      a.registry.register(service('s'))
      await net.run(50)
      net.setFaults(a, b, { loss: 0 })
      const first = await meetAgain(net, a, b)
      expect(first.holdsOfUs?.head).toEqual(old)
      expect(headOf(a)).not.toEqual(old)
      await net.run(777)
      expect(of(a, b).holdsOfUs!.agoMs).toBeGreaterThanOrEqual(777)
      const second = await meetAgain(net, a, b)
      expect(second.holdsOfUs?.head).toEqual(headOf(a))
      expect(second.holdsOfUs!.agoMs).toBeLessThan(777)
    },
    // No heartbeat, and no regular sync, tells of it before.
    {
      flush: 'eager',
      broadcastPeriodMs: 50_000,
      downPeriodMs: 1e6,
      permdownPeriodMs: 1e8,
      syncPeriodMs: 1e9,
    },
  )
})

/** Connects them anew, which brings a sync. What the first says of the other when it is over. */
async function meetAgain(net: SimulatedNetwork, a: SimNode, b: SimNode): Promise<NodeDiagnostics> {
  const syncs = (): number => diagnosticsOf(a).syncs.connect.begun + diagnosticsOf(a).syncs.answered.begun
  const before = syncs()
  a.transport.sever(b.id)
  await net.until('they sync', 5_000, () => syncs() > before)
  await net.run(200)
  return of(a, b)
}

test('a node that does not show us says nothing of us', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b] = (await cluster(2, { net, seeds: 1 })) as Two
    await net.run(5_000)
    await b.restart()
    // Of one that has just come, the other has told nothing yet that it could hold.
    await net.until('they sync', 5_000, () => {
      const [word] = diagnosticsOf(b).nodes.map(({ holdsOfUs }) => holdsOfUs)
      return word !== null && word !== undefined
    })
    expect(of(b, a).holdsOfUs!.head).not.toEqual(headOf(b))
  })
})

describe('probes', () => {
  test('of a neighbour that answers: asked about once a period, and the round trip', async () => {
    await onTwo(async (net, a, b) => {
      const before = of(a, b).probes!.asked + of(b, a).probes!.asked
      await net.run(100_000)
      // One of the two asks every 0.77 s on average, unless a beat says enough.
      const asked = of(a, b).probes!.asked + of(b, a).probes!.asked - before
      expect(asked).toBeGreaterThan(100)
      expect(asked).toBeLessThan(145)
      expect(of(a, b).probes).toMatchObject({ unanswered: 0 })
      expect(of(a, b).probes!.roundTripMs).toBe(20)
    })
  })

  test('of one that hangs: unanswered in a row, and none when it goes on', async () => {
    await onTwo(async (net, a, b) => {
      await net.run(5_000)
      b.stall(4_500)
      await net.run(4_400)
      expect(of(a, b).probes!.unanswered).toBeGreaterThanOrEqual(3)
      expect(of(a, b).probes!.unanswered).toBeLessThanOrEqual(4)
      await net.until('it answers', 5_000, () => of(a, b).probes!.unanswered === 0)
    })
  })
})

describe('syncs', () => {
  test('a newcomer: one at connect with each, which bring what there is; in quiet regular ones that bring nothing', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net, syncPeriodMs: 10_000 })) as Two
      for (const node of [a, b]) node.registry.register(service(node.name))
      await net.run(10 * PERIOD_MS)
      const c = await SimNode.start({
        net,
        name: 'c',
        join: [a.address, b.address],
        options: { syncPeriodMs: 10_000 },
      })
      await net.run(5_000)
      const { connect, answered } = diagnosticsOf(c).syncs
      expect(connect.begun + answered.begun).toBeGreaterThanOrEqual(2)
      expect(connect.frames + answered.frames).toBe(2)
      const total = (): number[] =>
        [a, b, c].map((node) =>
          SYNC_CAUSES.reduce((sum, cause) => sum + diagnosticsOf(node).syncs[cause].frames, 0),
        )
      const frames = total()
      await net.run(100_000)
      expect(total()).toEqual(frames)
      for (const node of [a, b, c]) {
        expect(diagnosticsOf(node).syncs.regular.begun).toBeGreaterThanOrEqual(9)
        expect(diagnosticsOf(node).syncs.regular).toMatchObject({ failed: 0, frames: 0 })
      }
      const sum = (pick: (syncs: TrackerDiagnostics['syncs']) => number): number =>
        [a, b, c].reduce((all, node) => all + pick(diagnosticsOf(node).syncs), 0)
      expect(sum(({ answered: { begun } }) => begun)).toBe(
        sum(({ connect: { begun }, regular, gap, retry }) => begun + regular.begun + gap.begun + retry.begun),
      )
    })
  })

  test('one that stands still fails, is told of with its cause, and another follows', async () => {
    await onTwo(
      async (net, a, b) => {
        expect(diagnosticsOf(a).syncFailures).toEqual([])
        const before = diagnosticsOf(a).syncs
        await net.settle(b.transport.open(a.id, 'sync', never()))
        await net.until('it fails', 20_000, () => diagnosticsOf(a).syncs.answered.failed > 0, 1)
        const at = net.clock.now()
        expect(diagnosticsOf(a).syncFailures).toEqual([
          {
            peer: b.id,
            cause: 'answered',
            code: 'ROLLCALL_SYNC_FAILED',
            message: expect.stringContaining('10000 ms') as string,
            agoMs: expect.any(Number) as number,
          },
        ])
        await net.run(2 * PERIOD_MS)
        const { syncs, syncFailures } = diagnosticsOf(a)
        expect(syncs.retry).toEqual({ begun: 1, failed: 0, frames: 0 })
        expect(syncs.answered.begun).toBe(before.answered.begun + 1)
        expect(syncFailures[0]!.agoMs).toBeGreaterThanOrEqual(net.clock.now() - at)
        expect(syncFailures[0]!.agoMs).toBeLessThan(net.clock.now() - at + 2)
      },
      { syncPeriodMs: 1e9 },
    )
  })
})

test('messages of peers that were dropped, by code', async () => {
  await onTwo(async (net, a, b) => {
    for (let n = 0; n < 3; n++) {
      const channel = await net.settle(b.transport.open(a.id, 'sync', never()))
      await net.settle(channel.send(Uint8Array.of(0xff)))
      await net.run(100)
    }
    expect(diagnosticsOf(a).rejected).toEqual({ ROLLCALL_FRAME_INVALID: 3 })
    expect(diagnosticsOf(a).syncs.answered.failed).toBe(3)
    expect(diagnosticsOf(a).syncFailures.map(({ peer, cause, code }) => [peer, cause, code])).toEqual(
      Array.from({ length: 3 }, () => [b.id, 'answered', 'ROLLCALL_FRAME_INVALID']),
    )
  })
})

test('late ticks: the last, and the worst of the last 64', async () => {
  await onTwo(async (net, a) => {
    expect(diagnosticsOf(a).lateTicks).toMatchObject({ lastMs: 0, worstMs: 0 })
    a.stall(4_000)
    await net.run(4_001)
    const { lastMs, worstMs } = diagnosticsOf(a).lateTicks
    expect(lastMs).toBeGreaterThan(4_000 - PERIOD_MS)
    expect(lastMs).toBeLessThanOrEqual(4_000)
    expect(worstMs).toBe(lastMs)
    await net.run(60 * PERIOD_MS)
    expect(diagnosticsOf(a).lateTicks).toMatchObject({ lastMs: 0, worstMs })
    await net.run(10 * PERIOD_MS)
    expect(diagnosticsOf(a).lateTicks).toEqual({ lastMs: 0, worstMs: 0, ticks: 64 })
  })
})

test('dials without success: a dead seed, and nobody else', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const join = ['a', 'nobody'].map(simAddress)
    const [a] = await cluster(1, { net, names: ['a'], seeds: 1 })
    const b = await SimNode.start({ net, name: 'b', join, options: {} })
    await net.run(10_000)
    const { dials } = diagnosticsOf(b)
    expect(dials).toHaveLength(1)
    expect(dials[0]).toMatchObject({ where: simAddress('nobody'), lastFailure: 'refused' })
    expect(dials[0]!.failures).toBeGreaterThan(8)
    expect(dials[0]!.nextInMs).toBeLessThanOrEqual(1_000)
    await SimNode.start({ net, name: 'nobody', join: [], options: {} })
    await net.run(2_000)
    expect(diagnosticsOf(b).dials).toEqual([])
    expect(of(a!, b).status).toBe('up')
  })
})

describe('the data', () => {
  test('is plain, frozen to its last level, the same as JSON, a copy, and there after the end as well', async () => {
    await onTwo(async (net, a, b) => {
      await net.run(60_000)
      const taken = a.registry.diagnostics()
      expect(JSON.parse(JSON.stringify(taken))).toEqual(taken)
      const all: unknown[] = [taken]
      for (const each of all) {
        if (typeof each !== 'object' || each === null) continue
        expect(Object.isFrozen(each)).toBe(true)
        all.push(...(Object.values(each) as unknown[]))
      }
      expect(all.length).toBeGreaterThan(60)
      const text = JSON.stringify(taken)
      a.registry.register(service('s'))
      expect(a.registry.diagnostics().services).toEqual({ offered: 1, rejected: 0, avoided: 0 })
      await net.run(60_000)
      expect(JSON.stringify(taken)).toBe(text)
      expect(taken.services).toEqual({ offered: 0, rejected: 0, avoided: 0 })
      const { tracker } = a
      await net.settle(a.close())
      expect(tracker.diagnostics()).toMatchObject({ closed: true, dials: [] })
      expect(tracker.diagnostics().nodes.map(({ id, neighbour }) => [id, neighbour])).toEqual([[b.id, false]])
    })
  })

  test('is bounded, whatever 10,000 strangers and failures do', async () => {
    const { registry, transport, clock } = await observer({ maxNodes: 50 })
    for (let n = 0; n < 10_000; n++) {
      transport.events.gossip(`stranger-${n}`, 'b', Uint8Array.of(0xff, n & 255))
      transport.events.gossip(`owner-${n}`, 'b', beatOf(`owner-${n}`))
    }
    await clock.advance(120_000)
    const taken = registry.diagnostics()
    expect(taken.rejected).toEqual({ ROLLCALL_FRAME_INVALID: 10_000, ROLLCALL_FRAME_LIMIT: 9_950 })
    expect(taken.nodes).toHaveLength(50)
    expect(JSON.stringify(taken).length).toBeLessThan(50 * 400 + 2_000)
  })
})
