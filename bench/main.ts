import { spawn } from 'node:child_process'
import { cpus } from 'node:os'

/**
 * `npm run bench` runs all of them, `npm run bench -- join memory` only those. Each checks its own results. The word `quick`
 * is passed on: `faults` then takes three minutes, not twelve.
 */
const BENCHES = ['lookup', 'join', 'memory', 'http', 'cluster', 'faults']

const words = process.argv.slice(2)
const chosen = words.filter((word) => word !== 'quick')
const passedOn = words.filter((word) => word === 'quick')
const unknown = chosen.filter((name) => !BENCHES.includes(name))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}. There are: ${BENCHES.join(', ')}.`)
  process.exit(2)
}

/** What ends a bench before its time. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`)
for (const name of chosen.length > 0 ? chosen : BENCHES) {
  console.log(`\n== ${name}`)
  const code = await run(new URL(`${name}.ts`, import.meta.url))
  if (code !== 0) {
    console.error(`${name} failed`)
    process.exitCode = 1
  }
}

function run(file: URL): Promise<number | null> {
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', file.pathname, ...passedOn], {
    stdio: 'inherit',
  })
  // A bench may have to clear up before it ends; nothing is run after it then.
  const end = (signal: NodeJS.Signals): void => {
    child.kill(signal)
    child.once('exit', () => process.exit(1))
  }
  for (const signal of SIGNALS) process.on(signal, end)
  return new Promise((resolve) =>
    child.once('exit', (code) => {
      for (const signal of SIGNALS) process.off(signal, end)
      resolve(code)
    }),
  )
}
