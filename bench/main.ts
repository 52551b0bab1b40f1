import { spawn } from 'node:child_process'
import { cpus } from 'node:os'

/** `npm run bench` runs all of them, `npm run bench -- join memory` only those. Each checks its own results. */
const BENCHES = ['lookup', 'join', 'memory', 'cluster']

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !BENCHES.includes(name))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}. There are: ${BENCHES.join(', ')}.`)
  process.exit(2)
}

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
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', file.pathname], {
    stdio: 'inherit',
  })
  return new Promise((resolve) => child.on('exit', resolve))
}
