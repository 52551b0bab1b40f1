import type { Beat, Frame, NodeId, Write } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { Membership } from '../../src/core/membership.ts'
import { Replica } from '../../src/core/replica.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { Directory } from '../../src/tracker/directory.ts'
import { Doubts } from '../../src/tracker/doubts.ts'
import { Exchange } from '../../src/tracker/exchange.ts'
import { resolveTrackerOptions, type TrackerOptions } from '../../src/tracker/options.ts'
import { Roster } from '../../src/tracker/roster.ts'
import type { TrackerEvents } from '../../src/tracker/types.ts'
import type { HeadInfo } from '../../src/wire/sync-message.ts'
import { StubTransport } from './stub-transport.ts'

/** The periods of Phoenix.Tracker's own tests. */
export const PERIODS = {
  broadcastPeriodMs: 100,
  maxSilentPeriods: 2,
  downPeriodMs: 400,
  permdownPeriodMs: 1_500,
} as const

/** What one node does with what it hears, and what it reports, without network. */
export class Observer {
  readonly clock = new VirtualClock()
  readonly transport: StubTransport
  readonly replica = new Replica<Json>()
  readonly directory: Directory
  readonly roster: Roster
  readonly exchange: Exchange
  readonly events: [event: keyof TrackerEvents, ...payload: unknown[]][] = []
  /** Owners of which it has found that it lacks something, and who told. */
  readonly behind: [owner: NodeId, via: NodeId][] = []
  readonly met: number[] = []
  readonly lived: number[] = []

  constructor(id: NodeId, options: Partial<TrackerOptions> = {}) {
    this.transport = new StubTransport(id)
    this.replica.receive(id, { incarnation: 1, from: 0, to: 0, writes: [] })
    this.replica.show(id)
    const { clock, transport } = this
    const resolved = resolveTrackerOptions({ ...PERIODS, clock, transport, ...options })
    const membership = new Membership(resolved)
    const doubts = new Doubts(resolved)
    this.directory = new Directory(id, clock, this.replica, membership, doubts)
    this.roster = new Roster(resolved, this.replica, membership, this.directory, doubts, {
      report: (event, ...payload) => this.events.push([event, ...payload]),
      behind: (owner, via) => this.behind.push([owner, via]),
      dead: () => undefined,
    })
    this.exchange = new Exchange(resolved, this.replica, membership, this.roster, {
      pulse: () => ({ beat: 1, promiseMs: 200 }),
      met: (incarnation) => this.met.push(incarnation),
      lived: (silentMs) => this.lived.push(silentMs),
    })
  }

  /** Keys that readers see under the topic of these tests. */
  list(): string[] {
    return this.replica
      .list('lobby')
      .map(({ key }) => key)
      .sort()
  }

  /** What was reported since the last call, in short: `+key`, `-key`, `~key` of a diff, and the other events with whom they are about. */
  reported(): string[] {
    return this.events.splice(0).flatMap(([event, subject, detail]) => {
      if (event === 'isolated' || event === 'isolation_ended') return [event]
      if (event !== 'diff') {
        const about = typeof subject === 'string' ? subject : (subject as { readonly id: NodeId }).id
        return [`${event} ${about}${typeof detail === 'string' ? ` ${detail}` : ''}`]
      }
      const { joins, leaves, updates } = subject as TrackerEvents['diff'][0]
      return [
        ...joins.map(({ key }) => `+${key}`),
        ...leaves.map(({ key }) => `-${key}`),
        ...updates.map(({ entry }) => `~${entry.key}`),
      ]
    })
  }
}

/** An owner of which only what it says exists. */
export class Speaker {
  readonly id: NodeId
  readonly incarnation: number
  readonly #writes: Write<Json>[] = []
  #beat = 0

  constructor(id: NodeId, incarnation = 10) {
    this.id = id
    this.incarnation = incarnation
  }

  get version(): number {
    return this.#writes.length
  }

  join(key: string, meta: Json = null): number {
    const version = this.version + 1
    this.#writes.push({ kind: 'put', version, ref: version, topic: 'lobby', key, meta })
    return version
  }

  leave(ref: number): void {
    this.#writes.push({ kind: 'remove', version: this.version + 1, ref })
  }

  frame(from: number, to = this.version): Frame<Json> {
    const { incarnation } = this
    const gone = new Set(this.#writes.slice(0, to).map((write) => (write.kind === 'remove' ? write.ref : -1)))
    const writes = this.#writes
      .slice(from, to)
      .filter((write) => (write.kind === 'put' ? !gone.has(write.ref) : from > 0))
    return { incarnation, from, to, writes }
  }

  /** The next beat: what followed on `from`, by default nothing. */
  beat(from = this.version): Beat<Json> {
    this.#beat++
    return { ...this.frame(from), beat: this.#beat, promiseMs: 200, left: false }
  }

  goodbye(): Beat<Json> {
    return { ...this.beat(), left: true }
  }

  /** What somebody who heard its last beat `silentMs` ago tells in a sync. */
  head(silentMs: number, beat = this.#beat): HeadInfo {
    const { id: owner, incarnation, version } = this
    return { owner, incarnation, version, beat, promiseMs: 200, silentMs }
  }
}
