import type { ChildCommands } from '../processes/child.ts'
import { Fleet, until, type Child } from '../processes/fleet.ts'

/**
 * Whether real processes find each other, and miss each other, under the Node that runs this: three nodes of each
 * line of libp2p and a pair of both. Seconds, no test framework; exit code 0 or 1.
 */
const CLUSTERS = [
  { called: 'libp2p 2', lines: [2, 2, 2] },
  { called: 'libp2p 3', lines: [3, 3, 3] },
  { called: 'both lines', lines: [2, 3] },
] as const

interface Member {
  readonly name: string
  readonly id: string
  readonly child: Child<ChildCommands>
}

const fleet = new Fleet<ChildCommands>(new URL('../processes/child.ts', import.meta.url))

const print = (line: string): boolean => process.stdout.write(`${line}\n`)

async function start(lines: readonly (2 | 3)[]): Promise<Member[]> {
  const members: Member[] = []
  let join: string[] = []
  fleet.prepare(lines.length)
  for (const [index, line] of lines.entries()) {
    const name = `n${index}`
    const child = fleet.spawn()
    const { id, addresses } = await child.ask('open', { line, name, join })
    await child.ask('register', { name: 'shared', version: '2.1.0' })
    members.push({ name, id, child })
    if (index === 0) join = [...addresses]
  }
  return members
}

/** Waits until every member finds `shared` at exactly the members. */
async function agree(members: readonly Member[], what: string): Promise<void> {
  const expected = members.map(({ id }) => id).sort()
  for (const { child, name } of members) {
    await until(async () => String((await child.ask('offers', 'shared')).sort()) === String(expected), {
      what: `${name} agrees after ${what}`,
      deadlineMs: 10_000,
    })
    const { ok } = await child.ask('lookup', 'shared', '~> 2.0')
    if (!ok) throw new Error(`${name} finds no shared ~> 2.0 after ${what}`)
  }
}

async function run({ called, lines }: (typeof CLUSTERS)[number]): Promise<void> {
  const members = await start(lines)
  await agree(members, 'the start')
  for (const how of ['close', 'kill -9'].slice(0, lines.length - 1)) {
    const gone = members.pop()
    if (gone === undefined) return
    if (how === 'close') await gone.child.ask('close')
    else await gone.child.kill()
    await agree(members, how)
    if (how !== 'close') continue
    const { code } = await gone.child.ended
    if (code !== 0) throw new Error(`${gone.name} ended with ${String(code)} after its close`)
  }
  print(`${called}: ${lines.length} nodes found and missed each other`)
}

print(`Node ${process.version}`)
try {
  await Promise.all(CLUSTERS.map(run))
} catch (error) {
  print(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  await fleet.end()
}
