import { setTimeout } from 'node:timers/promises'
import type { SeededRandom } from '../../src/testing/index.ts'
import { monotonicNow } from '../processes/served.ts'
import type { Checks } from './check.ts'
import { PERIODS, type Crew } from './crew.ts'
import type { Member } from './member.ts'
import type { Operations } from './operations.ts'
import type { Told, Write } from './plain.ts'

/** A pause in which a process may be taken for dead by others. */
const LONG_LAG_MS = PERIODS.downPeriodMs / 10

type Kind = 'short split' | 'long split' | 'freeze'

/** What a node does while it cannot tell all others: one thing of each kind, to instances of its own. */
interface Changes {
  readonly member: Member
  /** The event that tells of each, by the instance it is about. */
  readonly told: ReadonlyMap<string, Told['event']>
  /** Instances that were seen before and are after, unchanged. */
  readonly standing: readonly string[]
}

/**
 * C29: rounds of split and heal, or freeze and thaw, with changes on both sides. Each observer must be told of each change
 * by one event, and of nothing else but the down and the up of whom it could not see for longer than `downPeriodMs`.
 */
export class Splits {
  readonly #crew: Crew
  readonly #checks: Checks
  readonly #operations: Operations
  readonly #random: SeededRandom
  #rounds = 0
  /** Rounds in which a process stood still by itself, so that who saw whom go cannot be said. */
  #disturbed = 0

  constructor(crew: Crew, checks: Checks, operations: Operations, random: SeededRandom) {
    this.#crew = crew
    this.#checks = checks
    this.#operations = operations
    this.#random = random
  }

  get figures() {
    return { rounds: this.#rounds, disturbed: this.#disturbed }
  }

  /** One round. All must be running. */
  async round(): Promise<void> {
    const random = this.#random.fork(`round ${this.#rounds++}`)
    const kind = random.pick<Kind>(['short split', 'short split', 'long split', 'freeze'])
    const { members } = this.#crew
    // Known to all before, so that what is told is told of the changes alone.
    for (const member of members) {
      await member.apply([member.registration(random), member.registration(random)])
    }
    await this.#checks.quiet()
    await Promise.all(this.#crew.running.map(({ life }) => life.child.ask('record')))
    const startedAt = monotonicNow()
    const side = random.pick(SIDES).map((index) => members[index]!)
    const others = members.filter((member) => !side.includes(member))
    this.#operations.note(`C29 round: ${kind}`, side.map(({ name }) => name).join(' and '))

    const changes =
      kind === 'freeze' ? await this.#freeze(random, side) : await this.#split(kind, random, side, others)
    await this.#checks.quiet()

    const recorded = await Promise.all(
      members.map(async (observer) => ({
        observer,
        told: (await observer.life?.child.ask('recorded')) ?? [],
      })),
    )
    const verdicts = this.#verdictsSince(startedAt)
    if (
      verdicts.some((verdict) => verdict.times > 1 || verdict.times !== Number(isApart(kind, side, verdict)))
    ) {
      // Who saw whom go is as expected, unless a process stood still by itself.
      if (!this.#stoodStill(startedAt, kind === 'freeze' ? side : []))
        throw new Error(this.#told(`C29, ${kind}: who was down for whom`, startedAt))
      this.#disturbed++
      if (verdicts.some(({ times }) => times > 1)) return
    }
    const wrong = recorded.flatMap(({ observer, told }) => {
      const expected = changes.flatMap((each) => {
        const { times } = verdicts.find((one) => one.observer === observer && one.owner === each.member) ?? {
          times: 0,
        }
        return expectedOf(each, times === 0 ? 'never' : kind === 'freeze' ? 'after' : 'meanwhile')
      })
      return difference(observer.name, told, expected)
    })
    if (wrong.length > 0) throw new Error(this.#told([`C29, ${kind}:`, ...wrong].join('\n'), startedAt))
  }

  /** How often each was down for each other. */
  #verdictsSince(since: number): Verdict[] {
    const { members } = this.#crew
    return members.flatMap((observer) =>
      members
        .filter((owner) => owner !== observer)
        .map((owner) => ({
          observer,
          owner,
          times: (observer.life?.child.happenings ?? []).filter(
            ({ kind, at, node }) => kind === 'node_down' && at > since && node === owner.life?.id,
          ).length,
        })),
    )
  }

  /** With all that was heard in the round. */
  #told(what: string, since: number): string {
    const heard = this.#crew.running.flatMap(({ member, life }) => [
      `  ${member.name} heard since the round began at ${since.toFixed(0)}:`,
      ...life.child.happenings.filter(({ at }) => at > since).map((each) => `    ${JSON.stringify(each)}`),
    ])
    return [what, ...heard].join('\n')
  }

  async #split(kind: Kind, random: SeededRandom, side: readonly Member[], others: readonly Member[]) {
    await this.#crew.cut(side, others)
    const lengthMs = PERIODS.downPeriodMs * (kind === 'long split' ? 1.6 : 0.2)
    await setTimeout(lengthMs / 2)
    const changes: Changes[] = []
    for (const member of this.#crew.members) changes.push(await change(member, random))
    await setTimeout(lengthMs / 2)
    await this.#crew.heal()
    return changes
  }

  /** Who is frozen changes something just before it is, the others meanwhile. */
  async #freeze(random: SeededRandom, side: readonly Member[]) {
    const changes: Changes[] = []
    for (const member of side) changes.push(await change(member, random))
    await this.#checks.quiet()
    for (const member of side) this.#crew.stop(member, 1.6 * PERIODS.downPeriodMs)
    for (const member of this.#crew.members) {
      if (!side.includes(member)) changes.push(await change(member, random))
    }
    return changes
  }

  /** Not counting those that were made to. */
  #stoodStill(since: number, frozen: readonly Member[]): boolean {
    return this.#crew.running.some(
      ({ member, life }) =>
        !frozen.includes(member) &&
        life.child.happenings.some(
          ({ kind, at, text }) => kind === 'lagged' && at > since && Number(text) > LONG_LAG_MS,
        ),
    )
  }
}

interface Verdict {
  readonly observer: Member
  readonly owner: Member
  readonly times: number
}

/** The observer cannot hear the owner for longer than `downPeriodMs`, and knows that it is not its own doing. */
function isApart(kind: Kind, side: readonly Member[], { observer, owner }: Verdict): boolean {
  const [isHere, isThere] = [side.includes(observer), side.includes(owner)]
  return kind === 'long split' ? isHere !== isThere : kind === 'freeze' && isThere && !isHere
}

/** Two of five, each time others; or one. */
const SIDES: readonly (readonly number[])[] = [[0, 1], [2, 3], [0, 4], [1, 2], [3], [0]]

async function change(member: Member, random: SeededRandom): Promise<Changes> {
  const { life } = member
  if (life === undefined) throw new Error(`${member.name} is dead`)
  const before = new Map([...life.offers].map(([key, { ref }]) => [key, ref]))
  const [updated, ended] = [...before.keys()].slice(-2)
  if (updated === undefined || ended === undefined) throw new Error(`${member.name} offers too little`)
  const fresh = member.registration(random)
  const writes: Write[] = [
    fresh,
    { kind: 'update', key: updated, metadata: member.metadata(random) },
    { kind: 'unregister', key: ended },
  ]
  await member.apply(writes)
  const incarnation = (await life.child.ask('view')).incarnation
  const idOf = (ref: string | undefined) => `${life.id}/${incarnation}/${ref ?? ''}`
  return {
    member,
    told: new Map<string, Told['event']>([
      [idOf(life.offers.get(fresh.key)?.ref), 'up'],
      [idOf(before.get(updated)), 'changed'],
      [idOf(before.get(ended)), 'down'],
    ]),
    standing: [...before].filter(([key]) => key !== updated && key !== ended).map(([, ref]) => idOf(ref)),
  }
}

/** What is to be told of one node's changes, in lines. `hidden`: when it was down for the observer. */
function expectedOf({ told, standing }: Changes, hidden: 'never' | 'meanwhile' | 'after'): string[] {
  const downAndUp = (ids: readonly string[]) => ids.flatMap((id) => [`down ${id}`, `up ${id}`])
  const idsOf = (...events: readonly Told['event'][]) =>
    [...told].filter(([, event]) => events.includes(event)).map(([id]) => id)
  const lines = [...told].map(([id, event]) => `${event} ${id}`)
  switch (hidden) {
    case 'never':
      return lines
    case 'meanwhile':
      return [
        ...lines.filter((line) => !line.startsWith('changed')),
        ...downAndUp([...idsOf('changed'), ...standing]),
      ]
    case 'after':
      return [...lines, ...downAndUp([...idsOf('up', 'changed'), ...standing])]
  }
}

/** Compares as bags: how the events of different instances are mixed is nobody's business. */
function difference(observer: string, told: readonly Told[], expected: readonly string[]): string[] {
  const rest = [...expected]
  const surplus = told
    .map(({ event, id }) => `${event} ${id}`)
    .filter((line) => {
      const at = rest.indexOf(line)
      if (at >= 0) rest.splice(at, 1)
      return at < 0
    })
  return [
    ...surplus.slice(0, 10).map((line) => `  ${observer} was told, and should not have been: ${line}`),
    ...rest.slice(0, 10).map((line) => `  ${observer} was not told: ${line}`),
  ]
}
