import { expect, test } from 'vitest'
import { pass, print } from '../processes/cluster.ts'
import { monotonicNow } from '../processes/served.ts'
import {
  DOWN_MS,
  expectNobodyDown,
  expectSame,
  expectWritten,
  HEALED_MS,
  meshed,
  PERIOD_MS,
  SLACK_MS,
  useHosts,
  write,
  type Host,
} from './hosts.ts'
import { describeFaults, EACH_LINE } from './suite.ts'

/** How long the network is bad. A minute says more than is worth waiting for at each change. */
const BAD_MS = 1_000 * Number(process.env['ROLLCALL_FAULT_SECONDS'] ?? 20)

/** Has each of the writers in turn write until the time is over. Returns the last that each has written. */
async function writeFor(ms: number, writers: readonly Host[]): Promise<ReadonlyMap<Host, { n: number }>> {
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

describeFaults('loss', EACH_LINE, (lines) => {
  const { cluster, worsen, calm, counts, starve, relieve, killConnection } = useHosts(lines)

  test(
    'constant writes through 30 % loss, late and reordered: nobody goes down, and the calm brings one view',
    { timeout: 60_000 + 2 * BAD_MS },
    async () => {
      const all = await cluster()
      const before = await counts()
      await worsen({ loss: 0.3, delayMs: 50, jitterMs: 20, reorder: 0.25, repeat: 0.02 })
      const last = await writeFor(BAD_MS, all)
      await calm()
      const at = monotonicNow()
      for (const host of all) await expectWritten(all, host, last.get(host)!)
      await expectSame(all)
      print('of one view after', [monotonicNow() - at])
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
    const last = await writeFor(4 * DOWN_MS, others)
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
    await expectSame(all, all, HEALED_MS)
  })

  test('each connection is reset in turn: nobody goes down, and all come back', async () => {
    const all = await cluster()
    for (const one of all) {
      for (const other of all.slice(one.number)) {
        expect(await killConnection(one, other), `${one.name} with ${other.name}`).toBeGreaterThan(0)
        await meshed([one, other], HEALED_MS)
      }
    }
    await meshed(all)
    await expectSame(all)
    expectNobodyDown(all)
  })
})
