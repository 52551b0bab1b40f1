import { until, type Fleet } from '../../test/processes/fleet.ts'
import { expectEqual } from '../services.ts'
import { allNeighbours, newFleet, startCluster, startWorker, type Worker } from './nodes.ts'
import { timesRow, type Row } from './report.ts'
import type { WorkerCommands } from './worker.ts'

const ROUNDS = 25

/** How long after kill -9, and after `close`, a provider is returned by the other four. */
export async function ends(): Promise<Row[]> {
  const fleet = await newFleet()
  const observers = await startCluster(fleet, 4, undefined, 'records')
  fleet.prepare(1)
  const killed: number[] = []
  const closed: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    killed.push(...(await endOf(fleet, observers, { reason: 'refused', end: ({ child }) => child.kill() })))
    closed.push(
      ...(await endOf(fleet, observers, { reason: 'left', end: ({ child }) => child.ask('close') })),
    )
  }
  await fleet.end()
  return [
    timesRow('kill -9 → not returned elsewhere', killed, { p99: 100 }),
    timesRow('close → not returned elsewhere', closed, { p99: 50 }),
  ]
}

/** One provider comes, and goes again. Returns the times of the observers, ms. */
async function endOf(
  fleet: Fleet<WorkerCommands>,
  observers: readonly Worker[],
  { reason, end }: { readonly reason: string; readonly end: (provider: Worker) => Promise<number> },
): Promise<number[]> {
  const join = [observers[0]?.address ?? '']
  const provider = await startWorker(fleet, 'provider', { join }, 'records')
  fleet.prepare(1)
  await provider.child.ask('register', 'provided')
  await allNeighbours([...observers, provider])
  for (const { child } of observers) {
    await until(() => child.ask('found', 'provided'), { what: 'the service is found' })
    await child.ask('takeSeen')
  }
  const at = await end(provider)
  const times: number[] = []
  for (const { child } of observers) {
    await until(async () => !(await child.ask('found', 'provided')), { what: 'the service is gone' })
    const seen = await child.ask('takeSeen')
    expectEqual('changes seen', seen.length, 1)
    expectEqual('why it is gone', seen[0]?.reason, reason)
    expectEqual('found when told', seen[0]?.found, false)
    times.push((seen[0]?.at ?? NaN) - at)
  }
  await provider.child.kill()
  return times
}
