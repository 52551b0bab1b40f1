import { expect, test } from 'vitest'
import { pass, print } from '../processes/cluster.ts'
import { until } from '../processes/fleet.ts'
import { DIAL_MS, HEALED_MS, type Host } from './host.ts'
import { useHosts } from './hosts.ts'
import { expectSame } from './seen.ts'
import { describeFaults, EACH_LINE } from './suite.ts'

const DEAD = 20
/** Longest wait between two dials here. */
const BACKOFF_MS = 2_000
const WATCHED_MS = 6_000

describeFaults('seeds', EACH_LINE, (lines) => {
  const { hosts, start, calls } = useHosts(lines, { size: 4 })
  const [a, b, c, d] = hosts as [Host, Host, Host, Host]

  test('C26: of twenty dead seeds each is tried at its own, slow pace, at next to no cost', async () => {
    // Half of them are hosts that nobody has, half are ports where nobody listens.
    const nowhere = Array.from({ length: DEAD / 2 }, (_, index) => `10.77.0.${101 + index}:7400`)
    const closed = Array.from({ length: DEAD / 2 }, (_, index) => `${d.ip}:${101 + index}`)
    await start(a, { join: [...nowhere, ...closed], mesh: { maxBackoffMs: BACKOFF_MS } })
    for (const where of [...nowhere, ...closed]) await a.child.seen('problem', ({ node }) => node === where)
    await pass(2 * BACKOFF_MS)
    await calls()
    const cpu = await a.child.ask('cpuMs')
    await pass(WATCHED_MS)
    const spent = (await a.child.ask('cpuMs')) - cpu
    print(`CPU of ${DEAD} dead seeds in ${WATCHED_MS} ms`, [spent])
    expect(spent).toBeLessThan(WATCHED_MS / 10)

    const made = await calls()
    const dials = (where: string): number[] =>
      made.filter(({ to, port }) => `${to}:${port}` === where).map(({ at }) => at)
    const last: number[] = []
    for (const where of closed) {
      const times = dials(where)
      // Between half of the longest wait and all of it apart.
      expect(times.length, where).toBeGreaterThanOrEqual(WATCHED_MS / BACKOFF_MS - 1)
      expect(times.length, where).toBeLessThanOrEqual((2 * WATCHED_MS) / BACKOFF_MS + 1)
      last.push(times.at(-1) ?? 0)
    }
    // Begun together, they do not go together.
    expect(Math.max(...last) - Math.min(...last)).toBeGreaterThan(BACKOFF_MS / 10)
    for (const where of nowhere) {
      expect(dials(where.replace(/\d+$/, '0')).length, where).toBeGreaterThanOrEqual(
        WATCHED_MS / (BACKOFF_MS + DIAL_MS) - 1,
      )
    }
    const said = a.child.happenings.filter(({ kind }) => kind === 'problem')
    expect(said.map(({ node }) => node).sort()).toEqual([...nowhere, ...closed].sort())
    await start(b, { join: [a.address] })
    await expectSame([a, b])
  })

  test('C42: seeds of another cluster, or with another secret: refused, said once, and the node lives on', async () => {
    const secret = 'the secret of this cluster'
    await start(a, { secret, mesh: { cluster: 'another' }, join: [] })
    await start(b, { secret: 'quite another secret', join: [] })
    await start(c, { join: [] })
    await calls()
    const strangers = [a, b, c]
    await start(d, { secret, join: strangers.map(({ address }) => address) })
    const tries = new Map<string, number>()
    await until(
      async () => {
        const tried = (await calls()).filter(({ from, port }) => from === d.number && port > 0)
        for (const { to } of tried) tries.set(to, (tries.get(to) ?? 0) + 1)
        return [b, c].every(({ ip }) => (tries.get(ip) ?? 0) >= 8)
      },
      { what: () => `eight tries of each: ${JSON.stringify([...tries])}` },
    )
    for (const { address, name } of strangers) {
      await d.child.seen('problem', ({ node, code }) => node === address && code === 'ROLLCALL_PEER_REFUSED')
      const said = d.child.happenings.filter(({ kind, node }) => kind === 'problem' && node === address)
      // One that lacks the secret may refuse in words or let the dial run out of time, by turns. Each is said once.
      const codes = said.map(({ code }) => code)
      expect(codes, name).toEqual([...new Set(codes)])
    }
    await expectSame([d])
    for (const stranger of strangers) {
      await expectSame([stranger])
      expect(await stranger.child.ask('offers', d.name)).toEqual([])
    }
    // What lacked the secret has it now.
    await c.child.kill()
    await start(c, { secret, join: [] })
    await expectSame([c, d], [c, d], HEALED_MS)
  })
})
