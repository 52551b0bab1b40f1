import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { METRICS_DEFAULTS } from '../../src/metrics/index.ts'
import { METRICS } from '../../src/metrics/table.ts'

const section = (await readFile('README.md', 'utf8')).split('## Metrics')[1]?.split(/^## /m)[0] ?? ''

/** Rows of the tables, as cells without their back-ticks. */
const rowsOf = (first: string): string[][] =>
  section
    .split('\n')
    .filter((line) => line.startsWith(`| \`${first}`))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.replaceAll('`', '').trim()),
    )

test('the README lists every metric, and no other, as it is', () => {
  expect(rowsOf('rollcall_')).toEqual(
    Object.entries(METRICS).map(([name, { type, labels, help }]) => [
      `rollcall_${name}`,
      type,
      labels.join(', '),
      help.replaceAll('`', ''),
    ]),
  )
})

test('the README states the defaults', () => {
  expect(rowsOf('register')).toHaveLength(1)
  for (const [option, value] of Object.entries(METRICS_DEFAULTS)) {
    const stated = typeof value === 'string' ? `'${value}'` : String(value)
    expect(rowsOf(option).map(([, cell]) => cell)).toEqual([stated])
  }
})
