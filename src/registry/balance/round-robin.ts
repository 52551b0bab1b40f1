import type { Random } from '../../tracker/ports.ts'
import type { LookupHit } from '../types.ts'
import type { Balancer } from './balancer.ts'

/** Everyone in turn. */
export class RoundRobin implements Balancer {
  #next: number

  // Many callers that each make few calls would otherwise all begin with the same instance.
  constructor(random: Random) {
    this.#next = Math.floor(random.next() * 1_000_000)
  }

  pick(hits: readonly LookupHit[]): number {
    const count = hits.length
    // A remainder only where the turn has passed the end: a division costs more than the rest of the call.
    const at = this.#next < count ? this.#next : this.#next % count
    this.#next = at + 1
    return at
  }
}
