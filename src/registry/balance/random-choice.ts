import type { Random } from '../../tracker/ports.ts'
import type { LookupHit } from '../types.ts'
import type { Balancer } from './balancer.ts'

/** Anyone, by chance. */
export class RandomChoice implements Balancer {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  pick(hits: readonly LookupHit[]): number {
    return Math.floor(this.#random.next() * hits.length)
  }
}
