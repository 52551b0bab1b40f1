import { ends } from './cluster/ends.ts'
import { idle } from './cluster/idle.ts'
import { newcomers } from './cluster/newcomers.ts'
import { printTable, type Row } from './cluster/report.ts'
import { rolling } from './cluster/rolling.ts'
import { visibility } from './cluster/visibility.ts'

/**
 * Whole clusters of processes on loopback, with default options. Figures are p50 / p99 / max. A budget that is missed
 * fails nothing, for the machine has its part in it; a wrong count does.
 */
const PARTS: Readonly<Record<string, () => Promise<Row[]>>> = {
  eager: () => visibility('eager'),
  period: () => visibility('period'),
  ends,
  rolling,
  newcomers: () => newcomers({ nodes: 4, entriesPerNode: 2_500, newcomers: 5, budgetMs: 1_000 }),
  'large newcomers': () =>
    newcomers({ nodes: 3, entriesPerNode: 33_334, newcomers: 5, budgetMs: 2_000, blockBudgetMs: 50 }),
  'large newcomers, within the default limits': () =>
    newcomers({ nodes: 10, entriesPerNode: 10_000, newcomers: 3, budgetMs: 2_000, blockBudgetMs: 50 }),
  idle,
}

/** All, or those that are named, when the file is run by itself. */
const chosen = process.argv.slice(2)
const rows: Row[] = []
for (const [name, part] of Object.entries(PARTS)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  console.log(`measuring: ${name}`)
  rows.push(...(await part()))
}
printTable(rows)
