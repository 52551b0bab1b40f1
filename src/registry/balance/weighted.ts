import type { Random } from '../../tracker/ports.ts'
import type { LookupHit } from '../types.ts'
import type { Balancer } from './balancer.ts'
import { inUnits, sum, weightsOf } from './weights.ts'

/**
 * Turns in proportion to the weights, as evenly spread as they can be: smooth weighted round-robin, the algorithm of nginx
 * (commit 52327e0627f4, "Upstream: smooth weighted round-robin balancing", 2012). Every instance gains its weight with every
 * turn; who has most has the turn, and pays the weight of all. Weights of 5, 1 and 1 give a a b a c a a.
 *
 * A turn costs one pass over the instances, some 1 ns each.
 */
export class Weighted implements Balancer {
  readonly #random: Random
  #hits: readonly LookupHit[] = []
  #weights: Float64Array = new Float64Array()
  #gains: Float64Array = new Float64Array()
  #total = 0

  constructor(random: Random) {
    this.#random = random
  }

  pick(hits: readonly LookupHit[]): number {
    if (hits !== this.#hits) this.#take(hits)
    const weights = this.#weights
    const gains = this.#gains
    let best = 0
    let most = -Infinity
    for (let at = 0; at < gains.length; at++) {
      const gain = (gains[at] ?? 0) + (weights[at] ?? 0)
      gains[at] = gain
      if (gain > most) {
        most = gain
        best = at
      }
    }
    gains[best] = most - this.#total
    return best
  }

  /**
   * Who stays keeps its place in the order, as a share of the whole, so that a change of one weight neither
   * starves nor floods anyone. Who comes stands in the middle.
   */
  #take(hits: readonly LookupHit[]): void {
    const before = this.#standings()
    const standings = hits.map(({ service }) => before.get(service.id))
    const kept = standings.filter((standing) => standing !== undefined)
    const middle = kept.length === 0 ? 0 : sum(kept) / kept.length
    const isFirst = before.size === 0
    const weights = inUnits(weightsOf(hits))
    const total = sum(weights)
    this.#hits = hits
    this.#weights = weights
    this.#total = total
    // Whole, as the weights are. Callers that each make few calls begin at different places.
    this.#gains = Float64Array.from(standings, (standing = isFirst ? this.#random.next() : middle) =>
      Math.round((standing - middle) * total),
    )
  }

  /** What everyone has gained, as a share of the whole, by id. */
  #standings(): Map<string, number> {
    const standings = new Map<string, number>()
    for (const [at, { service }] of this.#hits.entries()) {
      standings.set(service.id, (this.#gains[at] ?? 0) / this.#total)
    }
    return standings
  }
}
