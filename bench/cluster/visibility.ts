import { setTimeout } from 'node:timers/promises'
import { until } from '../../test/processes/fleet.ts'
import { expectEqual } from '../services.ts'
import { newFleet, PATIENCE_MS, startCluster } from './nodes.ts'
import { timesRow, type Row } from './report.ts'
import type { Seen } from './worker.ts'

const NODES = 5
const REGISTRATIONS = 250
/** Two nodes seldom flush at once, and one node's registrations are further apart than `flushIntervalMs`. */
const APART_MS = 40

/** How long after `register` the others are told, and find it. */
export async function visibility(flush: 'eager' | 'period'): Promise<Row[]> {
  const fleet = await newFleet()
  const workers = await startCluster(fleet, NODES, { flush }, 'records')
  // The mesh of gossipsub grafts on its heartbeat of a second.
  await setTimeout(3_000)
  const registered = await Promise.all(
    Array.from({ length: REGISTRATIONS }, async (_, index) => {
      await setTimeout(500 + index * APART_MS)
      const worker = workers[index % NODES]
      const at = await worker?.child.ask('register', `service-${index}`)
      return { name: `service-${index}`, owner: worker?.name, at: at ?? NaN }
    }),
  )
  const times: number[] = []
  const last = new Map<string, number>()
  for (const { child, name: observer } of workers) {
    const seen: Seen[] = []
    await until(
      async () => {
        seen.push(...(await child.ask('takeSeen')))
        return seen.length >= REGISTRATIONS
      },
      { what: `${observer} sees ${REGISTRATIONS} services`, deadlineMs: PATIENCE_MS },
    )
    expectEqual('services seen', seen.length, REGISTRATIONS)
    expectEqual('services found when told', seen.filter(({ found }) => found).length, REGISTRATIONS)
    const seenAt = new Map(seen.map(({ name, at }) => [name, at]))
    expectEqual('names seen', seenAt.size, REGISTRATIONS)
    for (const { name, owner, at } of registered) {
      if (owner === observer) continue
      const ms = (seenAt.get(name) ?? NaN) - at
      times.push(ms)
      last.set(name, Math.max(last.get(name) ?? 0, ms))
    }
  }
  expectEqual('times', times.filter((ms) => ms > 0).length, REGISTRATIONS * (NODES - 1))
  await fleet.end()
  return [
    timesRow(
      `register → visible elsewhere, ${flush}`,
      times,
      flush === 'eager' ? { p50: 5, p99: 25 } : { p99: 1_500 + 25 },
    ),
    timesRow(`… at the last of the others`, [...last.values()]),
  ]
}
