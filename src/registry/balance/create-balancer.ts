import type { Random } from '../../tracker/ports.ts'
import type { Balance } from '../types.ts'
import type { Balancer } from './balancer.ts'
import type { CallBook } from './call-book.ts'
import { LeastPending } from './least-pending.ts'
import { RandomChoice } from './random-choice.ts'
import { Rendezvous } from './rendezvous.ts'
import { RoundRobin } from './round-robin.ts'
import { Weighted } from './weighted.ts'

const FIRST: Balancer = { pick: () => 0 }

/** Throws nothing: `balance` is checked. */
export function createBalancer(balance: Balance, random: Random, calls: CallBook): Balancer {
  switch (balance) {
    case 'round-robin':
      return new RoundRobin(random)
    case 'random':
      return new RandomChoice(random)
    case 'weighted':
      return new Weighted(random)
    case 'least-pending':
      return new LeastPending(random, calls)
    case 'hash':
      return new Rendezvous()
    case 'first':
      return FIRST
  }
}
