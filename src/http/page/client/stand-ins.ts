import type { Explanation, Instance } from '../../../registry/types.ts'

/** Names remembered at most; further ones are not looked at. */
const MOST_NAMES = 100

/** Which instances only stand in for what was, of the services that the events name. */
export class StandIns {
  readonly #names = new Set<string>()
  readonly #explain: (name: string) => Promise<readonly Explanation[]>

  constructor(explain: (name: string) => Promise<readonly Explanation[]>) {
    this.#explain = explain
  }

  /** A service began to be answered by what was. */
  suspect(name: string): void {
    if (this.#names.size < MOST_NAMES) this.#names.add(name)
  }

  /** Those that do now. A service without any is forgotten. */
  async read(): Promise<Instance[]> {
    const found = await Promise.all([...this.#names].map((name) => this.#of(name)))
    return found.flat()
  }

  async #of(name: string): Promise<Instance[]> {
    // An event that comes meanwhile counts: the answer may be from before it.
    this.#names.delete(name)
    const explanations = await this.#explain(name).catch((error: unknown) => {
      this.suspect(name)
      throw error
    })
    const standIns = explanations.flatMap(({ reason, instance }) =>
      reason === 'stale' && instance !== undefined ? [instance] : [],
    )
    if (standIns.length > 0) this.suspect(name)
    return standIns
  }
}
