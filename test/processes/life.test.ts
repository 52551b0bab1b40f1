import { beforeAll, describe, expect, test } from 'vitest'
import { allSee, cluster, LINES, print, useProcesses, type Member } from './cluster.ts'
import { monotonicNow } from './served.ts'

/** The promise is 100 ms; this machine may have other work. The bench measures. */
const GONE_MS = 1_000

/** Every observer was told once, for this reason, soon after `at`, and does not find it any more. */
async function expectGone(
  gone: Member,
  observers: readonly Member[],
  { at, reason }: { readonly at: number; readonly reason: string },
): Promise<void> {
  const times: number[] = []
  for (const { child } of observers) {
    const down = await child.seen('service_down', ({ name }) => name === gone.name)
    expect(down.reason).toBe(reason)
    times.push(down.at - at)
  }
  await allSee(observers, gone.name, [])
  await allSee(observers, 'shared', observers)
  for (const { child } of observers) {
    const downs = child.happenings.filter(({ kind, node }) => kind === 'node_down' && node === gone.id)
    expect(downs.map((down) => down.reason)).toEqual([reason])
  }
  print(`${gone.name} gone from ${observers.length} others (${reason}) after`, times)
  expect(Math.max(...times)).toBeLessThan(GONE_MS)
}

describe.each(LINES)('$called', ({ lines }) => {
  useProcesses('all')

  // They end one after the other, so the tests stand in this order.
  let members: Member[] = []
  beforeAll(async () => {
    members = await cluster(5, lines)
  }, 60_000)

  const next = (): { gone: Member; observers: Member[] } => {
    const gone = members.at(-1)!
    members = members.slice(0, -1)
    return { gone, observers: members }
  }

  test('C9: five nodes that join through one seed all see all, and nobody sees a passing down', async () => {
    const ids = members.map(({ id }) => id).sort()
    expect(new Set(ids).size).toBe(5)
    for (const { child } of members) {
      const nodes = await child.ask('nodes')
      expect(nodes.map(({ id }) => id).sort()).toEqual(ids)
      expect(nodes.every(({ status }) => status === 'up')).toBe(true)
      expect(child.find('node_down')).toBeUndefined()
      expect(child.happenings.filter(({ kind }) => kind === 'node_up')).toHaveLength(4)
    }
  })

  test('C50: SIGTERM with close: gone at once, and the process ends by itself', async () => {
    const { gone, observers } = next()
    await gone.child.ask('closeOnTerm')
    const at = gone.child.signal('SIGTERM')
    await expectGone(gone, observers, { at, reason: 'left' })
    expect(await gone.child.ended).toMatchObject({ code: 0, signal: null })
  })

  test('C24: kill -9', async () => {
    const { gone, observers } = next()
    const at = await gone.child.kill()
    await expectGone(gone, observers, { at, reason: 'refused' })
  })

  test('C50: an uncaught exception', async () => {
    const { gone, observers } = next()
    const at = monotonicNow()
    await gone.child.ask('crash')
    await expectGone(gone, observers, { at, reason: 'refused' })
    expect((await gone.child.ended).code).toBe(1)
  })

  test('C50: process.exit', async () => {
    const { gone, observers } = next()
    const at = monotonicNow()
    await gone.child.ask('exit')
    await expectGone(gone, observers, { at, reason: 'refused' })
  })
})
