import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { bundle } from './bundle.ts'
import type { ChildCommands } from './child.ts'
import { Fleet, until, type Child } from './fleet.ts'
import type { Setup } from './node.ts'
import type { Happening } from './served.ts'

/** Short periods: what takes half a minute by default takes a second. */
export const PERIOD_MS = 200
export const DOWN_MS = 1_500

const TRACKER = {
  broadcastPeriodMs: PERIOD_MS,
  downPeriodMs: DOWN_MS,
  permdownPeriodMs: 120_000,
  syncPeriodMs: 1_000,
} as const satisfies Setup['tracker']

/** On a machine with other work a process may wait for its turn for this long. */
export const SLACK_MS = 500

/** A process with an open registry. */
export interface Member {
  readonly name: string
  readonly id: string
  readonly address: string
  readonly incarnation: number
  readonly child: Child<ChildCommands>
}

/** Which line the first, second, third … node is of. */
export const LINES = [
  { called: 'libp2p 2', lines: [2] },
  { called: 'libp2p 3', lines: [3] },
  { called: 'both libp2p lines', lines: [3, 2] },
] as const satisfies readonly { readonly called: string; readonly lines: readonly (2 | 3)[] }[]

export const lineOf = (lines: readonly (2 | 3)[], index: number): 2 | 3 => lines[index % lines.length] ?? 2

let fleet: Fleet<ChildCommands> | undefined
let folder: string | undefined

function fleetOfTest(): Fleet<ChildCommands> {
  if (fleet === undefined) throw new Error('no test is running')
  return fleet
}

/**
 * Gives processes and a folder to each test of a file, or to all tests of a `describe` together, and takes them away
 * afterwards.
 */
export function useProcesses(scope: 'each' | 'all' = 'each'): void {
  const [before, after] = scope === 'each' ? [beforeEach, afterEach] : [beforeAll, afterAll]
  let code = ''
  let script = new URL('./child.ts', import.meta.url)
  beforeAll(async () => {
    code = await mkdtemp(join(tmpdir(), 'rollcall-child-'))
    script = await bundle(script, code)
  }, 60_000)
  afterAll(() => rm(code, { recursive: true, force: true }))
  before(async () => {
    fleet = new Fleet(script)
    folder = await mkdtemp(join(tmpdir(), 'rollcall-'))
  })
  after(async () => {
    await fleet?.end()
    await rm(folder ?? '', { recursive: true, force: true })
  })
}

/** A path in the folder of the test. */
export const place = (name: string): string => join(folder ?? '', name)

/** A process without a registry yet. */
export const startProcess = (): Child<ChildCommands> => fleetOfTest().spawn()

/** Has processes load their code ahead of the `start` that will use them. */
export const prepare = (count: number): void => fleetOfTest().prepare(count)

/** The same with the periods of these tests. */
export const withPeriods = (setup: Setup): Setup => ({
  ...setup,
  mesh: { maxBackoffMs: 500, ...setup.mesh },
  tracker: { ...TRACKER, ...setup.tracker },
})

/** A registry in a process of its own. */
export async function start(setup: Setup): Promise<Member> {
  return open(startProcess(), setup)
}

/** Opens a registry in a process that is there. */
export async function open(child: Child<ChildCommands>, setup: Setup): Promise<Member> {
  const { id, addresses, incarnation } = await child.ask('open', withPeriods(setup))
  return { name: setup.name, id, address: addresses[0] ?? '', incarnation, child }
}

/** Nodes that join the first of them, at the same time; each offers `shared`, and a service of its own name. */
export async function cluster(
  size: number,
  lines: readonly (2 | 3)[],
  setup: Partial<Setup> = {},
): Promise<Member[]> {
  const named = (index: number): Setup => ({
    line: lineOf(lines, index),
    name: `n${index}`,
    atHand: true,
    ...setup,
  })
  prepare(size)
  const seed = await start(named(0))
  const others = Array.from({ length: size - 1 }, (_, index) =>
    start({ ...named(index + 1), join: [seed.address] }),
  )
  const members = [seed, ...(await Promise.all(others))]
  // Who is killed before all are connected with it is missed by the others later.
  for (const { child, name } of members) {
    await until(async () => (await child.ask('neighbours'))?.length === size - 1, {
      what: `${name} has ${size - 1} neighbours`,
    })
  }
  for (const { child, name } of members) {
    await child.ask('register', { name: 'shared', version: '1.0.0' })
    await child.ask('register', { name, version: '1.0.0' })
  }
  await allSee(members, 'shared', members)
  for (const each of members) await allSee(members, each.name, [each])
  return members
}

/** Waits until every observer finds exactly these providers of a service. */
export async function allSee(
  observers: readonly Member[],
  service: string,
  providers: readonly Member[],
  deadlineMs?: number,
): Promise<void> {
  const expected = providers.map(({ id }) => id).sort()
  for (const { child, name } of observers) {
    let found: string[] = []
    await until(
      async () => {
        found = (await child.ask('offers', service)).sort()
        return JSON.stringify(found) === JSON.stringify(expected)
      },
      {
        what: () =>
          `${name} finds ${service} at ${expected.join(', ')}, but found ${found.join(', ')}; heard:\n` +
          child.happenings
            .slice(-40)
            .map((each) => JSON.stringify(each))
            .join('\n'),
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
      },
    )
  }
}

/** Offers a service on a member. Returns the id of the instance. */
export const offer = ({ child }: Member, name: string): Promise<string> =>
  child.ask('register', { name, version: '1.0.0' })

/** What an observer was told of a service of some node since an index, in its order. */
export const told = (observer: Member, service: string, since = 0): Happening[] =>
  observer.child.happenings
    .slice(since)
    .filter(({ kind, name }) => (kind === 'service_up' || kind === 'service_down') && name === service)

/** Lets time pass in which something must not happen. */
export const pass = (ms: number): Promise<void> => setTimeout(ms)

/** Times in words, for the reader of the run. */
export function print(what: string, timesMs: readonly number[]): void {
  const sorted = [...timesMs].sort((a, b) => a - b)
  const shown = sorted.map((ms) => ms.toFixed(0)).join(', ')
  process.stdout.write(`      ${what}: ${shown} ms\n`)
}
