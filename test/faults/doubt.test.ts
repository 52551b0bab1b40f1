import { spawn } from 'node:child_process'
import { cpus } from 'node:os'
import { expect, test } from 'vitest'
import { pass } from '../processes/cluster.ts'
import { until } from '../processes/fleet.ts'
import { monotonicNow } from '../processes/served.ts'
import { SLACK_MS } from './host.ts'
import { useHosts } from './hosts.ts'
import { expectNobodyDown, expectSame } from './seen.ts'
import { describeFaults, EACH_LINE } from './suite.ts'

/** As by default: what is promised of suspicion is promised of these. */
const PROBE_MS = 1_000
const DEFAULTS = {
  broadcastPeriodMs: 1_500,
  downPeriodMs: 30_000,
  permdownPeriodMs: 1_200_000,
  probePeriodMs: PROBE_MS,
  probeTimeoutMs: PROBE_MS,
} as const
const BAD_MS = 20_000

/** Keeps every processor busy for as long as the work takes. */
async function amidBurners(work: () => Promise<void>): Promise<void> {
  const burners = cpus().map(() => spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }))
  try {
    await work()
  } finally {
    for (const burner of burners) burner.kill('SIGKILL')
  }
}

describeFaults('doubt', EACH_LINE, (lines) => {
  const { cluster, worsen, calm, freeze, thaw, killConnection } = useHosts(lines, {
    periods: { tracker: DEFAULTS },
  })

  test(
    'busy processors and 30 % loss: whoever is suspected for that is trusted soon after it ends, and nobody goes down',
    { timeout: 120_000 },
    async () => {
      const all = await cluster()
      await amidBurners(async () => {
        await worsen({ loss: 0.3 })
        await pass(BAD_MS)
      })
      await calm()
      const at = monotonicNow()
      const suspected = all.flatMap(({ child }) =>
        child.happenings.filter(({ kind }) => kind === 'node_suspected'),
      )
      for (const { name, child } of all) {
        // What TCP sends again it may just have begun to wait for; then a probe, asked and answered.
        await until(async () => (await child.ask('nodes')).every(({ suspect }) => suspect === undefined), {
          what: `${name} suspects nobody`,
          deadlineMs: 4 * PROBE_MS + SLACK_MS,
        })
      }
      const trustedMs = (monotonicNow() - at).toFixed(0)
      process.stdout.write(
        `      falsely suspected: ${suspected.length} times, by none after ${trustedMs} ms\n`,
      )
      // Of twenty ordered pairs, each probed some twenty times.
      expect(suspected.length).toBeLessThan(40)
      await expectSame(all)
      expectNobodyDown(all)
    },
  )

  test('C23: a frozen host is avoided by all within 4 s, and by none soon after it goes on', async () => {
    const all = await cluster()
    const e = all[4]
    const others = all.slice(0, 4)
    const at = freeze(e)
    // One of them loses its connection at that moment, and asks the others and the host itself instead.
    expect(await killConnection(others[0]!, e)).toBeGreaterThan(0)
    for (const host of others) await host.hears('node_suspected', e, 4 * PROBE_MS + SLACK_MS)
    const times = others.map((host) => host.told(e, ['node_suspected'])[0]!.at - at)
    expect(Math.max(...times)).toBeLessThan(4 * PROBE_MS + SLACK_MS)
    thaw(e)
    for (const host of others) await host.hears('node_trusted', e, 4 * PROBE_MS + SLACK_MS)
    expectNobodyDown(all)
    for (const host of all) {
      for (const other of others) expect(host.told(other, ['node_suspected'])).toEqual([])
    }
  })
})
