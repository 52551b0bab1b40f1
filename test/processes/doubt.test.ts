import { describe, expect, test } from 'vitest'
import {
  allSee,
  cluster,
  LINES,
  lineOf,
  open,
  prepare,
  print,
  SLACK_MS,
  startProcess,
  useProcesses,
} from './cluster.ts'
import type { Member } from './cluster.ts'
import { until } from './fleet.ts'
import { monotonicNow } from './served.ts'

/** What the default periods promise: a hung process is noticed within 4 s. */
const NOTICED_MS = 4_000
const DEFAULTS = {
  tracker: { broadcastPeriodMs: 1_500, downPeriodMs: 30_000, syncPeriodMs: 30_000 },
} as const

/** Waits until lookups at every observer return exactly these providers. */
async function allReturn(
  observers: readonly Member[],
  service: string,
  providers: readonly Member[],
  deadlineMs?: number,
): Promise<void> {
  const expected = providers.map(({ id }) => id).sort()
  for (const { child, name } of observers) {
    await until(async () => (await child.ask('returned', service)).join() === expected.join(), {
      what: `${name} is returned ${service} at ${expected.join()}`,
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    })
  }
}

describe.each(LINES)('$called', ({ lines }) => {
  useProcesses()

  test('C23: a provider that is stopped is no longer preferred within 4 s, and is again when it goes on', async () => {
    const members = await cluster(4, lines, DEFAULTS)
    const hung = members[3]!
    const observers = members.slice(0, 3)
    const at = hung.child.signal('SIGSTOP')
    await allReturn(observers, 'shared', observers, NOTICED_MS + SLACK_MS)
    print('no longer preferred by three after', [monotonicNow() - at])
    // It is still there for who asks for nothing else.
    await allSee(observers, hung.name, [hung])
    await allReturn(observers, hung.name, [hung])
    hung.child.signal('SIGCONT')
    await allReturn(observers, 'shared', members)
    for (const { child } of members) {
      expect(child.find('node_down')).toBeUndefined()
      const others = child.happenings.filter(
        ({ kind, node }) => kind === 'node_suspected' && node !== hung.id,
      )
      expect(others).toEqual([])
    }
  }, 60_000)

  test('C24: where nodes keep connections with a few, a kill -9 is known to all within a second', async () => {
    const size = 10
    prepare(size)
    const sparse = { mesh: { fullMeshNodes: 2, largeDegree: 3 }, ...DEFAULTS }
    const setup = (index: number) => ({
      line: lineOf(lines, index),
      name: `n${index}`,
      atHand: true,
      ...sparse,
    })
    const seed = await open(startProcess(), setup(0))
    const members = [seed]
    // One after the other, or all would be connected with all that they meet first.
    for (let index = 1; index < size; index++) {
      members.push(await open(startProcess(), { ...setup(index), join: [seed.address] }))
    }
    for (const { child } of members) await child.ask('register', { name: 'shared', version: '1.0.0' })
    await allSee(members, 'shared', members)
    const victim = members.at(-1)!
    const observers = members.slice(0, -1)
    const neighbours = await Promise.all(observers.map(({ child }) => child.ask('neighbours')))
    const strangers = neighbours.filter((each) => !each?.includes(victim.id)).length
    expect(strangers).toBeGreaterThan(0)
    const at = await victim.child.kill()
    const times: number[] = []
    for (const { child } of observers) {
      const down = await child.seen('node_down', ({ node }) => node === victim.id)
      expect(down.reason).toBe('refused')
      times.push(down.at - at)
    }
    print(`a death known to ${observers.length}, ${strangers} of them not connected with it, after`, times)
    expect(Math.max(...times)).toBeLessThan(1_000 + SLACK_MS)
  }, 120_000)
})
