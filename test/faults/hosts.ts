import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { bundle } from '../processes/bundle.ts'
import type { ChildCommands } from '../processes/child.ts'
import { lineOf } from '../processes/cluster.ts'
import { Fleet, type Child } from '../processes/fleet.ts'
import type { Setup } from '../processes/node.ts'
import { monotonicNow } from '../processes/served.ts'
import { Host, SHORT, type Five } from './host.ts'
import { clockLibrary, favour, Lab, type Call, type Weather } from './lab.ts'
import { expectSame, meshed } from './seen.ts'

/** How a process that is starved gets its turns. */
const TURN_MS = 200

/** What runs on the hosts, made once for all that use it. */
let script: Promise<URL> | undefined
let scriptFolder = ''
let users = 0

interface HostsOptions {
  readonly size?: number
  /** Whether wall clocks can be set. */
  readonly clocks?: boolean
  /** Other periods than those above. */
  readonly periods?: Pick<Setup, 'tracker' | 'mesh'>
}

/**
 * Gives a network of hosts to the tests of a `describe`, which run one after the other. A cluster that a test left as it
 * was serves the next one; every fault ends with the test, and all of it with the last.
 *
 * @param lines - of libp2p, by turns
 */
export function useHosts(
  lines: readonly (2 | 3)[],
  { size = 5, clocks = false, periods = {} }: HostsOptions = {},
) {
  const hosts = Array.from({ length: size }, (_, index) => new Host(index + 1))
  /** Of wall clocks that were set. */
  const offsets = new Map<Host, number>()
  const starved = new Map<Host, { over: boolean }>()
  let folder = ''
  let lab: Lab
  let fleet: Fleet<ChildCommands>
  let reusable = false
  let settledMs = 0
  users++

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rollcall-hosts-'))
    script ??= mkdtemp(join(tmpdir(), 'rollcall-child-')).then((to) => {
      scriptFolder = to
      return bundle(new URL('../processes/child.ts', import.meta.url), to)
    })
    fleet = new Fleet(await script)
    lab = await Lab.open(size)
  }, 60_000)

  afterAll(async () => {
    await fleet.end()
    await lab.close()
    users--
    const unused = users === 0 ? [folder, scriptFolder] : [folder]
    for (const each of unused) await rm(each, { recursive: true, force: true })
  })

  afterEach(async ({ task }) => {
    for (const each of starved.values()) each.over = true
    starved.clear()
    for (const host of hosts) if (host.runs) host.child.signal('SIGCONT')
    await Promise.all([lab.heal(), lab.calm(), ...[...offsets.keys()].map((host) => jumpClock(host, 0))])
    reusable = task.result?.state === 'pass' && hosts.every(({ runs }) => runs)
  })

  const numbers = (of: readonly Host[]): number[] => of.map(({ number }) => number)
  const place = (name: string): string => join(folder, name)

  async function end(host: Host): Promise<void> {
    if (host.runs) await host.child.kill()
  }

  /** Has a process load its code on a host, so that a `start` with it takes little time. */
  async function prepare(host: Host): Promise<Child<ChildCommands>> {
    const env: Record<string, string> = {}
    if (clocks) {
      await jumpClock(host, offsets.get(host) ?? 0)
      Object.assign(env, {
        LD_PRELOAD: clockLibrary() ?? '',
        FAKETIME_TIMESTAMP_FILE: place(`clock-${host.name}`),
        FAKETIME_NO_CACHE: '1',
        DONT_FAKE_MONOTONIC: '1',
      })
    }
    const child = fleet.spawn({ through: lab.on(host.number), env })
    favour(child.pid)
    // It answers once its code is loaded.
    await child.ask('wallNow')
    return child
  }

  /** Opens a registry on a host, in place of what runs there, as the node it was before. It joins the first two hosts. */
  async function start(
    host: Host,
    setup: Partial<Setup> = {},
    prepared?: Child<ChildCommands>,
  ): Promise<void> {
    const child = prepared ?? (await prepare(host))
    await end(host)
    host.put(child)
    const seeds = hosts.slice(0, 2).filter((seed) => seed !== host)
    const { id, incarnation } = await child.ask('open', {
      line: lineOf(lines, host.number - 1),
      name: host.name,
      listen: host.address,
      join: seeds.map(({ address }) => address),
      identityFile: place(`key-${host.name}`),
      atHand: true,
      ...setup,
      tracker: { ...SHORT.tracker, ...periods.tracker, ...setup.tracker },
      mesh: { ...SHORT.mesh, ...periods.mesh, ...setup.mesh },
    })
    host.id = id
    host.incarnation = incarnation
    host.instance = await child.ask('register', { name: host.name, version: '1.0.0' })
  }

  /** The cluster of all hosts: connected, in agreement, and without a past that anyone has heard of. */
  async function cluster(setup?: Partial<Setup>): Promise<Five> {
    if (!(reusable && setup === undefined && (await settles()))) {
      await Promise.all(hosts.map(end))
      const prepared = await Promise.all(hosts.map(prepare))
      // The first is there to be joined; otherwise all would wait for their second attempt.
      await start(hosts[0]!, setup, prepared[0])
      await Promise.all(hosts.slice(1).map((host, index) => start(host, setup, prepared[index + 1])))
      const at = monotonicNow()
      await settle()
      settledMs = monotonicNow() - at
    }
    // Set up for one test, it is of no use to the next.
    reusable = setup === undefined
    for (const { child } of hosts) child.happenings.length = 0
    return hosts as unknown as Five
  }

  const settles = (): Promise<boolean> =>
    settle(10_000).then(
      () => true,
      () => false,
    )

  async function settle(deadlineMs?: number): Promise<void> {
    await meshed(hosts, deadlineMs)
    await expectSame(hosts, hosts, deadlineMs)
  }

  /** Writes the wall clock of a host: this much from the true one. */
  async function jumpClock(host: Host, byMs: number): Promise<void> {
    offsets.set(host, byMs)
    const file = place(`clock-${host.name}`)
    // A clock is read at any time, so it must be whole at any time.
    await writeFile(`${file}.next`, `${byMs < 0 ? '' : '+'}${byMs / 1_000}s\n`)
    await rename(`${file}.next`, file)
  }

  return {
    hosts,
    cluster,
    start,
    prepare,
    jumpClock,
    /** A path that is there for as long as the hosts are. */
    place,

    /** Nothing gets from the ones to the others, nor back. */
    partition: async (ones: readonly Host[], others: readonly Host[]): Promise<void> => {
      await Promise.all([lab.cut(numbers(ones), numbers(others)), lab.cut(numbers(others), numbers(ones))])
    },
    /** Nothing gets from the ones to the others; the way back is open. */
    oneWay: (ones: readonly Host[], others: readonly Host[]) => lab.cut(numbers(ones), numbers(others)),
    heal: () => lab.heal(),

    /** Everywhere, or on the way from the ones to the others. */
    worsen: (weather: Weather, ones: readonly Host[] = hosts, others: readonly Host[] = hosts) =>
      lab.worsen(weather, numbers(ones), numbers(others)),
    calm: () => lab.calm(),

    /** Attempts of hosts to reach an address, since this was last asked. */
    calls: (): Promise<readonly Call[]> => lab.calls(),

    /** Resets the connections between two hosts. Returns how many there were. */
    killConnection: (one: Host, other: Host) => lab.breakConnections(one.number, other.ip),

    /** Its process stands still; its kernel does not. Returns when, monotonic ms. */
    freeze: (host: Host): number => host.child.signal('SIGSTOP'),
    thaw: (host: Host): number => host.child.signal('SIGCONT'),

    /** From now on its process gets this share of the time of a processor, in turns. */
    starve: (host: Host, share: number): void => {
      const state = { over: false }
      starved.set(host, state)
      const { child } = host
      void (async () => {
        while (!state.over && child.end === undefined) {
          child.signal('SIGSTOP')
          await setTimeout((1 - share) * TURN_MS)
          child.signal('SIGCONT')
          await setTimeout(share * TURN_MS)
        }
        child.signal('SIGCONT')
      })()
    },

    /** It has what it needs again. */
    relieve: (host: Host): void => {
      const state = starved.get(host)
      if (state !== undefined) state.over = true
    },

    /** How long the last cluster took to be of one view when all of it had started: what this takes here and now. */
    settledMs: (): number => settledMs,

    /** As kill -9. Returns when. */
    kill: (host: Host): Promise<number> => host.child.kill(),

    /** How many frames came to the switch, and how many of them it lost. */
    counts: () => lab.counts(),
  }
}
