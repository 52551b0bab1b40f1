import type { Random } from '../../tracker/ports.ts'
import type { LookupHit } from '../types.ts'
import type { Balancer } from './balancer.ts'
import type { CallBook } from './call-book.ts'

/**
 * Of two by chance, the one with fewer calls of this process in flight (Mitzenmacher, "The power of two choices in randomized
 * load balancing", IEEE Transactions on Parallel and Distributed Systems 12(10), 2001). Nearly as even as the least of all, and at the
 * same cost however many there are; nor do many callers run to the same idle one. Knows of the calls that are acquired.
 */
export class LeastPending implements Balancer {
  readonly #random: Random
  readonly #calls: CallBook

  constructor(random: Random, calls: CallBook) {
    this.#random = random
    this.#calls = calls
  }

  pick(hits: readonly LookupHit[]): number {
    const count = hits.length
    if (count === 1) return 0
    const one = Math.floor(this.#random.next() * count)
    const step = 1 + Math.floor(this.#random.next() * (count - 1))
    const other = one + step < count ? one + step : one + step - count
    return this.#pendingAt(hits, other) < this.#pendingAt(hits, one) ? other : one
  }

  #pendingAt(hits: readonly LookupHit[], at: number): number {
    return this.#calls.pendingOf(hits[at]?.service.id ?? '')
  }
}
