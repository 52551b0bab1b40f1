import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { bundle } from '../processes/bundle.ts'
import { Fleet, type Child } from '../processes/fleet.ts'
import { monotonicNow } from '../processes/served.ts'
import { Deeds } from './deeds.ts'
import { Member, type Life, type Place } from './member.ts'
import type { SoakCommands } from './worker.ts'

/** The default periods, shortened in about their proportions: a purge comes within seconds. */
export const PERIODS = {
  broadcastPeriodMs: 250,
  downPeriodMs: 3_000,
  permdownPeriodMs: 8_000,
  syncPeriodMs: 3_000,
  probePeriodMs: 500,
  probeTimeoutMs: 500,
  maxLogWrites: 512,
} as const

const MESH = { maxBackoffMs: 500, memberGraceMs: 3_000 } as const

const PLACES: readonly Place[] = [
  { name: 'resident-1', line: 2, resident: true, flush: 'period' },
  { name: 'resident-2', line: 3, resident: true, flush: 'period' },
  { name: 'guest-1', line: 2, resident: false, flush: 'eager' },
  { name: 'guest-2', line: 3, resident: false, flush: 'period' },
  { name: 'guest-3', line: 2, resident: false, flush: 'eager' },
]

/** A process that closes ends by itself within this time; libp2p's last timers take a second. */
const END_MS = 15_000

/** Five places for processes, two of them with one that lives to the end. What is done to them is written down. */
export class Crew {
  readonly members: readonly Member[] = PLACES.map((place) => new Member(place))
  readonly deeds = new Deeds()
  readonly #folder: string
  /** Of its own: a port that one of ours leaves may be taken by a node of another run. */
  readonly #cluster: string
  readonly #fleet: Fleet<SoakCommands>

  private constructor(folder: string, script: URL) {
    this.#folder = folder
    this.#cluster = basename(folder)
    this.#fleet = new Fleet<SoakCommands>(script, ['--expose-gc'])
  }

  static async assemble(): Promise<Crew> {
    const folder = await mkdtemp(join(tmpdir(), 'rollcall-soak-'))
    const script = await bundle(new URL('./worker.ts', import.meta.url), folder)
    const crew = new Crew(folder, script)
    crew.#fleet.prepare(PLACES.length)
    for (const member of crew.members) await crew.start(member, { sameIdentity: false, samePort: false })
    return crew
  }

  get residents(): Member[] {
    return this.members.filter(({ place }) => place.resident)
  }

  get guests(): Member[] {
    return this.members.filter(({ place }) => !place.resident)
  }

  /** Those that can be asked. */
  get running(): { readonly member: Member; readonly life: Life }[] {
    return this.members.flatMap((member) =>
      member.running === undefined ? [] : [{ member, life: member.running }],
    )
  }

  async start(
    member: Member,
    { sameIdentity, samePort }: { readonly sameIdentity: boolean; readonly samePort: boolean },
  ): Promise<void> {
    if (!sameIdentity) member.generation++
    const { lastAddress } = member
    const { child, id, address } =
      samePort && lastAddress !== undefined
        ? // Another process of the machine may have taken the port.
          await this.#open(member, lastAddress).catch(() => this.#open(member))
        : await this.#open(member)
    member.life = { child, id, address, offers: new Map() }
    member.lastAddress = address
    this.deeds.end(id)
    // Loads while other things are done, as a supervisor's next process would.
    if (!member.place.resident || this.members.every(({ life }) => life !== undefined)) this.#fleet.prepare(1)
  }

  /** kill -9, in whatever it is doing. */
  async kill(member: Member): Promise<void> {
    const { child, id } = this.#lose(member)
    this.deeds.begin(id)
    await child.kill()
  }

  /** Closes it in order. It must then end by itself. */
  async close(member: Member): Promise<void> {
    const { child, id } = this.#lose(member)
    this.deeds.begin(id)
    await child.ask('close')
    const end = await Promise.race([child.ended, setTimeout(END_MS, undefined, { ref: false })])
    if (end?.code === 0) return
    const how = end === undefined ? `did not end within ${END_MS} ms` : `ended with ${JSON.stringify(end)}`
    throw new Error([`${member.name} was closed and ${how}; printed:`, ...child.lines].join('\n'))
  }

  /** SIGSTOP now, SIGCONT after a time. Returns at once. */
  stop(member: Member, ms: number): void {
    const { life } = member
    if (life === undefined) return
    this.deeds.begin(life.id)
    life.child.signal('SIGSTOP')
    member.stopped = setTimeout(ms).then(() => {
      life.child.signal('SIGCONT')
      member.stopped = undefined
      this.deeds.end(life.id)
    })
  }

  /** Breaks the connections of a member, all or those with another. */
  async drop(member: Member, other?: Member): Promise<void> {
    const { running } = member
    if (running === undefined) return
    const peer = other?.life?.id
    this.deeds.touch(running.id)
    await running.child.ask('drop', peer === undefined ? 'all' : [peer])
  }

  /** Splits them until `heal`. Both sides must be running. */
  async cut(side: readonly Member[], others: readonly Member[]): Promise<void> {
    const idsOf = (members: readonly Member[]) => members.flatMap(({ life }) => life?.id ?? [])
    for (const id of [...idsOf(side), ...idsOf(others)]) this.deeds.begin(id)
    const cutOff = (from: readonly Member[], peers: readonly string[]) =>
      from.map(({ life }) => life?.child.ask('cut', peers))
    await Promise.all([...cutOff(side, idsOf(others)), ...cutOff(others, idsOf(side))])
  }

  async heal(): Promise<void> {
    await Promise.all(this.running.map(({ life }) => life.child.ask('heal')))
    for (const { life } of this.running) this.deeds.end(life.id)
  }

  /** Those that ended though nobody ended them. */
  get lost(): { readonly member: Member; readonly child: Child<SoakCommands> }[] {
    return this.members.flatMap((member) =>
      member.life?.child.end === undefined ? [] : [{ member, child: member.life.child }],
    )
  }

  async end(): Promise<void> {
    await this.#fleet.end()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #open(member: Member, listen?: string): Promise<Pick<Life, 'child' | 'id' | 'address'>> {
    const { name, line, flush } = member.place
    const child = this.#fleet.spawn()
    const opened = await child.ask('open', {
      line,
      name,
      join: this.residents.flatMap(({ life }) => life?.address ?? []),
      identityFile: join(this.#folder, `${name}-${member.generation}`),
      mesh: { ...MESH, cluster: this.#cluster },
      tracker: { ...PERIODS, flush },
      ...(listen === undefined ? {} : { listen }),
    })
    return { child, ...opened }
  }

  #lose(member: Member): Life {
    const { life } = member
    if (life === undefined) throw new Error(`${member.name} is dead`)
    member.life = undefined
    return life
  }
}

/** For how long, monotonic ms. */
export const since = (at: number): number => monotonicNow() - at
