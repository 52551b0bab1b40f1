import { Fleet, until, type Child } from '../../test/processes/fleet.ts'
import type { Setup } from '../../test/processes/node.ts'
import type { WorkerCommands } from './worker.ts'

export interface Worker {
  readonly name: string
  readonly id: string
  readonly address: string
  readonly child: Child<WorkerCommands>
}

/** Fills and starts take longer than anything else that is waited for. */
export const PATIENCE_MS = 60_000

export type Listens = Parameters<WorkerCommands['open']>[1]

export const newFleet = (): Fleet<WorkerCommands> =>
  new Fleet(new URL('./worker.ts', import.meta.url), ['--expose-gc'])

export async function startWorker(
  fleet: Fleet<WorkerCommands>,
  name: string,
  setup: Partial<Setup>,
  listens: Listens,
): Promise<Worker> {
  const child = fleet.spawn()
  return { name, child, ...(await child.ask('open', { line: 2, name, ...setup }, listens)) }
}

/** Nodes that join the first of them. Resolves once each is a neighbour of each. */
export async function startCluster(
  fleet: Fleet<WorkerCommands>,
  size: number,
  tracker: Setup['tracker'],
  listens: Listens,
): Promise<Worker[]> {
  const setup = tracker === undefined ? {} : { tracker }
  fleet.prepare(size)
  const seed = await startWorker(fleet, 'n0', setup, listens)
  const workers = [seed]
  for (let index = 1; index < size; index++) {
    workers.push(await startWorker(fleet, `n${index}`, { ...setup, join: [seed.address] }, listens))
  }
  await allNeighbours(workers)
  return workers
}

/** Waits until each node is a neighbour of each. */
export async function allNeighbours(workers: readonly Worker[]): Promise<void> {
  for (const { child, name } of workers) {
    await until(async () => (await child.ask('neighbours')) === workers.length - 1, {
      what: `${name} has ${workers.length - 1} neighbours`,
      deadlineMs: PATIENCE_MS,
    })
  }
}
