import { Crew, since } from './crew.ts'
import { Soak } from './soak.ts'
import { monotonicNow } from '../processes/served.ts'

// Five processes that live through whatever chance brings, for minutes. `ROLLCALL_SOAK_MINUTES`, by default 10, and
// `ROLLCALL_SOAK_SEED` say for how long, and which operations; their times are the machine's, so a run is not repeated
// to the millisecond.

const minutes = numberOf('ROLLCALL_SOAK_MINUTES', 10)
const seed = numberOf('ROLLCALL_SOAK_SEED', Math.floor(Math.random() * 1e9))
const print = (...lines: readonly string[]): void => {
  for (const line of lines) process.stdout.write(`${line}\n`)
}

function numberOf(name: string, otherwise: number): number {
  const value = process.env[name]
  if (value === undefined || value === '') return otherwise
  const number = Number(value)
  if (Number.isFinite(number) && number >= 0) return number
  throw new Error(`${name} is ${value}: must be a number`)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

print(`soak of ${minutes} min, seed ${seed}`)
const startedAt = monotonicNow()
const crew = await Crew.assemble()
const soak = new Soak(crew, seed)
const progress = setInterval(() => {
  print(`minute ${Math.round(since(startedAt) / 60_000)}: ${soak.progress}`)
}, 60_000)
try {
  await soak.run(minutes * 60_000)
  print(`passed after ${Math.round(since(startedAt) / 1_000)} s, seed ${seed}`, ...soak.report())
} catch (error) {
  print(
    `FAILED after ${Math.round(since(startedAt) / 1_000)} s, seed ${seed}`,
    error instanceof Error ? error.message : String(error),
    'processes:',
    ...crew.members.map(
      ({ name, life }) => `  ${name}: ${life === undefined ? 'dead' : `${life.child.pid}, ${life.id}`}`,
    ),
    'last operations:',
    ...soak.last.map((line) => `  ${line}`),
    soak.progress,
  )
  if (error instanceof Error && process.env['ROLLCALL_SOAK_STACK'] !== undefined) print(error.stack ?? '')
  process.exitCode = 1
} finally {
  clearInterval(progress)
  await crew.end()
}
