import { until } from '../../test/processes/fleet.ts'
import { expectEqual } from '../services.ts'
import { newFleet, PATIENCE_MS, startCluster, type Worker } from './nodes.ts'
import { quantile, type Row } from './report.ts'

interface Scale {
  readonly nodes: number
  readonly entriesPerNode: number
  readonly newcomers: number
  readonly budgetMs: number
  /** Longest block of anybody's event loop, ms. Not asked for: for orientation only. */
  readonly blockBudgetMs?: number
}

/** How long a newcomer takes from its first connection to the full replica, and what that does to event loops. */
export async function newcomers(scale: Scale): Promise<Row[]> {
  const { nodes, entriesPerNode, budgetMs, blockBudgetMs } = scale
  const entries = nodes * entriesPerNode
  const tracker = { maxEntriesPerNode: Math.max(10_000, entriesPerNode) }
  const fleet = await newFleet()
  const workers = await startCluster(fleet, nodes, tracker, 'counts')
  await Promise.all(workers.map(({ child, name }) => child.ask('registerMany', name, entriesPerNode)))
  for (const worker of workers) await full(worker, entries - entriesPerNode)
  for (const { child } of workers) await child.ask('watchLoop')

  const times: number[] = []
  const blocks = { newcomer: [] as Block[], others: [] as Block[] }
  for (let round = 0; round < scale.newcomers; round++) {
    // Loaded before anything is measured, and no other is loaded meanwhile: that would take a CPU of its own.
    const child = fleet.spawn()
    await child.ask('watchLoop')
    for (const worker of workers) {
      await worker.child.ask('collect')
      await worker.child.ask('takeBlocks')
    }
    const join = [workers[0]?.address ?? '']
    const opening = child.ask('open', { line: 2, name: 'newcomer', join, tracker }, 'counts')
    const newcomer = { name: 'newcomer', child, ...(await opening) }
    times.push(await full(newcomer, entries))
    blocks.newcomer.push(await child.ask('takeBlocks'))
    for (const worker of workers) blocks.others.push(await worker.child.ask('takeBlocks'))
    expectEqual('services of the newcomer', await child.ask('services'), entries)
    await child.ask('close')
    await child.kill()
  }
  await fleet.end()
  const called = `newcomer to ${nodes} nodes with ${entries.toLocaleString('en')} entries`
  return [
    {
      what: `${called}, connected → full (median / max)`,
      figure: `${quantile(times, 0.5).toFixed(0)} / ${Math.max(...times).toFixed(0)} ms (${times.length})`,
      budget: `≤ ${budgetMs} ms`,
      kept: quantile(times, 0.5) <= budgetMs,
    },
    blockRow('the newcomer', blocks.newcomer, blockBudgetMs),
    blockRow('the others', blocks.others, blockBudgetMs),
  ]
}

/** The longest block of an event loop, and the most CPU that its thread used at a stretch, ms. */
interface Block {
  readonly wallMs: number
  readonly cpuMs: number
}

/** With more processes than CPUs a block is longer than the work that makes it, so both are told. */
function blockRow(who: string, blocks: readonly Block[], budgetMs: number | undefined): Row {
  const spread = (values: readonly number[]): string =>
    `${quantile(values, 0.5).toFixed(0)} / ${Math.max(...values).toFixed(0)} ms`
  const walls = blocks.map(({ wallMs }) => wallMs)
  const row = {
    what: `… longest block of the event loop of ${who}`,
    figure: `${spread(walls)}, most CPU at a stretch ${spread(blocks.map(({ cpuMs }) => cpuMs))}`,
  }
  if (budgetMs === undefined) return row
  return { ...row, budget: `≤ ${budgetMs} ms`, kept: Math.max(...walls) <= budgetMs }
}

/** Waits until a node holds so many services of others. Returns how long that took from its first connection, ms. */
async function full({ child, name }: Worker, count: number): Promise<number> {
  let filledAt: number | undefined
  let connectedAt: number | undefined
  await until(
    async () => {
      ;({ filledAt, connectedAt } = await child.ask('filled', count))
      return filledAt !== undefined
    },
    { what: `${name} holds ${count} services of others`, deadlineMs: PATIENCE_MS },
  )
  return (filledAt ?? NaN) - (connectedAt ?? NaN)
}
