import { expect, test } from 'vitest'
import { pass } from '../processes/cluster.ts'
import { DOWN_MS, HEALED_MS, PERIOD_MS, PROBE_MS, RELAYED_MS, SLACK_MS } from './host.ts'
import { useHosts } from './hosts.ts'
import { expectNobodyDown, expectSame, expectWritten, meshed, write } from './seen.ts'
import { describeFaults, EACH_LINE } from './suite.ts'

const HOUR_MS = 3_600_000

describeFaults('time', EACH_LINE, (lines) => {
  const { cluster, start, jumpClock, freeze, thaw, kill } = useHosts(lines, {
    clocks: true,
    // Nobody is away for so long.
    periods: { tracker: { permdownPeriodMs: 60_000 } },
  })

  test('C20: the wall clock jumps by an hour, either way, and clocks differ by minutes: nothing happens', async () => {
    const all = await cluster()
    const [a, b, c, d] = all
    const offsets = [
      [a, HOUR_MS],
      [b, -HOUR_MS],
      [c, 180_000],
      [d, -180_000],
    ] as const
    for (const [host, byMs] of offsets) {
      await jumpClock(host, byMs)
      expect(Math.abs((await host.child.ask('wallNow')) - Date.now() - byMs)).toBeLessThan(60_000)
    }
    for (const when of ['then', 'later', 'back']) {
      // The clocks of two go back to where they were.
      if (when === 'back') for (const host of [a, b]) await jumpClock(host, 0)
      await pass(DOWN_MS)
      for (const host of all) await write(host, { when })
      for (const host of all) await expectWritten(all, host, { when }, RELAYED_MS)
    }
    await expectSame(all)
    expectNobodyDown(all)
  })

  test('C20: a node that starts again an hour in its past is taken for what it is', async () => {
    const all = await cluster()
    const [a, b, c, d, e] = all
    await kill(e)
    for (const host of [a, b, c, d]) await host.hears('node_down', e)
    await jumpClock(e, -HOUR_MS)
    await start(e)
    await expectSame(all, all, HEALED_MS)
    for (const host of [a, b, c, d]) {
      expect(host.told(e, ['node_down']).length).toBeLessThanOrEqual(2)
      expect(host.told(e).at(-1)!.kind).toBe('service_up')
    }
  })

  test('C22 C23: one stands still with its sockets open for three down periods, and goes on', async () => {
    const all = await cluster()
    const [a, ...others] = all
    const at = freeze(a)
    for (const other of others) {
      const down = await other.hears('service_down', a)
      expect(down.reason).toBe('silent')
      expect(down.at - at).toBeGreaterThan(DOWN_MS - PROBE_MS - PERIOD_MS)
      expect(down.at - at).toBeLessThan(DOWN_MS + PERIOD_MS + SLACK_MS)
    }
    await pass(2 * DOWN_MS)
    expect(await Promise.all(others.map(({ child }) => child.ask('offers', a.name)))).toEqual([
      [],
      [],
      [],
      [],
    ])
    thaw(a)
    await expectSame(all, all, HEALED_MS)
    await meshed(all, HEALED_MS)
    // It knows that it was away.
    expectNobodyDown([a])
    for (const other of others) {
      expect(other.told(a).map(({ kind }) => kind)).toEqual([
        'service_down',
        'node_down',
        'node_up',
        'service_up',
      ])
      expect(other.told(a, ['node_up']).map(({ incarnation }) => incarnation)).toEqual([a.incarnation])
      expect(other.child.find('node_down', ({ node }) => node !== a.id)).toBeUndefined()
    }
  })
})
