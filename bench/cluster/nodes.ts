import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from '../../test/processes/bundle.ts'
import { Fleet, until, type Child } from '../../test/processes/fleet.ts'
import type { Setup } from '../../test/processes/node.ts'
import type { Commands } from '../../test/processes/served.ts'
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

const folders: string[] = []
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Processes of a script beside this one, which is made one file first: they are measured as users run them, without a TypeScript loader. */
export async function newFleet<C extends Commands = WorkerCommands>(script = 'worker'): Promise<Fleet<C>> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  folders.push(folder)
  return new Fleet<C>(await bundle(new URL(`./${script}.ts`, import.meta.url), folder), ['--expose-gc'])
}

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
