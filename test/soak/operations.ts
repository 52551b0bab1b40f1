import { setTimeout } from 'node:timers/promises'
import type { SeededRandom } from '../../src/testing/index.ts'
import { monotonicNow } from '../processes/served.ts'
import { PERIODS, type Crew } from './crew.ts'
import type { Member } from './member.ts'
import type { Write } from './plain.ts'

type Operation = (member: Member, random: SeededRandom) => Promise<boolean>

/** Operations that a failure shows. */
const REMEMBERED = 40
const { downPeriodMs, permdownPeriodMs } = PERIODS

/** What befalls a cluster in its life, by chance. */
export class Operations {
  /** How often each was done. */
  readonly counts: Record<string, number> = {}
  readonly #crew: Crew
  readonly #random: SeededRandom
  readonly #last: string[] = []
  #steps = 0
  #monitors = 0

  constructor(crew: Crew, random: SeededRandom) {
    this.#crew = crew
    this.#random = random
  }

  /** The last ones, in lines. */
  get last(): readonly string[] {
    return this.#last
  }

  /** Does one, at a node, both chosen by chance; nothing where the node is in no state for it. */
  async step(): Promise<void> {
    // A draw more or less in one step shifts nothing in the next.
    const random = this.#random.fork(`step ${this.#steps++}`)
    const name = draw(random)
    const member = random.pick(this.#crew.members)
    const before = monotonicNow()
    if (await this.#operations[name](member, random)) this.note(name, member.name, before)
    await setTimeout(random.next() ** 2 * 400)
  }

  /** Does each once, where it can be done. */
  async each(): Promise<void> {
    for (const name of Object.keys(WEIGHTS) as OperationName[]) {
      const random = this.#random.fork(`each ${name}`)
      for (const member of this.#crew.members) {
        const before = monotonicNow()
        if (!(await this.#operations[name](member, random))) continue
        this.note(name, member.name, before)
        break
      }
    }
    await this.restoreAll()
  }

  /** Counts and remembers what was done. */
  note(name: string, who: string, at = monotonicNow()): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1
    this.#last.push(`${(at / 1_000).toFixed(3)} s  ${who}: ${name}`)
    if (this.#last.length > REMEMBERED) this.#last.shift()
  }

  /** Starts whoever is dead. */
  async restoreAll(): Promise<void> {
    for (const member of this.#crew.guests) {
      if (member.life === undefined) await this.#start(member, this.#random.fork(`restore ${this.#steps++}`))
    }
  }

  /** Ends everything that is offered. */
  async clear(): Promise<void> {
    for (const { member } of this.#crew.running) await member.apply([{ kind: 'end all' }])
  }

  readonly #operations: Record<OperationName, Operation> = {
    write: async (member, random) => {
      if (member.running === undefined) return false
      await member.apply(member.writes(random, Math.ceil(random.between(0, 4))))
      return true
    },

    burst: async (member, random) => {
      if (member.running === undefined) return false
      await member.apply(member.writes(random, Math.ceil(random.between(50, 400))))
      return true
    },

    'open a monitor of many': async (member, random) => {
      if (member.running === undefined) return false
      const monitor = this.#monitors++
      const writes = Array.from({ length: Math.ceil(random.between(1, 12)) }, () =>
        member.registration(random, monitor),
      )
      // One monitor offers a name once.
      const names = new Map(writes.map((write) => [write.name, write]))
      await member.apply([...names.values()])
      return true
    },

    'close a monitor': async (member, random) => {
      const monitors = [...(member.running?.offers.values() ?? [])].flatMap(({ monitor }) => monitor ?? [])
      if (monitors.length === 0) return false
      const write: Write = { kind: 'close monitor', monitor: random.pick(monitors) }
      await member.apply([write, ...member.writes(random, 2)])
      return true
    },

    kill: (member) => this.#end(member, () => this.#crew.kill(member)),

    'kill in a burst': (member, random) =>
      this.#end(member, async () => {
        const writes = member.writes(random, 100)
        // Whether it comes to an answer does not matter: nothing of it may stay.
        void member.life?.child.ask('apply', writes).catch(() => undefined)
        await setTimeout(random.between(0, 10))
        await this.#crew.kill(member)
      }),

    'kill and restart at once': async (member, random) => {
      if (!(await this.#end(member, () => this.#crew.kill(member)))) return false
      await this.#start(member, random)
      return true
    },

    'kill while stopped': (member) =>
      this.#end(member, async () => {
        this.#crew.stop(member, downPeriodMs / 3)
        await setTimeout(downPeriodMs / 6)
        await this.#crew.kill(member)
      }),

    close: (member) => this.#end(member, () => this.#crew.close(member)),

    'close and restart': async (member, random) => {
      if (!(await this.#end(member, () => this.#crew.close(member)))) return false
      await this.#start(member, random)
      return true
    },

    'close while another is stopped': async (member, random) =>
      this.#end(member, async () => {
        const other = random.pick(this.#crew.members.filter((each) => each !== member))
        if (other.running !== undefined) this.#crew.stop(other, downPeriodMs * random.between(0.2, 1.5))
        await this.#crew.close(member)
      }),

    restart: async (_, random) => {
      const [dead] = this.#crew.guests.filter(({ life }) => life === undefined)
      if (dead === undefined) return false
      await this.#start(dead, random)
      return true
    },

    'stop for a moment': (member, random) => this.#stop(member, random.between(0.1, 0.8) * downPeriodMs),

    'stop for longer than downPeriodMs': (member, random) =>
      this.#stop(member, random.between(1.2, 2) * downPeriodMs),

    'stop for longer than permdownPeriodMs': (member, random) =>
      this.#stop(member, random.between(1.1, 1.4) * permdownPeriodMs),

    'drop all connections': async (member) => {
      if (member.running === undefined) return false
      await this.#crew.drop(member)
      return true
    },

    'drop a connection': async (member, random) => {
      const other = random.pick(this.#crew.members.filter((each) => each !== member))
      if (member.running === undefined || other.life === undefined) return false
      await this.#crew.drop(member, other)
      return true
    },
  }

  async #end(member: Member, end: () => Promise<void>): Promise<boolean> {
    if (member.place.resident || member.running === undefined) return false
    await end()
    return true
  }

  async #start(member: Member, random: SeededRandom): Promise<void> {
    const sameIdentity = random.chance(0.6)
    const samePort = random.chance(0.5)
    await this.#crew.start(member, { sameIdentity, samePort })
    await member.apply(member.writes(random, 3))
    const how = `${sameIdentity ? 'same' : 'new'} identity, ${samePort ? 'same' : 'new'} port`
    this.note(`start (${how})`, member.name)
  }

  async #stop(member: Member, ms: number): Promise<boolean> {
    // One that cannot answer is trouble enough: its neighbours are to be seen as well.
    if (member.running === undefined || this.#crew.members.some(({ stopped }) => stopped !== undefined))
      return false
    this.#crew.stop(member, ms)
    return Promise.resolve(true)
  }
}

/** How often each is chosen, by weight. */
const WEIGHTS = {
  write: 45,
  burst: 8,
  'open a monitor of many': 8,
  'close a monitor': 8,
  kill: 4,
  'kill in a burst': 3,
  'kill and restart at once': 3,
  'kill while stopped': 1,
  close: 2,
  'close and restart': 3,
  'close while another is stopped': 2,
  restart: 8,
  'stop for a moment': 5,
  'stop for longer than downPeriodMs': 2,
  'stop for longer than permdownPeriodMs': 0.5,
  'drop all connections': 3,
  'drop a connection': 4,
} as const

type OperationName = keyof typeof WEIGHTS

function draw(random: SeededRandom): OperationName {
  const all = Object.entries(WEIGHTS) as [OperationName, number][]
  let rest = random.between(
    0,
    all.reduce((sum, [, weight]) => sum + weight, 0),
  )
  for (const [name, weight] of all) {
    rest -= weight
    if (rest < 0) return name
  }
  return 'write'
}
