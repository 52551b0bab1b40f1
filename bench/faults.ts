import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Lab, whyNot } from '../test/faults/lab.ts'
import { monotonicNow } from '../test/processes/served.ts'
import { newFleet } from './cluster/nodes.ts'
import { Cast } from './faults/cast.ts'
import { crashes } from './faults/crashes.ts'
import { pullCable, silences, stop } from './faults/silences.ts'
import { printFaults, Samples } from './faults/table.ts'
import type { FaultCommands } from './faults/worker.ts'

/**
 * What becomes visible elsewhere of a fault, and when: in clusters of five processes, of which one has the fault, one goes
 * on offering the same, and three look. `quick` takes three rounds of each, to see whether all of it works.
 */
const isQuick = process.argv.includes('quick')
const LEAST_SAMPLES = isQuick ? 3 : 20
const CRASHES = isQuick ? 3 : 20
/**
 * Clusters that wait at the same time for what takes long, and how often each does. By default that is half a minute in which
 * nobody works; with short periods the next process that is started would disturb the other clusters.
 */
const SILENCES = {
  default: isQuick ? { clusters: 1, brief: 3, long: 1 } : { clusters: 4, brief: 5, long: 2 },
  local: isQuick ? { clusters: 1, brief: 3, long: 1 } : { clusters: 1, brief: 8, long: 8 },
}
/** Time between two looks, ms: close where ms count; where seconds do, clusters share the machine. */
const CLOSE_LOOK_MS = 1
const LOOK_MS = 5

// Whatever way this ends, no process and no network is left: they are ended on `exit`, which comes after neither signal.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

const folder = await mkdtemp(join(tmpdir(), 'rollcall-faults-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const fleet = await newFleet<FaultCommands>('../faults/worker')
const reason = whyNot()
if (reason !== undefined) console.log(`no cables are pulled here: ${reason}`)

const complaints: string[] = []
const complain = (what: string) => void complaints.push(what)
const startedAt = monotonicNow()
const samples = { default: new Samples(), local: new Samples() }
for (const profile of ['default', 'local'] as const) {
  console.log(`measuring: ${profile}, crashes`)
  const cast = new Cast({ fleet, profile, lookMs: CLOSE_LOOK_MS, complain })
  await crashes(cast, samples[profile], { folder, rounds: CRASHES })
  console.log(`measuring: ${profile}, silences`)
  await Promise.all(Array.from({ length: SILENCES[profile].clusters }, () => inSilence(profile)))
  samples[profile].expectEnough(LEAST_SAMPLES, (row) => reason !== undefined && row.startsWith('cut off'))
}
await fleet.end()
console.log(`${((monotonicNow() - startedAt) / 60_000).toFixed(1)} minutes\n`)
printFaults(samples)
if (complaints.length > 0) {
  console.error(`\n${complaints.join('\n\n')}\n\n${complaints.length} complaints`)
  process.exitCode = 1
}

/** One cluster, each node on a host of its own where that can be. */
async function inSilence(profile: keyof typeof samples): Promise<void> {
  if (reason !== undefined) {
    await silences(
      new Cast({ fleet, profile, lookMs: LOOK_MS, complain }),
      samples[profile],
      [stop],
      SILENCES[profile],
    )
    return
  }
  const lab = await Lab.open(5)
  const host = (number: number) => ({
    launch: { through: lab.on(number) },
    listen: `/ip4/10.77.0.${number}/tcp/0`,
  })
  const cast = new Cast({ fleet, profile, lookMs: LOOK_MS, complain, host })
  await silences(cast, samples[profile], [stop, pullCable(lab, cast.lastHost)], SILENCES[profile])
  await lab.close()
}
