/** One line of the result. */
export interface Row {
  readonly what: string
  readonly figure: string
  /** The budget, and whether the figure keeps it. None: for orientation. */
  readonly budget?: string
  readonly kept?: boolean
}

/** The value below which a share of the sorted values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? NaN
}

/** p50, p99 and max of times, ms. */
const spread = (times: readonly number[]): string =>
  [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(1)).join(' / ') + ' ms'

/** A row for times with budgets, ms, for their quantiles. */
export function timesRow(
  what: string,
  times: readonly number[],
  budgets: { readonly p50?: number; readonly p99?: number } = {},
): Row {
  const asked = [
    { share: 0.5, ms: budgets.p50, name: 'p50' },
    { share: 0.99, ms: budgets.p99, name: 'p99' },
  ].flatMap(({ ms, ...rest }) => (ms === undefined ? [] : [{ ms, ...rest }]))
  const figure = `${spread(times)} (${times.length})`
  if (asked.length === 0) return { what, figure }
  return {
    what,
    figure,
    budget: asked.map(({ name, ms }) => `${name} ≤ ${ms} ms`).join(', '),
    kept: asked.every(({ share, ms }) => quantile(times, share) <= ms),
  }
}

/** Prints figures and budgets side by side. */
export function printTable(rows: readonly Row[]): void {
  const cells = rows.map(({ what, figure, budget = '', kept }) => [
    what,
    figure,
    budget,
    kept === undefined ? '' : kept ? 'kept' : 'MISSED',
  ])
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  for (const row of cells) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}
