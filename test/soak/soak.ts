import { SeededRandom } from '../../src/testing/index.ts'
import { monotonicNow } from '../processes/served.ts'
import { Base } from './base.ts'
import { Checks } from './check.ts'
import { since, type Crew } from './crew.ts'
import { load, loadLines, type LoadFigures } from './load.ts'
import { Operations } from './operations.ts'
import type { Counts } from './plain.ts'
import { Splits } from './splits.ts'

const STEPS_PER_ROUND = 12
/** Rounds between two looks at what the residents use. */
const ROUNDS_PER_READING = 8
const ROUNDS_PER_LOAD = 25
/** What follows on the last round: a purge, and a reading. */
const LAST_READING_MS = 15_000

/** Rounds of chance, each ended by a quiet moment in which all must agree, until the time is over. */
export class Soak {
  readonly #crew: Crew
  readonly #random: SeededRandom
  readonly #operations: Operations
  readonly #checks: Checks
  readonly #base: Base
  readonly #splits: Splits
  readonly #loads: LoadFigures[] = []
  #counts: readonly { readonly name: string; readonly counts: Counts }[] = []
  #rounds = 0

  constructor(crew: Crew, seed: number) {
    this.#crew = crew
    this.#random = new SeededRandom(seed)
    this.#operations = new Operations(crew, this.#random.fork('operations'))
    this.#checks = new Checks(crew)
    this.#base = new Base(crew)
    this.#splits = new Splits(crew, this.#checks, this.#operations, this.#random.fork('splits'))
  }

  /** The last operations, in lines. */
  get last(): readonly string[] {
    return this.#operations.last
  }

  get progress(): string {
    const { moments, longestMs } = this.#checks.figures
    const operations = Object.values(this.#operations.counts).reduce((sum, each) => sum + each, 0)
    return `${operations} operations, ${moments} quiet moments, longest convergence ${longestMs.toFixed(0)} ms`
  }

  /** Throws at the first thing that is not as it must be. */
  async run(ms: number): Promise<void> {
    const startedAt = monotonicNow()
    await this.#checks.quiet()
    // Everything once, so that what is loaded, compiled and cached once is so before the first reading.
    await this.#operations.each()
    await this.#round()
    await this.#read()
    do await this.#round()
    while (since(startedAt) < ms - LAST_READING_MS)
    await this.#read()
    this.#counts = await Promise.all(
      this.#crew.residents.map(async ({ name, life }) => {
        if (life === undefined) throw new Error(`${name} is dead`)
        return { name, counts: await life.child.ask('counts') }
      }),
    )
    for (const member of this.#crew.members) await this.#crew.close(member)
  }

  async #round(): Promise<void> {
    for (let step = 0; step < STEPS_PER_ROUND; step++) {
      await this.#operations.step()
      this.#checks.judge()
    }
    await this.#checks.quiet()
    await this.#operations.restoreAll()
    if (this.#rounds % ROUNDS_PER_LOAD === 0) {
      this.#loads.push(
        await load(this.#crew, this.#checks, this.#operations, this.#random.fork(`load ${this.#rounds}`)),
      )
    }
    await this.#splits.round()
    if (this.#rounds % 2 === 1) await this.#splits.round()
    this.#rounds++
    if (this.#rounds % ROUNDS_PER_READING === 0) await this.#read()
  }

  /** Brings the cluster to where it began, and looks at what the residents use. */
  async #read(): Promise<void> {
    await this.#operations.restoreAll()
    await this.#checks.quiet()
    await this.#operations.clear()
    await this.#checks.quiet({ alone: true })
    await this.#base.read()
  }

  /** What the run was, in lines. */
  report(): string[] {
    const { moments, longestMs, suspicions, falseSuspicions } = this.#checks.figures
    const { rounds, disturbed } = this.#splits.figures
    return [
      'operations:',
      ...Object.entries(this.#operations.counts)
        .sort(([, a], [, b]) => b - a)
        .map(([name, count]) => `  ${String(count).padStart(5)}  ${name}`),
      `quiet moments checked: ${moments}; longest convergence: ${longestMs.toFixed(0)} ms`,
      `suspicions: ${suspicions}, of them of nodes to which nothing was done: ${falseSuspicions}`,
      `C29: ${rounds} rounds, of them ${disturbed} in which a process stood still by itself`,
      ...this.#loads.flatMap((figures) => loadLines(figures).map((line) => `C7: ${line}`)),
      ...this.#counts.flatMap(({ name, counts }) => [
        `${name}: longest block of the event loop, by SIGSTOP too, ${counts.worstLagMs.toFixed(0)} ms; ` +
          `messages published ${counts.published}, heard ${counts.heard}; syncs begun ${counts.syncs}`,
        `${name}: events ${Object.entries(counts.events)
          .map(([event, count]) => `${event} ${count}`)
          .join(', ')}`,
      ]),
      `readings of what residents use: ${this.#base.readings}`,
      ...this.#base.lines(),
    ]
  }
}
