import type { Random } from '../../tracker/ports.ts'
import type { LookupHit } from '../types.ts'
import type { Balancer } from './balancer.ts'
import { SmoothTurns } from './smooth-turns.ts'
import { inUnits, sum, weightsOf } from './weights.ts'

/**
 * Turns in proportion to the weights, as evenly spread as they can be (see `SmoothTurns`), over all changes of the list: who stays
 * keeps its place in the order, as a share of the whole, so that a change of one weight neither starves nor floods anyone; who comes
 * stands in the middle.
 */
export class Weighted implements Balancer {
  readonly #random: Random
  #hits: readonly LookupHit[] = []
  #turns: SmoothTurns | undefined

  constructor(random: Random) {
    this.#random = random
  }

  pick(hits: readonly LookupHit[]): number {
    if (this.#turns === undefined || hits !== this.#hits) this.#turns = this.#take(hits)
    return this.#turns.next()
  }

  #take(hits: readonly LookupHit[]): SmoothTurns {
    const before = this.#standings()
    const standings = hits.map(({ service }) => before.get(service.id))
    const kept = standings.filter((standing) => standing !== undefined)
    const middle = kept.length === 0 ? 0 : sum(kept) / kept.length
    const isFirst = before.size === 0
    const weights = inUnits(weightsOf(hits))
    const total = sum(weights)
    // Whole, as the weights are. Callers that each make few calls begin at different places.
    const gains = Float64Array.from(standings, (standing = isFirst ? this.#random.next() : middle) =>
      Math.round((standing - middle) * total),
    )
    this.#hits = hits
    return new SmoothTurns(weights, gains)
  }

  /** Where everyone stands now, by id. */
  #standings(): Map<string, number> {
    const standings = this.#turns?.standings() ?? []
    return new Map(this.#hits.map(({ service }, at) => [service.id, standings[at] ?? 0]))
  }
}
