import { cpus } from 'node:os'
import { quantile } from '../cluster/report.ts'

/** Every figure of the table, in its order: what happens, and what a caller on another node sees of it. */
const ROWS = {
  killed: [
    'a process is killed (`kill -9`, out of memory, uncaught exception)',
    'its services are not returned any more: its connection broke, and its port refuses a new one',
  ],
  'killed, told': ['… and who listens is told', '`service_down`, reason `refused`'],
  closed: ['a process closes its registry, here on SIGTERM', 'its services are gone, reason `left`'],
  restarted: [
    'a process restarts with the same `identityFile`',
    'all of its old life is gone, the new one is returned (from when it listens)',
  ],
  renewed: ['a process restarts with a new identity', 'the same, as another node'],
  'stopped, avoided': [
    'a process hangs, or is stopped (SIGSTOP)',
    'lookups return others while there are any: it answers no probe, nor does it answer others',
  ],
  'stopped, trusted': ['… and goes on (SIGCONT)', 'it is returned again'],
  'stopped, down': ['… or hangs on', 'its services are gone, reason `silent`, after `downPeriodMs`'],
  'stopped, back': ['… and goes on after that', 'they are back at once'],
  'cut off, avoided': ['its host is unreachable (cable pulled)', 'lookups return others while there are any'],
  'cut off, trusted': ['… and is reachable again', 'it is returned again'],
  'cut off, down': ['… or stays unreachable', 'its services are gone, reason `silent`'],
  'cut off, back': [
    '… and is reachable again after that',
    'they are back with the next dial, after at most `maxBackoffMs`',
  ],
} as const satisfies Readonly<Record<string, readonly [event: string, seen: string]>>

type RowName = keyof typeof ROWS

const NAMES = Object.keys(ROWS) as RowName[]

/** Times of one profile. */
export class Samples {
  readonly #times = new Map<RowName, number[]>()

  /** Times of observers, counted from one moment; monotonic ms. */
  add(row: RowName, from: number, times: readonly number[]): void {
    const found = times.map((at) => at - from)
    const wrong = found.filter((ms) => !(ms >= 0))
    if (wrong.length > 0) throw new Error(`${row}: seen ${wrong.join(', ')} ms after it happened`)
    this.#times.set(row, [...(this.#times.get(row) ?? []), ...found])
  }

  of(row: RowName): readonly number[] {
    return this.#times.get(row) ?? []
  }

  /** Throws unless there are as many times as there should be, of every row but those that cannot be. */
  expectEnough(least: number, isLeftOut: (row: RowName) => boolean): void {
    for (const row of NAMES) {
      const { length } = this.of(row)
      if (!isLeftOut(row) && length < least) throw new Error(`${row}: ${length} times, not ${least}`)
    }
  }
}

/** The table as README has it. */
export function printFaults(samples: Readonly<Record<'default' | 'local', Samples>>): void {
  const counts = Object.values(samples).flatMap((each) => NAMES.map((row) => each.of(row).length))
  const least = Math.min(...counts.filter((count) => count > 0))
  const rows = NAMES.map((row) => [...ROWS[row], cell(samples.default.of(row)), cell(samples.local.of(row))])
  const heads = ['what happens', 'what a caller on another node sees', 'by default', "`profile: 'local'`"]
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((each) => each[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[], fill = ' '): string =>
    `| ${cells.map((each, column) => each.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`
  const rule = line(
    heads.map(() => ''),
    '-',
  )
  console.log([line(heads), rule, ...rows.map((each) => line(each))].join('\n'))
  console.log(
    `\nMedian and, in brackets, the worst of at least ${least} times, taken by three observers in a cluster of five processes` +
      `\non one machine (${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, Node ${process.versions.node}; \`npm run bench -- faults\`).`,
  )
}

const cell = (times: readonly number[]): string =>
  times.length === 0 ? 'not measured' : `${inWords(quantile(times, 0.5))} (${inWords(Math.max(...times))})`

const inWords = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1_000 ? `${ms.toFixed(0)} ms` : `${(ms / 1_000).toFixed(1)} s`
