import { expect, test } from 'vitest'
import { pass, print } from '../processes/cluster.ts'
import { monotonicNow } from '../processes/served.ts'
import { HEALED_MS, PERIOD_MS, RELAYED_MS, SLACK_MS, WATCH_MS, type Host } from './host.ts'
import { useHosts } from './hosts.ts'
import { expectNobodyDown, expectSame, expectWritten, meshed, write } from './seen.ts'
import { describeFaults, EACH_LINE } from './suite.ts'

/**
 * TCP waits 0.2 s and more before it sends again what was lost, twice as long each time, however short our periods are:
 * they leave room for a few losses in a row.
 */
const DOWN_MS = 3_000
const TIMEOUT_MS = 500
const PERIODS = {
  tracker: { downPeriodMs: DOWN_MS, permdownPeriodMs: 3 * DOWN_MS, probeTimeoutMs: TIMEOUT_MS },
  mesh: { dialTimeoutMs: 2_000 },
} as const

/** How long the network is bad. A minute says more than is worth waiting for at each change. */
const BAD_MS = 1_000 * Number(process.env['ROLLCALL_FAULT_SECONDS'] ?? 20)

/**
 * The pace of the default profile, and a third of its patience: what TCP sends again takes as long whatever our periods are.
 * In minutes of such loss a node was unheard for up to 3.1 s.
 */
const BY_DEFAULT = { broadcastPeriodMs: 1_500, downPeriodMs: 10_000, permdownPeriodMs: 30_000 } as const

/** One of the two dials at once, after a random moment; the other makes up for it only after 2 s. */
const RELINKED_MS = 500 + SLACK_MS

/** A gossip stream that was lost with one of two connections is missed at the second look, and the pair connects anew. */
const RESTREAMED_MS = 2 * WATCH_MS + RELINKED_MS + RELAYED_MS

/** Has each of the writers in turn write until the time is over. Returns the last that each has written. */
async function writeFor(ms: number, writers: readonly Host[]): Promise<Map<Host, { n: number }>> {
  const last = new Map<Host, { n: number }>()
  const until = monotonicNow() + ms
  for (let n = 1; monotonicNow() < until; n++) {
    const writer = writers[n % writers.length]!
    last.set(writer, { n })
    await write(writer, { n })
    await pass(50)
  }
  return last
}

/** How long it takes from now until all show what each has written last. */
async function timeUntilAllHave(
  all: readonly Host[],
  last: ReadonlyMap<Host, { n: number }>,
): Promise<number> {
  const at = monotonicNow()
  await Promise.all([...last].map(([host, written]) => expectWritten(all, host, written)))
  return monotonicNow() - at
}

describeFaults('loss', EACH_LINE, (lines) => {
  const { cluster, partition, heal, worsen, calm, counts, starve, relieve, killConnection } = useHosts(
    lines,
    {
      periods: PERIODS,
    },
  )

  test(
    'constant writes through 30 % loss, late and reordered: nobody goes down, and the calm brings one view',
    { timeout: 60_000 + 2 * BAD_MS },
    async () => {
      const all = await cluster({ tracker: BY_DEFAULT })
      const before = await counts()
      await worsen({ loss: 0.3, delayMs: 50, jitterMs: 20, reorder: 0.25, repeat: 0.02 })
      const last = await writeFor(BAD_MS, all)
      await calm()
      const ms = await timeUntilAllHave(all, last)
      await expectSame(all)
      print('of one view after the calm', [ms])
      expect(ms).toBeLessThan(2 * BY_DEFAULT.broadcastPeriodMs)
      expectNobodyDown(all)
      await meshed(all)
      const { received, lost } = await counts()
      expect((lost - before.lost) / (received - before.received)).toBeGreaterThan(0.2)
    },
  )

  test('C25: one is starved and loses 30 %: what the others see of each other does not change', async () => {
    const all = await cluster()
    const e = all[4]
    const others = all.slice(0, 4)
    starve(e, 0.1)
    await worsen({ loss: 0.3 }, [e], others)
    await worsen({ loss: 0.3 }, others, [e])
    const last = await writeFor(3 * DOWN_MS, others)
    for (const observer of others) {
      for (const other of others) {
        if (other !== observer) {
          expect(observer.told(other, ['node_down', 'node_up', 'service_down', 'service_up'])).toEqual([])
        }
      }
    }
    for (const host of others) await expectWritten(others, host, last.get(host)!, 2 * PERIOD_MS + SLACK_MS)
    await calm()
    relieve(e)
    await expectSame(all, all, HEALED_MS + SLACK_MS)
  })

  test('each connection is reset in turn: nobody goes down, and all come back', async () => {
    const all = await cluster()
    for (const one of all) {
      for (const other of all.slice(one.number)) {
        expect(await killConnection(one, other), `${one.name} with ${other.name}`).toBeGreaterThan(0)
        await meshed([one, other], RELINKED_MS)
      }
    }
    await meshed(all)
    await expectSame(all)
    expectNobodyDown(all)
  })

  test('one end of a connection is reset while the other hears nothing of it: both speak to each other again', async () => {
    const all = await cluster()
    const [a, b, ...others] = all
    await partition([a], [b])
    expect(await killConnection(a, b)).toBeGreaterThan(0)
    await heal()
    await meshed(all, HEALED_MS + SLACK_MS)
    // From here on they have only each other, so that nobody else can pass on what they say.
    await partition([a, b], others)
    for (let round = 1; round <= 3; round++) {
      for (const host of [a, b]) await write(host, { round })
      for (const host of [a, b]) await expectWritten([a, b], host, { round }, RESTREAMED_MS)
      await pass(DOWN_MS)
    }
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      expect(one.told(other, ['node_down', 'service_down'])).toEqual([])
    }
  })
})
