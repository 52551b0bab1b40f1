import { expect, test } from 'vitest'
import { pass, print } from '../processes/cluster.ts'
import { monotonicNow } from '../processes/served.ts'
import { DOWN_MS, HEALED_MS, PERIOD_MS, SLACK_MS, type Host } from './host.ts'
import { useHosts } from './hosts.ts'
import { expectNobodyDown, expectOffered, expectSame, meshed, write } from './seen.ts'
import { describeFaults, EACH_LINE } from './suite.ts'

/** The promise is 100 ms on a machine that has time. */
const GONE_MS = 1_500

const kinds = (observer: Host, of: Host | string): string[] => observer.told(of).map(({ kind }) => kind)

describeFaults('deaths', EACH_LINE, (lines) => {
  const { cluster, prepare, start, partition, heal, kill, freeze, thaw, settledMs, place } = useHosts(lines)

  test('C12 C24: kill -9: gone at once; and its next life, with the same identity, comes after the old one went', async () => {
    const all = await cluster()
    const e = all[4]
    const others = all.slice(0, 4)
    const { id, incarnation } = e
    const prepared = await prepare(e)
    const at = await kill(e)
    await start(e, {}, prepared)
    expect(e.id).toBe(id)
    expect(e.incarnation).toBeGreaterThan(incarnation)
    await expectSame(all, all, HEALED_MS)
    for (const other of others) {
      const down = await other.hears('service_down', id)
      expect(down.at - at).toBeLessThan(GONE_MS)
      expect(['refused', 'replaced']).toContain(down.reason)
      expect(kinds(other, id)).toEqual(['service_down', 'node_down', 'node_up', 'service_up'])
      expect(other.told(id, ['node_down', 'node_up']).map((each) => each.incarnation)).toEqual([
        incarnation,
        e.incarnation,
      ])
    }
    await meshed(all, HEALED_MS)
  })

  test('C12: a next life that begins before anybody knows of the death: the old one down, then the new one up', async () => {
    const all = await cluster()
    const e = all[4]
    const others = all.slice(0, 4)
    const { id, incarnation } = e
    const prepared = await prepare(e)
    await partition([e], others)
    await kill(e)
    await start(e, {}, prepared)
    await heal()
    await expectSame(all, all, HEALED_MS)
    for (const other of others) {
      expect(kinds(other, id)).toEqual(['service_down', 'node_down', 'node_up', 'service_up'])
      expect(other.told(id, ['node_down', 'node_up']).map((each) => each.incarnation)).toEqual([
        incarnation,
        e.incarnation,
      ])
    }
    await meshed(all, HEALED_MS)
  })

  test('C12: another identity at the same address, within a period: the old one down, then the new one up', async () => {
    const all = await cluster()
    const e = all[4]
    const others = all.slice(0, 4)
    const old = e.id
    const prepared = await prepare(e)
    await kill(e)
    await start(e, { identityFile: place('another-key') }, prepared)
    expect(e.id).not.toBe(old)
    await expectOffered(others, e.name, [e])
    for (const other of others) {
      const heard = other.child.happenings.filter(
        ({ kind, name }) => kind.startsWith('service_') && name === e.name,
      )
      expect(heard.map(({ kind, node }) => [kind, node])).toEqual([
        ['service_down', old],
        ['service_up', e.id],
      ])
    }
    await meshed(all, HEALED_MS)
  })

  test('C24: an unreachable host is gone after the down period, and not before', async () => {
    const all = await cluster()
    const e = all[4]
    const others = all.slice(0, 4)
    await partition([e], others)
    const at = await kill(e)
    for (const other of others) {
      const down = await other.hears('service_down', e)
      expect(down.reason).toBe('silent')
      expect(down.at - at).toBeGreaterThan(DOWN_MS / 2)
      expect(down.at - at).toBeLessThan(DOWN_MS + PERIOD_MS + SLACK_MS)
    }
    await expectSame(others)
    // With the way back the dead are found dead, and nobody comes back.
    await heal()
    await pass(DOWN_MS)
    for (const other of others) expect(kinds(other, e)).toEqual(['service_down', 'node_down'])
  })

  test('C13: all start again within one period: all are up soon, and nobody stays dead for anybody', async () => {
    const all = await cluster()
    const prepared = await Promise.all(all.map((host) => prepare(host)))
    const started: Promise<void>[] = []
    for (const [index, host] of all.entries()) {
      await kill(host)
      // Some come back as themselves, some as others.
      const setup = index % 2 === 0 ? {} : { identityFile: place(`next-key-${host.name}`) }
      started.push(start(host, setup, prepared[index]))
      await pass(PERIOD_MS / all.length)
    }
    await Promise.all(started)
    const at = monotonicNow()
    await expectSame(all)
    const ms = monotonicNow() - at
    print('all up again after', [ms])
    expect(ms).toBeLessThan(3 * PERIOD_MS + HEALED_MS + 2 * settledMs())
    await meshed(all)
    await pass(DOWN_MS)
    await expectSame(all)
    const ids = all.map(({ id }) => id)
    for (const { child } of all) {
      const nodes = await child.ask('nodes')
      expect(nodes.filter(({ id, status }) => ids.includes(id) && status !== 'up')).toEqual([])
    }
  })

  test('C11: dead and purged, then told of by one that stood still meanwhile: it stays gone', async () => {
    const all = await cluster()
    const [a, b, c, d, e] = all
    // No packet of the dead host tells anyone of its death, least of all the one that stands still.
    freeze(c)
    await partition([e], [a, b, c, d])
    await kill(e)
    for (const host of [a, b, d]) {
      await host.hears('node_purged', e)
      await host.hears('node_purged', c)
      host.child.happenings.length = 0
    }
    thaw(c)
    expect(await c.child.ask('offers', e.name), 'what c, who does not know, tells of').toEqual([e.id])
    for (const host of [a, b, d]) await host.hears('service_up', c)
    await c.hears('node_down', e)
    await expectSame([a, b, c, d])
    for (const host of [a, b, d]) expect(host.told(e)).toEqual([])
    expectNobodyDown([a, b, d])
  })

  test('C31: four of five die at once: the survivor forgets them, and serves what it has meanwhile', async () => {
    const all = await cluster()
    const [a, b, c, d, e] = all
    const at = monotonicNow()
    // Two of them together with their hosts.
    await partition([a, b, c], [d, e])
    await Promise.all([b, c, d, e].map(kill))
    for (const other of [b, c]) expect((await a.hears('service_down', other)).at - at).toBeLessThan(GONE_MS)
    for (const other of [d, e]) expect((await a.hears('service_down', other)).reason).toBe('silent')
    await write(a, { alone: true })
    expect(await a.child.ask('lookup', a.name)).toMatchObject({
      ok: true,
      service: { metadata: { alone: true } },
    })
    for (const other of [b, c, d, e]) await a.hears('node_purged', other)
    await expectSame([a])
    expect(await a.child.ask('nodes')).toHaveLength(1)
    await heal()
    await Promise.all([b, d].map((host) => start(host)))
    await expectSame([a, b, d], [a, b, d], HEALED_MS)
  })
})
