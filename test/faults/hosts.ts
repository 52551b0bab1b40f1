import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { JsonObject } from '../../src/index.ts'
import { bundle } from '../processes/bundle.ts'
import type { ChildCommands } from '../processes/child.ts'
import { lineOf } from '../processes/cluster.ts'
import { Fleet, until, type Child } from '../processes/fleet.ts'
import type { Setup } from '../processes/node.ts'
import { monotonicNow, type Happening } from '../processes/served.ts'
import { clockLibrary, favour, Lab, type Call, type Weather } from './lab.ts'

export const PERIOD_MS = 200
export const DOWN_MS = 2_000
const PURGE_MS = 6_000
export const PROBE_MS = 300
/** The longest dial, and the longest wait between two. */
export const DIAL_MS = 1_000
const BACKOFF_MS = 500
/** Time between two looks at the gossip streams. */
export const WATCH_MS = 500
/** Unanswered probes after which a connection is given up, as PROTOCOL.md says. */
export const HANG_UP_AFTER = 6
/** On a machine with other work a process may wait for its turn for this long. */
export const SLACK_MS = 1_500
/** A dial that cannot succeed may be under way, then comes the longest wait, then a dial that does. */
export const HEALED_MS = DIAL_MS + BACKOFF_MS + 2 * SLACK_MS

/** What is written passes through at most two gossip hops, and a sync where a beat was lost. */
export const RELAYED_MS = 5 * PERIOD_MS + SLACK_MS

const SHORT = {
  tracker: {
    broadcastPeriodMs: PERIOD_MS,
    downPeriodMs: DOWN_MS,
    permdownPeriodMs: PURGE_MS,
    probePeriodMs: PROBE_MS,
    probeTimeoutMs: PROBE_MS,
    syncTimeoutMs: 2_000,
    // So that what is away for a while comes back by snapshot as often as by delta. Regular syncs stay rare: nothing may
    // wait for them.
    maxLogWrites: 32,
  },
  mesh: { maxBackoffMs: BACKOFF_MS, dialTimeoutMs: DIAL_MS, memberGraceMs: 3_000, watchdogMs: WATCH_MS },
} as const satisfies Pick<Setup, 'mesh' | 'tracker'>

const PORT = 7400

/** How a process that is starved gets its turns. */
const TURN_MS = 200

/** A machine of the network. It runs at most one process with a registry, which offers a service of the host's name. */
export class Host {
  readonly number: number
  readonly name: string
  readonly ip: string
  readonly address: string
  /** Of the node that runs here, or ran last. */
  id = ''
  incarnation = 0
  /** Id of the instance of its own service. */
  instance = ''
  #child: Child<ChildCommands> | undefined

  constructor(number: number) {
    this.number = number
    this.name = 'abcdefghij'[number - 1] ?? `host${number}`
    this.ip = `10.77.0.${number}`
    this.address = `/ip4/${this.ip}/tcp/${PORT}`
  }

  get child(): Child<ChildCommands> {
    if (this.#child === undefined) throw new Error(`nothing runs on ${this.name}`)
    return this.#child
  }

  get runs(): boolean {
    return this.#child !== undefined && this.#child.end === undefined
  }

  put(child: Child<ChildCommands>): void {
    this.#child = child
  }

  /** What its readers were told of a host: services and nodes that came, changed or went. */
  told(of: Host | string, kinds: readonly string[] = CHANGES): Happening[] {
    const id = typeof of === 'string' ? of : of.id
    return this.child.happenings.filter(({ kind, node }) => node === id && kinds.includes(kind))
  }

  /** Waits for a happening of a host. */
  hears(kind: string, of: Host | string, deadlineMs?: number): Promise<Happening> {
    const id = typeof of === 'string' ? of : of.id
    const patience = deadlineMs === undefined ? {} : { deadlineMs }
    return this.child.seen(kind, ({ node }) => node === id, patience)
  }
}

const CHANGES = ['node_up', 'node_down', 'node_purged', 'service_up', 'service_changed', 'service_down']

export type Five = readonly [Host, Host, Host, Host, Host]

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

/** Changes what a host says of its own service. */
export const write = ({ child, instance }: Host, metadata: JsonObject): Promise<void> =>
  child.ask('update', instance, { metadata })

/** Waits until the observers show this, as the present metadata of a host's own service. */
export async function expectWritten(
  observers: readonly Host[],
  host: Host,
  metadata: JsonObject,
  deadlineMs = 20_000,
): Promise<void> {
  for (const { child, name } of observers) {
    let found: unknown
    await until(
      async () => {
        const answer = await child.ask('lookup', host.name)
        found = answer.ok ? answer.service.metadata : answer.error
        return isDeepStrictEqual(found, metadata)
      },
      {
        what: () => `${name} finds ${JSON.stringify(metadata)} of ${host.name}, not ${JSON.stringify(found)}`,
        deadlineMs,
      },
    )
  }
}

/** Waits until these nodes, and no others, are found by the observers as providers of a service. */
export async function expectOffered(
  observers: readonly Host[],
  service: string,
  by: readonly Host[],
): Promise<void> {
  const expected = by.map(({ id }) => id).sort()
  for (const { child, name } of observers) {
    await until(async () => isDeepStrictEqual((await child.ask('offers', service)).sort(), expected), {
      what: `${name} finds ${service} at ${by.map((host) => host.name).join(', ')}`,
    })
  }
}

/** None of these was told that any node or service is gone. */
export function expectNobodyDown(among: readonly Host[]): void {
  for (const { name, child } of among) {
    const gone = child.happenings.filter(({ kind }) => kind === 'node_down' || kind === 'service_down')
    expect(gone, `what ${name} was told`).toEqual([])
  }
}

/** Waits until each of these hosts has a connection with every other. */
export async function meshed(among: readonly Host[], deadlineMs?: number): Promise<void> {
  for (const host of among) {
    for (const other of among) if (other !== host) await linked(host, other, { deadlineMs })
  }
}

/** Waits until none of the ones has a connection with any of the others. */
export async function parted(
  ones: readonly Host[],
  others: readonly Host[],
  deadlineMs?: number,
): Promise<void> {
  for (const one of ones) for (const other of others) await linked(one, other, { wanted: false, deadlineMs })
}

/** Whether the first has the second for a neighbour. */
export const areLinked = async (host: Host, other: Host): Promise<boolean> =>
  ((await host.child.ask('neighbours')) ?? []).includes(other.id)

async function linked(
  host: Host,
  other: Host,
  { wanted = true, deadlineMs = 20_000 }: { wanted?: boolean; deadlineMs?: number | undefined } = {},
): Promise<void> {
  await until(async () => (await areLinked(host, other)) === wanted, {
    what: `${host.name} has ${wanted ? 'the' : 'no longer the'} neighbour ${other.name}`,
    deadlineMs,
  })
}

/** Waits until these hosts show exactly these nodes and what they offer, and all the same of it. */
export async function expectSame(
  observers: readonly Host[],
  shown: readonly Host[] = observers,
  deadlineMs = 20_000,
): Promise<void> {
  let why = ''
  await until(
    async () => {
      const views = await Promise.all(observers.map(({ child }) => child.ask('view')))
      const [view = [], ...others] = views.map((each) => each.sort())
      const up = view.filter((line) => line.startsWith('node ')).map((line) => line.split(' ')[1] ?? '')
      const missing = shown.filter(({ id }) => !up.includes(id)).map(({ name }) => name)
      const differs = others.findIndex((other) => JSON.stringify(other) !== JSON.stringify(view)) + 1
      why =
        differs > 0
          ? difference(observers[0]!.name, view, observers[differs]!.name, others[differs - 1] ?? [])
          : `all lack ${missing.join(', ')}, and show ${view.join('\n')}`
      return differs === 0 && missing.length === 0 && up.length === shown.length
    },
    { what: () => `${observers.map(({ name }) => name).join(', ')} are of one view: ${why}`, deadlineMs },
  )
}

function difference(one: string, view: readonly string[], other: string, view2: readonly string[]): string {
  const only = (name: string, own: readonly string[], not: readonly string[]): string =>
    `only ${name} has:\n${own.filter((line) => !not.includes(line)).join('\n')}`
  return `${only(one, view, view2)}\n${only(other, view2, view)}`
}
