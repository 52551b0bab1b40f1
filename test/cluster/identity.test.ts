import { describe, expect, test } from 'vitest'
import { RollcallError } from '../../src/errors.ts'
import { encodeBeat } from '../../src/wire/gossip.ts'
import { cluster, from, simulate, SimNode, simAddress } from '../../src/testing/index.ts'
import { service, told, type Four, type Three } from './scenario.ts'

describe('C40: one name, or one identity, twice', () => {
  test('two live nodes of one name: both kept, one event at each who sees both, no alternation', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const nodes = (await cluster(4, { net, names: ['seed', 'one', 'two', 'other'] })) as Four
      const [seed, one, , other] = nodes
      const twin = await SimNode.start({ net, name: 'late', join: [seed.address], options: {} })
      const double = net.transport({
        id: 'double',
        address: '/memory/double',
        join: [seed.address],
        clock: net.clock,
      })
      // A node that calls itself as `one` does, at another address and under another id.
      const { createTracker } = await import('../../src/tracker/tracker.ts')
      const second = await createTracker({
        transport: double,
        name: 'one',
        clock: net.clock,
        random: net.random,
      })
      await net.run(60_000)
      for (const node of [seed, other, twin]) {
        const called = node.tracker.nodes().filter(({ name }) => name === 'one')
        expect(called.map(({ status }) => status)).toEqual(['up', 'up'])
        expect(node.events('name_conflict')).toHaveLength(1)
        expect(node.events('node_down')).toEqual([])
      }
      expect(one.events('name_conflict')).toHaveLength(1)
      expect(second.nodes().filter(({ status }) => status === 'up')).toHaveLength(6)
      await net.settle(second.close())
    })
  })

  test.each([1, 2, 3, 4, 5])(
    'two live processes of one identity (seed %d): one yields, loudly, the other lives on',
    async (seed) => {
      await simulate({ seed }, async (net) => {
        const [a, b] = (await cluster(3, { net })) as Three
        const copy = () =>
          net.transport({
            id: 'copied',
            address: `/memory/copy-${++copies}`,
            join: [a.address, b.address],
            clock: net.clock,
          })
        let copies = 0
        const { createTracker } = await import('../../src/tracker/tracker.ts')
        const twins = [
          await createTracker({
            transport: copy(),
            name: 'x',
            clock: net.clock,
            random: net.random.fork('first'),
          }),
          await createTracker({
            transport: copy(),
            name: 'x',
            clock: net.clock,
            random: net.random.fork('second'),
          }),
        ]
        const errors: RollcallError[] = []
        for (const twin of twins) twin.on('error', (error) => errors.push(error))
        await net.run(120_000)
        expect(errors.map(({ code }) => code)).toEqual(['ROLLCALL_IDENTITY_CONFLICT'])
        expect(twins.map(({ closed }) => closed).sort()).toEqual([false, true])
        a.forgetEvents()
        await net.run(120_000)
        expect(told(a, 'copied')).toEqual([])
        expect(a.tracker.nodes().filter(({ id, status }) => id === 'copied' && status === 'up')).toHaveLength(
          1,
        )
        for (const twin of twins) await net.settle(twin.close())
      })
    },
  )
})

test('a node whose wall clock was set back before a restart takes a later life than the one remembered', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b] = (await cluster(3, { net })) as Three
    b.registry.register(service('S'))
    await net.run(3_000)
    b.jumpWall(-3_600_000)
    await b.restart()
    b.registry.register(service('S'))
    await net.run(10_000)
    expect(a.registry.lookupAll('S')).toHaveLength(1)
    expect(b.events('error')).toEqual([])
    expect(a.events('service_up').filter(from(b))).toHaveLength(2)
    expect(a.events('service_down').filter(from(b))).toHaveLength(1)
  })
})

describe('C43: only the owner speaks for itself', () => {
  test('what a member publishes is its own, whatever it means to say of others', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(3, { net })) as Three
      b.registry.register(service('S'))
      await net.run(3_000)
      // A member that speaks the protocol by hand: a goodbye, and an entry under the name that b has.
      const forger = net.transport({
        id: 'forger',
        address: simAddress('forger'),
        join: [a.address, b.address],
        clock: net.clock,
      })
      await forger.start(deaf)
      await net.run(1_000)
      const life = b.tracker.nodes()[0]?.incarnation ?? 0
      const say = (from: number, to: number, left: boolean, beat: number) => {
        const writes = left
          ? []
          : [
              {
                kind: 'put' as const,
                version: 1,
                ref: 1,
                topic: '$service',
                key: 'S',
                meta: { version: '9.9.9' },
              },
            ]
        return encodeBeat({ incarnation: life, from, to, writes, beat, promiseMs: 15_000, left }, 1e6)
      }
      for (const message of [say(0, 1, false, 1), say(1, 1, true, 2)])
        await forger.publish(message ?? new Uint8Array())
      await net.run(3_000)
      const found = a.registry.lookup('S', '1.0.0')
      expect(found.ok && found.service.node).toBe(b.id)
      expect(a.events('service_down').filter(from(b))).toEqual([])
      // Its own entry went with its own goodbye.
      expect(a.registry.lookup('S', '9.9.9').ok).toBe(false)
      await forger.stop()
    })
  })

  test('a frame that was not asked for, in a sync, is a fault of who sent it', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as [SimNode, SimNode]
      const { encodeSyncMessage } = await import('../../src/wire/sync-message.ts')
      const forger = net.transport({
        id: 'forger',
        address: simAddress('forger'),
        join: [a.address],
        clock: net.clock,
      })
      await forger.start(deaf)
      await net.until('they have met', 5_000, () => forger.neighbours().includes(a.id))
      const channel = await net.settle(forger.open(a.id, 'sync', new AbortController().signal))
      const life = b.tracker.nodes()[0]?.incarnation ?? 0
      for (const message of [
        { kind: 'heads' as const, heads: [], more: false },
        { kind: 'wants' as const, wants: [], left: [], more: false },
        { kind: 'chunk' as const, owner: b.id, incarnation: life, from: 0, to: 99, writes: [], last: true },
      ])
        await channel.send(encodeSyncMessage(message))
      await net.run(1_000)
      expect(a.events('rejected').map(({ payload: [who, code] }) => [who, code])).toEqual([
        ['forger', 'ROLLCALL_FRAME_INVALID'],
      ])
      expect(a.tracker.rejected).toEqual({ ROLLCALL_FRAME_INVALID: 1 })
      expect(a.tracker.nodes().find(({ id }) => id === b.id)?.status).toBe('up')
      await forger.stop()
    })
  })
})

/** A transport's user that hears nothing. */
const deaf = {
  gossip: () => true,
  opened: (_peer: string, _purpose: string, channel: { abort(reason: Error): void }) =>
    channel.abort(new RollcallError('ROLLCALL_CLOSED')),
  connected: () => undefined,
  disconnected: () => undefined,
  refused: () => undefined,
  unreachable: () => undefined,
  mute: () => Promise.resolve(),
  problem: () => undefined,
}
