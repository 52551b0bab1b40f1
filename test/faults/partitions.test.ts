import { expect, test } from 'vitest'
import { pass, print } from '../processes/cluster.ts'
import { monotonicNow } from '../processes/served.ts'
import {
  DIAL_MS,
  DOWN_MS,
  HANG_UP_AFTER,
  HEALED_MS,
  PERIOD_MS,
  PROBE_MS,
  RELAYED_MS,
  SLACK_MS,
  type Host,
} from './host.ts'
import { useHosts } from './hosts.ts'
import { areLinked, expectNobodyDown, expectSame, expectWritten, meshed, parted, write } from './seen.ts'
import { describeFaults, EACH_LINE, MIXED } from './suite.ts'

/** A neighbour may have been heard just now; then come the probes, each of which waits for its answer. */
const PARTED_MS = PROBE_MS + HANG_UP_AFTER * PROBE_MS + SLACK_MS

const kinds = (observer: Host, of: Host): string[] => observer.told(of).map(({ kind }) => kind)

describeFaults('partitions', [...EACH_LINE, ...MIXED], (lines) => {
  const { cluster, start, partition, oneWay, heal, calls, kill } = useHosts(lines)

  test('C16 C27 C28 C32: one is cut off for longer than the purge, and all is as it should be after the heal', async () => {
    const [a, ...others] = await cluster()
    const all = [a, ...others]
    await partition([a], others)
    await parted([a], others, PARTED_MS)
    await expectSame([a], [a], DOWN_MS + PERIOD_MS + SLACK_MS)
    await expectSame(others)
    await a.child.seen('isolated')
    for (const host of all) await write(host, { written: 'meanwhile' })
    for (const other of others) await a.hears('node_purged', other)
    for (const other of others) await other.hears('node_purged', a)

    // Long after it knows nobody any more, and after many tries, it tries to reach everybody.
    await pass(3 * DIAL_MS)
    await calls()
    await pass(3 * DIAL_MS)
    const tried = (await calls()).filter(({ from }) => from === a.number).map(({ to }) => to)
    expect(new Set(tried)).toEqual(new Set(others.map(({ ip }) => ip)))

    await heal()
    await expectSame(all, all, HEALED_MS)
    for (const host of all) await expectWritten(all, host, { written: 'meanwhile' }, SLACK_MS)
    await meshed(all, HEALED_MS)
    const gone = ['service_down', 'node_down', 'node_purged', 'node_up', 'service_up']
    for (const other of others) {
      expect(kinds(a, other)).toEqual(gone)
      expect(kinds(other, a)).toEqual(gone)
      for (const third of others) {
        if (third !== other) expect(kinds(other, third)).toEqual(['service_changed'])
      }
      expect(other.child.find('isolated')).toBeUndefined()
    }
    expect(a.child.happenings.filter(({ kind }) => kind === 'isolated')).toHaveLength(1)
  })

  if (lines.length > 1) return

  test('C10: more is written than anyone remembers while everyone else is away: it arrives by snapshot', async () => {
    const [a, ...others] = await cluster()
    const all = [a, ...others]
    await partition([a], others)
    for (const other of others) await other.hears('node_down', a)
    const writes = 10 * 2 * 32
    await Promise.all(Array.from({ length: writes }, (_, n) => write(a, { n: n + 1 })))
    await heal()
    await expectWritten(all, a, { n: writes }, HEALED_MS)
    await expectSame(all)
    for (const other of others) {
      expect(kinds(other, a)).toEqual(['service_down', 'node_down', 'node_up', 'service_up'])
    }
  })

  test('C67: a service registered just after a reconnect is seen within one period', async () => {
    const [a, b, c, d, e] = await cluster()
    await partition([a, b], [c, d, e])
    for (const one of [a, b]) for (const other of [c, d, e]) await one.hears('node_down', other)
    for (const other of [c, d, e]) for (const one of [a, b]) await other.hears('node_down', one)
    await heal()
    /** Registers a service on the one and measures how long it takes until the other sees it. */
    const timeUntilSeen = async (one: Host, other: Host): Promise<number> => {
      const name = `of ${one.name} for ${other.name}`
      const at = monotonicNow()
      const id = await one.child.ask('register', { name, version: '1.0.0' })
      const up = await other.child.seen('service_up', (each) => each.name === name)
      await one.child.ask('unregister', id)
      await other.child.seen('service_down', (each) => each.name === name)
      return up.at - at
    }
    const pairs = [
      [a, c],
      [d, b],
      [e, a],
    ] as const
    const soon = await Promise.all(
      pairs.map(async ([one, other]) => {
        await one.hears('node_up', other)
        await other.hears('node_up', one)
        return timeUntilSeen(one, other)
      }),
    )
    await meshed([a, b, c, d, e])
    // What the machine, which has other work, takes for the same when nothing has happened.
    const ordinary = await Promise.all([timeUntilSeen(b, a), timeUntilSeen(c, d)])
    print('seen just after a reconnect, and later', [...soon, ...ordinary])
    expect(Math.max(...soon)).toBeLessThan(PERIOD_MS + SLACK_MS + 3 * Math.max(...ordinary))
  })

  test('C30: one direction of one link is dead: nobody goes down, and what both write still arrives', async () => {
    const all = await cluster()
    const [a, b] = all
    await oneWay([a], [b])
    for (let round = 1; round <= 3; round++) {
      await pass(DOWN_MS)
      await write(a, { round })
      await write(b, { round })
      await expectWritten(all, a, { round }, RELAYED_MS)
      await expectWritten(all, b, { round }, RELAYED_MS)
    }
    expect(await areLinked(a, b)).toBe(false)
    expectNobodyDown(all)
    await heal()
    await meshed(all, HEALED_MS)
    expectNobodyDown(all)
  })

  test('two that never meet know each other through a third that both reach', async () => {
    const all = await cluster()
    const [a, b, c, d, e] = all
    await kill(c)
    await kill(e)
    for (const host of [a, b, d]) for (const gone of [c, e]) await host.hears('node_down', gone)
    await partition([a, d], [c, e])
    await start(c)
    await start(e)
    await expectSame(all)
    for (const { child } of all) child.happenings.length = 0
    for (let round = 1; round <= 2; round++) {
      await pass(DOWN_MS)
      for (const host of all) await write(host, { round })
      for (const host of all) await expectWritten(all, host, { round }, RELAYED_MS)
    }
    expect(await areLinked(b, a)).toBe(true)
    expect(await areLinked(a, c)).toBe(false)
    expectNobodyDown(all)
    await heal()
    await meshed(all, HEALED_MS)
    expectNobodyDown(all)
  })

  const rounds = Number(process.env['ROLLCALL_FAULT_ROUNDS'] ?? 3)
  test(
    'C29: splits and heals with changes on both sides: each change is one event, and the end is one view',
    { timeout: 30_000 + 10_000 * rounds },
    async () => {
      const all = await cluster()
      const [a, b, c, d, e] = all
      const sides = [
        [
          [a, b],
          [c, d, e],
        ],
        [
          [a, c, e],
          [b, d],
        ],
        [[e], [a, b, c, d]],
      ] as const
      const apart = new Map<string, number>()
      const pair = (one: Host, other: Host): string => [one.name, other.name].sort().join('')
      for (let round = 0; round < rounds; round++) {
        const [ones, others] = sides[round % sides.length]!
        await partition(ones, others)
        await Promise.all([
          expectSame(ones, ones, DOWN_MS + PERIOD_MS + SLACK_MS),
          expectSame(others, others, DOWN_MS + PERIOD_MS + SLACK_MS),
        ])
        for (const host of all) await write(host, { round })
        for (const side of [ones, others]) for (const host of side) await expectWritten(side, host, { round })
        for (const one of ones) {
          for (const other of others) apart.set(pair(one, other), (apart.get(pair(one, other)) ?? 0) + 1)
        }
        await heal()
        await expectSame(all, all, HEALED_MS)
        for (const host of all) await expectWritten(all, host, { round }, SLACK_MS)
      }
      for (const observer of all) {
        for (const other of all) {
          if (other === observer) continue
          const times = (kind: string): number => observer.told(other, [kind]).length
          const splits = apart.get(pair(observer, other)) ?? 0
          expect([times('node_down'), times('service_down')], `${observer.name} of ${other.name}`).toEqual([
            splits,
            splits,
          ])
          expect([times('node_up'), times('service_up')]).toEqual([splits, splits])
          // A change on the other side comes with the return: what came back is shown as it is, never as it was.
          const heard = observer
            .told(other)
            .map(({ kind, at, text }) => `${at.toFixed(0)} ${kind} ${text ?? ''}`)
          expect(times('service_changed'), `${observer.name} of ${other.name}: ${heard.join('; ')}`).toBe(
            rounds - splits,
          )
        }
      }
    },
  )
})
