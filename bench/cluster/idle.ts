import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { until, type Fleet, type Child } from '../../test/processes/fleet.ts'
import { expectEqual } from '../services.ts'
import type { BareCommands } from './bare.ts'
import { newFleet, startCluster } from './nodes.ts'
import type { Row } from './report.ts'

const NODES = 5
/** After 1, 2, 4 and 8 periods of 1.5 s the beats of a node are at their idle pace. */
const SETTLE_MS = 30_000
const MEASURED_MS = 60_000
/** Of the clock that /proc counts CPU time in. The same on every Linux that Node runs on. */
const TICKS_PER_S = 100

interface Usage {
  readonly cpuMs: number
  readonly rssBytes: number
  readonly readBytes: number
  readonly writtenBytes: number
}

type Idler = Pick<Child<{ collect: () => void }>, 'ask' | 'pid'>

/** What an idle node costs, beside a bare libp2p node with an idle topic, at the same time on the same machine. */
export async function idle(): Promise<Row[]> {
  const fleet = await newFleet()
  const bareFleet = await newFleet<BareCommands>('bare')
  const [workers, bare] = await Promise.all([
    startCluster(fleet, NODES, undefined, 'idle'),
    startBare(bareFleet),
  ])
  await setTimeout(SETTLE_MS)
  const chunksOf = async (): Promise<number> => {
    const counts = await Promise.all(workers.map(({ child }) => child.ask('chunks')))
    return counts.reduce((sum, each) => sum + each, 0)
  }
  const chunksBefore = await chunksOf()
  const [ours, theirs] = await Promise.all([measure(workers.map(({ child }) => child)), measure(bare)])
  const chunks = (await chunksOf()) - chunksBefore
  await Promise.all([fleet.end(), bareFleet.end()])

  expectEqual('chunks in syncs while idle', chunks, 0)
  const rows = FIGURES.map(({ what, of, unit, digits }) => {
    const [our, their] = [of(ours), of(theirs)]
    return {
      what: `idle node of ${NODES}: ${what}`,
      figure: `${our.toFixed(digits)} ${unit}, bare ${their.toFixed(digits)} (${(our / their).toFixed(2)} ×)`,
      budget: '≤ 1.1 ×',
      kept: our <= 1.1 * their,
    }
  })
  return [...rows, { what: '… chunks in syncs', figure: `${chunks}`, budget: '0', kept: chunks === 0 }]
}

const FIGURES: readonly {
  readonly what: string
  readonly of: (usage: Usage) => number
  readonly unit: string
  readonly digits: number
}[] = [
  { what: 'CPU', of: ({ cpuMs }) => (100 * cpuMs) / MEASURED_MS, unit: '%', digits: 2 },
  { what: 'memory (RSS)', of: ({ rssBytes }) => rssBytes / 1e6, unit: 'MB', digits: 1 },
  { what: 'bytes read', of: ({ readBytes }) => (1_000 * readBytes) / MEASURED_MS, unit: 'B/s', digits: 0 },
  {
    what: 'bytes written',
    of: ({ writtenBytes }) => (1_000 * writtenBytes) / MEASURED_MS,
    unit: 'B/s',
    digits: 0,
  },
]

/** Bare nodes, each connected with each, as ours are. */
async function startBare(fleet: Fleet<BareCommands>): Promise<Child<BareCommands>[]> {
  const children = Array.from({ length: NODES }, () => fleet.spawn())
  const addresses: string[] = []
  for (const child of children) {
    const { address } = await child.ask('open')
    for (const other of addresses) await child.ask('dial', other)
    addresses.push(address)
  }
  for (const child of children) {
    await until(async () => (await child.ask('connections')) === NODES - 1, {
      what: 'the bare nodes are connected',
    })
  }
  return children
}

/** The use of a node while nobody asks it for anything, the mean of all. */
async function measure(children: readonly Idler[]): Promise<Usage> {
  const before = await Promise.all(children.map(({ pid }) => usageOf(pid)))
  await setTimeout(MEASURED_MS)
  const after = await Promise.all(children.map(({ pid }) => usageOf(pid)))
  for (const child of children) await child.ask('collect')
  const rss = await Promise.all(children.map(({ pid }) => rssOf(pid)))
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, each) => sum + each, 0) / values.length
  const grown = (of: (usage: Omit<Usage, 'rssBytes'>) => number): number =>
    mean(after.map((each, index) => of(each) - of(before[index] ?? each)))
  return {
    cpuMs: grown(({ cpuMs }) => cpuMs),
    readBytes: grown(({ readBytes }) => readBytes),
    writtenBytes: grown(({ writtenBytes }) => writtenBytes),
    rssBytes: mean(rss),
  }
}

/** Read from outside, so that the asking costs the node nothing. */
async function usageOf(pid: number): Promise<Omit<Usage, 'rssBytes'>> {
  const [stat, io] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/io`, 'utf8'),
  ])
  // After the name in brackets: state is the first field, utime the 12th, stime the 13th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  const counter = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1])
  return {
    cpuMs: (1_000 * ticks) / TICKS_PER_S,
    readBytes: counter('rchar'),
    writtenBytes: counter('wchar'),
  }
}

async function rssOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return 1_024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
}
