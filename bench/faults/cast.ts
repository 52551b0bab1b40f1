import { setTimeout } from 'node:timers/promises'
import { favour } from '../../test/faults/lab.ts'
import { until, type Child, type Fleet, type Launch } from '../../test/processes/fleet.ts'
import type { Profile } from '../../src/index.ts'
import type { Setup } from '../../test/processes/node.ts'
import { expectEqual } from '../services.ts'
import type { FaultCommands } from './worker.ts'

const OBSERVERS = 3
/** The longest that anything takes: a down period, or a dial of what was away so long, on a machine with other work. */
const PATIENCE_MS = 120_000

/** A process with an open registry. */
export interface Member {
  readonly child: Child<FaultCommands>
  readonly id: string
  readonly address: string
  /** When it had started, monotonic ms. */
  readonly listeningAt: number
}

/** Where processes run, and with which periods. */
export interface Stage {
  readonly fleet: Fleet<FaultCommands>
  readonly profile: Profile
  /** Time between two looks of an observer, ms. */
  readonly lookMs: number
  /** Takes what was not as it must be. */
  readonly complain: (what: string) => void
  /** How a process is started on host 1 to 5, and where it listens. Default: on loopback. */
  readonly host?: (number: number) => { readonly launch: Launch; readonly listen: string }
}

/** Five nodes: one provider that stays, three observers, and by turns providers that something befalls. */
export class Cast {
  readonly #stage: Stage
  #steady: Member | undefined
  #observers: Member[] = []
  /** Providers that were ended. */
  readonly #dismissed = new Set<string>()
  /** Providers that there were. */
  #victims = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  get steady(): Member {
    if (this.#steady === undefined) throw new Error('the cast has not come')
    return this.#steady
  }

  /** The host on which providers fall victim. */
  get lastHost(): number {
    return OBSERVERS + 2
  }

  /** Starts those that stay. */
  async come(): Promise<void> {
    this.#steady = await this.#open(this.#spawn(1), 1, 'steady', 'offer')
    for (let index = 0; index < OBSERVERS; index++) {
      const host = index + 2
      this.#observers.push(await this.#open(this.#spawn(host), host, `observer-${index}`, 'observe'))
    }
    await this.#connected([])
    for (const { child } of this.#observers) await child.ask('watch', this.#stage.lookMs)
    await this.returned([this.steady])
  }

  /** A process that has loaded its code where victims run. */
  async prepare(): Promise<Child<FaultCommands>> {
    const child = this.#spawn(this.lastHost)
    await child.ask('loaded')
    return child
  }

  /** Starts a provider in a process. */
  enter(child: Child<FaultCommands>, setup: Partial<Setup> = {}): Promise<Member> {
    return this.#open(child, this.lastHost, `victim-${this.#victims++}`, 'offer', setup)
  }

  /** Waits until a provider is found by all, connected with all, and at rest. What was told until then is forgotten. */
  async settle(victim: Member): Promise<void> {
    await this.returned([this.steady, victim])
    await this.#connected([victim])
    // Not in step with any period.
    await setTimeout(300 + 1_700 * Math.random())
    this.forget()
  }

  /** Forgets what was told, but for what lookups return now. */
  forget(): void {
    for (const { child } of this.#observers) {
      const last = child.happenings.findLast(({ kind }) => kind === 'returned')
      child.happenings.splice(0, Infinity, ...(last === undefined ? [] : [last]))
    }
  }

  /** Ends a provider, and waits until nobody finds it. That it is down, who could not reach it learns only by the next dial. */
  async dismiss(victim: Member): Promise<void> {
    this.#dismissed.add(victim.id)
    await victim.child.kill()
    await this.returned([this.steady])
  }

  /** Ends all. */
  async go(victim?: Member): Promise<void> {
    for (const { child } of [...(victim ? [victim] : []), ...this.#observers, this.steady]) await child.kill()
  }

  /** Waits until every observer's lookups return these and no others. Returns since when each has, monotonic ms. */
  async returned(providers: readonly Member[]): Promise<number[]> {
    const text = idsOf(providers)
    const times: number[] = []
    for (const { child } of this.#observers) {
      const last = () => child.happenings.findLast(({ kind }) => kind === 'returned')
      await until(() => last()?.text === text, {
        what: () =>
          `lookups return ${text}, not ${String(last()?.text)}:\n` +
          child.happenings.map((each) => JSON.stringify(each)).join('\n'),
        deadlineMs: PATIENCE_MS,
      })
      times.push(last()?.at ?? NaN)
    }
    return times
  }

  /** Waits until every observer was told that a provider's service is gone, for this reason. Returns when, monotonic ms. */
  async down({ id }: Member, reason: string): Promise<number[]> {
    const times: number[] = []
    for (const { child } of this.#observers) {
      const down = await child.seen('service_down', ({ node }) => node === id, { deadlineMs: PATIENCE_MS })
      expectEqual('why the service is gone', down.reason, reason)
      times.push(down.at)
    }
    return times
  }

  /**
   * Complains unless what must hold whatever befalls a provider did: lookups always return the other one, nobody else goes
   * down, and what lookups return changed these many times since all was forgotten.
   */
  checkOthers(victims: readonly Member[], changes: number): void {
    const gone = new Set([...this.#dismissed, ...victims.map(({ id }) => id)])
    for (const { child } of this.#observers) {
      const sights = child.happenings.filter(({ kind }) => kind === 'returned')
      const harms = child.happenings.filter(
        ({ kind, node }) =>
          (kind.endsWith('_down') && !gone.has(node ?? '')) || ['isolated', 'error'].includes(kind),
      )
      const isSteady = sights.every(({ text }) => text?.split(' ').includes(this.steady.id))
      if (isSteady && harms.length === 0 && sights.length === 1 + changes) continue
      const told = child.happenings.map((each) => JSON.stringify(each))
      this.#stage.complain(
        [`${this.steady.id} stays, ${changes} changes of what lookups return; but:`, ...told].join('\n'),
      )
    }
  }

  #spawn(host: number): Child<FaultCommands> {
    const child = this.#stage.fleet.spawn(this.#stage.host?.(host).launch)
    // The nodes are measured, not what else the machine does.
    if (process.getuid?.() === 0) favour(child.pid)
    return child
  }

  async #open(
    child: Child<FaultCommands>,
    host: number,
    name: string,
    does: 'offer' | 'observe',
    setup: Partial<Setup> = {},
  ): Promise<Member> {
    const listen = this.#stage.host?.(host).listen
    const opened = await child.ask(
      'open',
      {
        line: 2,
        name,
        join: this.#steady === undefined ? [] : [this.#steady.address],
        ...(listen === undefined ? {} : { listen }),
        profile: this.#stage.profile,
        ...setup,
      },
      does,
    )
    return { child, ...opened }
  }

  /** Waits until each has a connection with each. */
  async #connected(victims: readonly Member[]): Promise<void> {
    const all = [this.steady, ...this.#observers, ...victims]
    for (const { child, id } of all) {
      await until(
        async () => {
          const neighbours = await child.ask('neighbours')
          return all.every((other) => other.id === id || neighbours.includes(other.id))
        },
        { what: 'each is connected with each', deadlineMs: PATIENCE_MS },
      )
    }
  }
}

const idsOf = (members: readonly Member[]): string =>
  members
    .map(({ id }) => id)
    .sort()
    .join(' ')
