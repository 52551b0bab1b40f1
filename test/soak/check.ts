import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Happening } from '../processes/served.ts'
import { monotonicNow } from '../processes/served.ts'
import { PERIODS, since, type Crew } from './crew.ts'
import type { Life, Member } from './member.ts'
import type { View } from './plain.ts'

/** A machine with other work may take long; one that never agrees is what is looked for. */
const DEADLINE_MS = 25_000
const POLL_MS = 50
const QUIET_MS = 4 * PERIODS.broadcastPeriodMs
const MAX_SHOWN = 12
/** Who stood still says so only when it goes on, which may be after others have said what they think of it. */
const HINDSIGHT_MS = 6_000

interface Sight {
  readonly member: Member
  readonly life: Life
  readonly view: View
}

interface Rest {
  /** Wait until every node is connected with every other and knows no dead one. */
  readonly alone?: boolean
}

/** What was found at quiet moments, over all of a run. */
export class Checks {
  readonly #crew: Crew
  #moments = 0
  #longestMs = 0
  #suspicions = 0
  #falseSuspicions = 0
  #falseDowns = 0
  /** Up to where the happenings of each process have been judged. */
  readonly #judged = new WeakMap<Life['child'], number>()

  constructor(crew: Crew) {
    this.#crew = crew
  }

  get figures() {
    return {
      moments: this.#moments,
      longestMs: this.#longestMs,
      suspicions: this.#suspicions,
      falseSuspicions: this.#falseSuspicions,
      falseDowns: this.#falseDowns,
    }
  }

  /**
   * Ends all that is being done, waits until all agree with what they were told to offer, lets a few periods pass, and
   * checks again. Throws when they do not agree in time or not any more. Returns how long it took.
   */
  async quiet({ alone = false }: Rest = {}): Promise<number> {
    for (const { stopped } of this.#crew.members) await stopped
    await this.#crew.heal()
    const startedAt = monotonicNow()
    let tookMs = await this.#agree(startedAt, alone)
    for (;;) {
      await setTimeout(QUIET_MS)
      const sights = await this.#look()
      const wrong = this.#wrong(sights)
      if (wrong.length === 0) break
      if (!this.#isDisturbed(sights)) {
        throw new Error(await this.#explain('they agreed, and do not any more', sights, wrong))
      }
      tookMs = await this.#agree(startedAt, alone)
    }
    this.judge()
    this.#moments++
    // Waiting for a purge is not converging.
    if (!alone) this.#longestMs = Math.max(this.#longestMs, tookMs)
    return tookMs
  }

  /** Waits until all agree. Returns how long after the start that is. */
  async #agree(startedAt: number, alone: boolean): Promise<number> {
    for (;;) {
      const tookMs = since(startedAt)
      const sights = await this.#look()
      const wrong = [...this.#wrong(sights), ...(alone ? strangers(sights) : [])]
      if (wrong.length === 0) return tookMs
      const faults = sights.some(({ view }) => view.faults.length > 0)
      if (faults || tookMs > DEADLINE_MS) {
        const what = faults ? 'a listener was misled' : `after ${DEADLINE_MS} ms of peace they differ`
        throw new Error(await this.#explain(what, sights, wrong))
      }
      await setTimeout(POLL_MS)
    }
  }

  /** Throws when a process has ended by itself, or noted what must not happen. */
  judge(): void {
    for (const { member, child } of this.#crew.lost) {
      throw new Error(
        [
          `${member.name} has ended by itself: ${JSON.stringify(child.end)}; printed:`,
          ...child.lines.slice(-30),
        ].join('\n'),
      )
    }
    const { running } = this.#crew
    const settledAt = monotonicNow() - HINDSIGHT_MS
    const fresh = running.map(({ life }) => {
      const { happenings } = life.child
      const from = this.#judged.get(life.child) ?? 0
      const young = happenings.findIndex(({ at }, index) => index >= from && at > settledAt)
      const to = young < 0 ? happenings.length : young
      this.#judged.set(life.child, to)
      for (const { kind, at, text } of happenings.slice(from)) {
        if (kind === 'lagged') this.#crew.deeds.touch(life.id, at - Number(text) - PERIODS.downPeriodMs, at)
      }
      return { life, happenings: happenings.slice(from, to) }
    })
    for (const { life, happenings } of fresh) {
      for (const happening of happenings) this.#judgeOne(life, happening)
    }
  }

  #judgeOne(life: Life, { kind, node = '', at, reason }: Happening): void {
    const isSuspicion = kind === 'node_suspected'
    if (!isSuspicion && kind !== 'node_down') return
    if (isSuspicion) this.#suspicions++
    if (this.#crew.deeds.explain(at, life.id, node)) return
    if (isSuspicion) this.#falseSuspicions++
    else {
      this.#falseDowns++
      throw new Error(
        `${this.#nameOf(life.id)} says that ${this.#nameOf(node)} is down (${reason ?? ''}), and nothing was done to either`,
      )
    }
  }

  async #look(): Promise<Sight[]> {
    return Promise.all(
      this.#crew.running.map(async ({ member, life }) => ({
        member,
        life,
        view: await life.child.ask('view'),
      })),
    )
  }

  /** A process that had no turn for long may be suspected a moment longer. */
  #isDisturbed(sights: readonly Sight[]): boolean {
    const recent = monotonicNow() - PERIODS.downPeriodMs - QUIET_MS
    return sights.some(({ life }) =>
      life.child.happenings.slice(-20).some(({ kind, at }) => kind === 'lagged' && at > recent),
    )
  }

  #wrong(sights: readonly Sight[]): string[] {
    const expected = expectedLines(sights)
    const digest = createHash('sha256').update(expected.join('\n')).digest('hex')
    return sights.flatMap(({ member, view }) => {
      const wrong = view.faults.map((fault) => `must not happen: ${fault}`)
      if (view.rejected > 0) wrong.push(`rejected ${view.rejected} messages or services`)
      if (view.digest !== digest) wrong.push('services() differs from what is offered')
      for (const { life } of sights) {
        const node = view.nodes.find(({ id }) => id === life.id)
        const { incarnation } = sights.find((sight) => sight.life === life)?.view ?? view
        const name = this.#nameOf(life.id)
        if (node?.status !== 'up') wrong.push(`${name} is ${node?.status ?? 'unknown'}, and lives`)
        else if (node.incarnation !== incarnation) wrong.push(`${name} is shown in another life`)
        if (node?.suspect !== undefined) wrong.push(`${name} is suspect: ${node.suspect}`)
      }
      for (const { id, status } of view.nodes) {
        if (status === 'up' && sights.every(({ life }) => life.id !== id)) wrong.push(`${id} is up, and dead`)
      }
      return wrong.map((each) => `${member.name}: ${each}`)
    })
  }

  async #explain(what: string, sights: readonly Sight[], wrong: readonly string[]): Promise<string> {
    const expected = new Set(expectedLines(sights))
    const details = await Promise.all(
      sights.map(async ({ member, life }) => {
        const seen = new Set(await life.child.ask('visible'))
        const missing = [...expected].filter((line) => !seen.has(line))
        const extra = [...seen].filter((line) => !expected.has(line))
        const heard = life.child.happenings.slice(-MAX_SHOWN).map((each) => `    ${JSON.stringify(each)}`)
        return [
          `  ${member.name} (${life.id}) lacks ${missing.length} and has ${extra.length} too many of ${expected.size}`,
          ...missing.slice(0, MAX_SHOWN).map((line) => `    lacks ${line}`),
          ...extra.slice(0, MAX_SHOWN).map((line) => `    has   ${line}`),
          '    last heard:',
          ...heard,
        ]
      }),
    )
    return [what, ...wrong.map((each) => `  ${each}`), ...details.flat()].join('\n')
  }

  #nameOf(id: string): string {
    return this.#crew.members.find(({ life }) => life?.id === id)?.name ?? id
  }
}

const expectedLines = (sights: readonly Sight[]): string[] =>
  sights.flatMap(({ member, view }) => member.expected(view.incarnation)).sort()

/** What keeps a node from being as it was when the cluster began. */
const strangers = (sights: readonly Sight[]): string[] =>
  sights.flatMap(({ member, view }) => {
    const [nodes, neighbours] = [view.nodes.length - sights.length, sights.length - 1 - view.neighbours]
    return nodes === 0 && neighbours === 0
      ? []
      : [`${member.name}: knows ${nodes} dead nodes and lacks ${neighbours} neighbours`]
  })
