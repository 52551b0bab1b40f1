import { describe, expect, test, vi } from 'vitest'
import { cluster, SimNode, simAddress } from '../../src/testing/index.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { decodeSyncMessage } from '../../src/wire/sync-message.ts'
import { onSeeds, PERIOD_MS, service, type Three, type Two } from './scenario.ts'
import { beatOf, observer } from './scripted.ts'

// Names decide who begins: the id that sorts lower. So the newcomer is once the lower one, once the higher.
test.each(['a-newcomer', 'z-newcomer'])(
  '%s has the full registry at once when it connects, not after a heartbeat',
  async (name) => {
    await onSeeds(10, { delayMs: [1, 5] }, async (net) => {
      const nodes = (await cluster(2, { net, names: ['m', 'n'] })) as Two
      for (const node of nodes) node.registry.register(service('S'))
      // Past the beats that follow a write: from here on only heartbeats are to come, ten periods apart.
      await net.run(20 * PERIOD_MS)
      const newcomer = await SimNode.start({
        net,
        name,
        join: nodes.map((node) => simAddress(node.name)),
        options: {},
      })
      await net.until('it is connected', 1_000, () => newcomer.transport.neighbours().length === 2)
      // A channel, heads, wants, frames: some round trips of at most 10 ms each.
      await net.run(100)
      expect(
        newcomer.registry
          .lookupAll('S')
          .map(({ nodeName }) => nodeName)
          .sort(),
      ).toEqual(['m', 'n'])
    })
  },
)

test('a newcomer asks another neighbour when the one that it asks falls silent', async () => {
  await onSeeds(20, { delayMs: [1, 5] }, async (net) => {
    const nodes = (await cluster(3, { net })) as Three
    const [a, b, c] = nodes
    c.registry.register(service('S'))
    await net.run(20 * PERIOD_MS)
    let asked: string | undefined
    const untap = net.tap(({ kind, from, to, payload }) => {
      if (asked !== undefined || kind !== 'sync' || from !== simAddress('n') || payload === undefined) return
      const message = decodeSyncMessage(payload, WIRE_LIMITS)
      if (message.kind !== 'wants' || message.wants.every(({ owner }) => owner !== c.id)) return
      asked = to
      net.oneWay(to, from)
    })
    const join = [a, b].map((node) => node.address)
    const newcomer = await SimNode.start({ net, name: 'n', join, options: {} })
    await net.until('it has asked', 1_000, () => asked !== undefined, 1)
    untap()
    // Half a second of nothing, then a channel, heads, wants, frames. The next beat of c is much further away.
    await net.until('it has it', 600, () => newcomer.registry.lookupAll('S').length === 1)
  })
})

describe('addresses that are the same on many hosts', () => {
  const at = (owner: string, ...addresses: string[]): Uint8Array =>
    beatOf(owner, {
      to: 1,
      writes: [
        {
          kind: 'put',
          version: 1,
          ref: 1,
          topic: '$node',
          key: owner,
          meta: { addresses, library: '1.0.0' },
        },
      ],
    })

  test('do not make two nodes one: only who has all addresses of another took its place', async () => {
    const { transport, clock, told } = await observer()
    const hear = async (owner: string, ...addresses: string[]): Promise<void> => {
      transport.events.gossip(owner, 'x', at(owner, ...addresses))
      await clock.advance(100)
    }
    await hear('b', '/memory/b', '/memory/bridge')
    await hear('c', '/memory/c', '/memory/bridge')
    // Our own address is '/memory/a'.
    await hear('d', '/memory/d', '/memory/a')
    expect(told).toEqual(['node_up b', 'node_up c', 'node_up d'])
    await hear('e', '/memory/bridge', '/memory/b')
    await hear('f', '/memory/a')
    expect(told.slice(3)).toEqual(['node_down b replaced', 'node_up e'])
  })

  test('of two at one place the one that lives there is shown, in whatever order they are told of', async () => {
    for (const order of [
      ['old', 'new'],
      ['new', 'old'],
    ]) {
      const { transport, clock, told } = await observer()
      transport.examine = (node) => Promise.resolve(node === 'new' ? 'alive' : 'refused')
      for (const owner of order) {
        transport.events.gossip(owner, 'x', at(owner, '/memory/place'))
        await clock.advance(2_000)
      }
      expect(told.filter((each) => each.includes('new'))).toEqual(['node_up new'])
      expect(told.filter((each) => each.includes('old'))).toEqual(
        order[0] === 'old' ? ['node_up old', 'node_down old refused'] : [],
      )
    }
  })

  test('and a node that moved gives up the place it had', async () => {
    const { transport, clock, told } = await observer()
    const hear = async (owner: string, message: Uint8Array): Promise<void> => {
      transport.events.gossip(owner, 'x', message)
      await clock.advance(100)
    }
    await hear('b', at('b', '/memory/one'))
    const moved = { addresses: ['/memory/two'], library: '1.0.0' }
    const writes = [{ kind: 'put', version: 2, ref: 1, topic: '$node', key: 'b', meta: moved }] as const
    await hear('b', beatOf('b', { beat: 2, from: 1, to: 2, writes }))
    await hear('c', at('c', '/memory/one'))
    expect(told).toEqual(['node_up b', 'node_up c'])
  })
})

test('a newcomer reads what it is to show part by part as it comes, not all when it shows it', async () => {
  // To read a service with an address calls it once, and nothing else here does.
  const read = vi.spyOn(URL, 'canParse')
  await onSeeds(1, {}, async (net) => {
    const many = 3_000
    const [owner] = (await cluster(1, { net })) as [SimNode]
    for (let index = 0; index < many; index++) {
      owner.registry.register({ ...service(`S${index}`), address: '10.0.0.7:4000' })
    }
    await net.run(20 * PERIOD_MS)
    read.mockClear()
    const newcomer = await SimNode.start({ net, name: 'z-newcomer', join: [owner.address], options: {} })
    let readBefore = 0
    const shown: { joins: number; readAhead: number; readThen: number; found: number }[] = []
    // Told in the turn in which the diff follows, before and after the registry has taken the diff in.
    newcomer.tracker.on('node_up', () => (readBefore = read.mock.calls.length))
    newcomer.tracker.on('diff', ({ node, joins }) => {
      if (node !== owner.id) return
      const readThen = read.mock.calls.length - readBefore
      const found = newcomer.registry.services().length
      shown.push({ joins: joins.length, readAhead: readBefore, readThen, found })
    })
    await net.until('it has all', 60_000, () => newcomer.registry.services().length === many)
    expect(shown).toEqual([{ joins: many + 1, readAhead: many, readThen: 0, found: many }])
  })
  read.mockRestore()
})
