import type { ChildCommands } from '../processes/child.ts'
import type { Child } from '../processes/fleet.ts'
import type { Setup } from '../processes/node.ts'
import type { Happening } from '../processes/served.ts'

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

/** Short periods: what takes half a minute by default takes seconds. */
export const SHORT = {
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
