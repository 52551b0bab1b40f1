import type { LookupHit } from '../types.ts'
import type { Balancer } from './balancer.ts'
import { hashText, mix } from './text-hash.ts'
import { weightsOf } from './weights.ts'

/** Parts those whose first hashes are equal. */
const SECOND_SEED = 0x9747b28c

/** 2^32 over the golden ratio, as in Fibonacci hashing: spreads what `mix` is given. */
const SPREAD = 0x9e3779b1

const RANGE = 2 ** 32

/**
 * Every key has an instance of its own, the same in every process: rendezvous hashing (Thaler and Ravishankar, "Using
 * name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking 6(1), 1998). Every instance draws a number
 * by its id and the key, and the best draw wins. So who leaves moves its own keys only, and who comes takes its share only.
 *
 * A draw h in (0, 1) counts as -weight / ln h, which wins in proportion to the weight (Schindelhauer and Schomaker, "Weighted
 * distributed hash tables", SPAA 2005). A pick costs one pass over the instances, some 5 ns each.
 */
export class Rendezvous implements Balancer {
  #hits: readonly LookupHit[] = []
  /** Two hashes of each id. */
  #first = new Uint32Array()
  #second = new Uint32Array()
  /** 1 / weight: -ln h times it is least where -weight / ln h is most. */
  #costs = new Float64Array()

  pick(hits: readonly LookupHit[], key: string): number {
    if (hits !== this.#hits) this.#take(hits)
    const first = this.#first
    const second = this.#second
    const costs = this.#costs
    const keyHash = hashText(key, 0)
    let best = 0
    let least = Infinity
    for (let at = 0; at < costs.length; at++) {
      const hash = mix(Math.imul((first[at] ?? 0) ^ keyHash, SPREAD) + (second[at] ?? 0))
      const draw = (hash + 0.5) / RANGE
      const cost = costs[at] ?? Infinity
      // -ln h is at least 1 - h, so that few logarithms have to be taken.
      if ((1 - draw) * cost > least) continue
      const paid = -Math.log(draw) * cost
      if (paid < least || (paid === least && isBefore(hits[at], hits[best]))) {
        least = paid
        best = at
      }
    }
    return best
  }

  #take(hits: readonly LookupHit[]): void {
    this.#hits = hits
    this.#first = Uint32Array.from(hits, ({ service }) => hashText(service.id, 0))
    this.#second = Uint32Array.from(hits, ({ service }) => hashText(service.id, SECOND_SEED))
    this.#costs = weightsOf(hits).map((weight) => 1 / weight)
  }
}

/** Decides between equal draws: lists are in another order in every process. */
const isBefore = (a: LookupHit | undefined, b: LookupHit | undefined): boolean =>
  a !== undefined && b !== undefined && a.service.id < b.service.id
