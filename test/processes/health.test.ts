import { expect, test } from 'vitest'
import { allSee, cluster, LINES, pass, SLACK_MS, useProcesses } from './cluster.ts'
import { until } from './fleet.ts'
import { monotonicNow } from './served.ts'

useProcesses()

const [{ lines }] = LINES
const SERVICE = { name: 'probed', version: '1.0.0' } as const
const WELL_AFTER_MS = 1_500

test('C54: a new instance is starting, and not returned, until its probe has passed often enough', async () => {
  const [owner, observer] = await cluster(2, lines)
  const at = monotonicNow()
  await owner!.child.ask('registerProbed', SERVICE, WELL_AFTER_MS)
  await observer!.child.seen('service_up', ({ name }) => name === SERVICE.name)
  expect(await observer!.child.ask('lookup', SERVICE.name)).toMatchObject({ ok: false, error: 'noinstance' })
  await until(async () => (await observer!.child.ask('lookup', SERVICE.name)).ok, { what: 'it is returned' })
  expect(monotonicNow() - at).toBeGreaterThan(WELL_AFTER_MS)
  const changes = observer!.child.happenings.filter(({ kind }) => kind === 'service_changed')
  expect(changes.map(({ reason }) => reason)).toEqual(['ready'])
})

test('C23: a provider that stands still is avoided, and its own stall does not make it unready', async () => {
  const [owner, other, observer] = await cluster(3, lines, {
    tracker: { downPeriodMs: 30_000, probePeriodMs: 300, probeTimeoutMs: 300 },
  })
  for (const each of [owner!, other!]) await each.child.ask('registerProbed', SERVICE, 0)
  await allSee([observer!], SERVICE.name, [owner!, other!])
  owner!.child.signal('SIGSTOP')
  const isAvoided = async () => (await observer!.child.ask('returned', SERVICE.name)).join() === other!.id
  await until(isAvoided, { what: 'only the other is returned', deadlineMs: 3 * 600 + 2 * SLACK_MS })
  owner!.child.signal('SIGCONT')
  await until(async () => (await observer!.child.ask('returned', SERVICE.name)).length === 2, {
    what: 'both are returned',
  })
  await pass(1_000)
  const changes = observer!.child.happenings.filter(({ kind }) => kind === 'service_changed')
  expect(changes.filter(({ reason }) => reason !== 'ready')).toEqual([])
})

test('C52: a burst of registrations and a close at once: nothing is announced after the leave', async () => {
  const [owner, observer] = await cluster(2, lines)
  await owner!.child.ask('burst', 500)
  const left = await observer!.child.seen('node_down', ({ node }) => node === owner!.id)
  expect(left.reason).toBe('left')
  await pass(1_000)
  const { happenings } = observer!.child
  const after = happenings.slice(happenings.indexOf(left) + 1).filter(({ node }) => node === owner!.id)
  expect(after.map(({ kind }) => kind).filter((kind) => kind !== 'node_purged')).toEqual([])
  const times = (kind: string) =>
    happenings.filter(({ kind: each, node }) => each === kind && node === owner!.id)
  expect(times('service_down')).toHaveLength(times('service_up').length)
  expect(await observer!.child.ask('offers', 'burst-0')).toEqual([])
})
