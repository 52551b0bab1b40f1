import type { SeededRandom } from '../../src/testing/index.ts'
import type { Checks } from './check.ts'
import { PERIODS, type Crew } from './crew.ts'
import type { Operations } from './operations.ts'
import type { Reading, Write } from './plain.ts'

const CHANGES_PER_S = 5_000
const READ_MS = 3_000
const INSTANCES = 500
/** Beside the writer, the readers and the kernel share the CPUs, so a lookup is now and then cut in two. */
const MOST_TIMES_SLOWER = 10
/** What is as fast as this has not slowed down, whatever the ratio. */
const FAST_US = 20

export interface LoadFigures {
  readonly quiet: Reading
  readonly busy: Reading
  readonly writes: number
}

/** C7: a resident looks up while another process changes 5,000 things a second; before, while nobody does. */
export async function load(
  crew: Crew,
  checks: Checks,
  operations: Operations,
  random: SeededRandom,
): Promise<LoadFigures> {
  const [reader] = crew.residents
  // One that sends eagerly, so that changes do not merge into fewer.
  const writer = crew.guests.find(({ place, running }) => place.flush === 'eager' && running !== undefined)
  if (reader?.life === undefined || writer?.life === undefined) throw new Error('all must be running')
  operations.note('C7 round', writer.name)
  const monitor = -1
  const writes = Array.from({ length: INSTANCES }, (_, index) => ({
    ...writer.registration(random, monitor),
    name: `busy-${index}`,
  }))
  await writer.apply(writes)
  await checks.quiet()

  const names = writes.map(({ name }) => name)
  const quiet = await reader.life.child.ask('read', names, READ_MS)
  const [busy, written] = await Promise.all([
    reader.life.child.ask('read', names, READ_MS),
    writer.life.child.ask(
      'churn',
      writes.map(({ key }) => key),
      CHANGES_PER_S,
      READ_MS,
    ),
  ])
  // From here on the writer's metadata is the driver's again.
  const last: Write[] = writes.map(({ key }) => ({ kind: 'update', key, metadata: writer.metadata(random) }))
  await writer.apply(last)
  await checks.quiet()
  await writer.apply([{ kind: 'close monitor', monitor }])

  const figures = { quiet, busy, writes: written }
  const wrong = faultsOf(figures)
  if (wrong.length > 0) throw new Error(['C7:', ...wrong, ...loadLines(figures)].join('\n  '))
  return figures
}

function faultsOf({ quiet, busy }: LoadFigures): string[] {
  const wrong: string[] = []
  for (const figure of ['medianUs', 'p99Us'] as const) {
    if (busy[figure] > Math.max(FAST_US, MOST_TIMES_SLOWER * quiet[figure])) {
      wrong.push(`${figure} of lookups rose from ${quiet[figure].toFixed(2)} to ${busy[figure].toFixed(2)}`)
    }
  }
  if (busy.longestOwnBeatMs > 2 * PERIODS.broadcastPeriodMs) {
    wrong.push(`a beat was more than a period late: ${beatsOf(busy)}`)
  }
  return wrong
}

const beatsOf = ({ longestBeatMs, longestOwnBeatMs }: Reading): string =>
  `longest time between two beats ${longestBeatMs.toFixed(0)} ms, ${longestOwnBeatMs.toFixed(0)} ms without its waits for a CPU`

const lookupsOf = (reading: Reading): string =>
  `${reading.lookups} lookups, median ${reading.medianUs.toFixed(2)} µs, 99th percentile ${reading.p99Us.toFixed(2)} µs; ` +
  beatsOf(reading)

export const loadLines = ({ quiet, busy, writes }: LoadFigures): string[] => [
  `in peace: ${lookupsOf(quiet)}`,
  `under ${(writes / (READ_MS / 1_000)).toFixed(0)} changes a second elsewhere, of which it was told ` +
    `${busy.changes}: ${lookupsOf(busy)}`,
]
