import type { Random } from '../tracker/ports.ts'
import type { Balance, LookupHit } from './types.ts'

/** How instances that may all be returned take turns. One belongs to one selector. */
export interface Balancer {
  /** A place in `hits`, which are never empty and change between calls as instances come and go. Allocates nothing. */
  pick(hits: readonly LookupHit[]): number
}

/** Throws nothing: `balance` is checked. */
export function createBalancer(balance: Balance, random: Random): Balancer {
  switch (balance) {
    case 'round-robin':
      return new RoundRobin(random)
    case 'random':
      return new RandomChoice(random)
    case 'first':
      return FIRST
  }
}

class RoundRobin implements Balancer {
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

class RandomChoice implements Balancer {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  pick(hits: readonly LookupHit[]): number {
    return Math.floor(this.#random.next() * hits.length)
  }
}

const FIRST: Balancer = { pick: () => 0 }
