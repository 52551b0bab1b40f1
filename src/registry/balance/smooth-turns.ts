import { sum } from './weights.ts'

/** Longest cycle that is remembered; 4 B a turn. Instances of like or of small whole weights have a shorter one. */
const MAX_CYCLE = 4_096

/**
 * Who has the turn among instances of given weights: smooth weighted round-robin, the algorithm of nginx (commit
 * 52327e0627f4, "Upstream: smooth weighted round-robin balancing", 2012). Everyone gains its weight with every turn; who has
 * most has the turn, and pays the weight of all. Weights of 5, 1 and 1 give a a b a c a a.
 *
 * A turn costs one pass over the weights, until a cycle is complete: from then on the cycle is repeated.
 */
export class SmoothTurns {
  readonly #weights: Float64Array
  readonly #total: number
  readonly #gains: Float64Array
  /** Places in the order of their turns, of this cycle or of every one. Empty: the cycle is too long. */
  readonly #cycle: Uint32Array
  /** What everyone had gained when the cycle began. */
  readonly #start: Float64Array
  #turn = 0
  /** Whether a cycle has ended as it began. */
  #repeats = false

  /** Both whole numbers, of one length; `weights` not all 0. Owns `gains`, what everyone has gained before the first turn. */
  constructor(weights: Float64Array, gains: Float64Array) {
    this.#weights = weights
    this.#total = sum(weights)
    this.#gains = gains
    const length = this.#total / weights.reduce(greatestDivisor)
    this.#cycle = new Uint32Array(length <= MAX_CYCLE ? length : 0)
    this.#start = gains.slice()
  }

  /** A place in the weights. */
  next(): number {
    const turn = this.#turn
    const { length } = this.#cycle
    if (length === 0) return this.#choose()
    this.#turn = turn + 1 < length ? turn + 1 : 0
    if (this.#repeats) return this.#cycle[turn] ?? 0
    const place = this.#choose()
    this.#cycle[turn] = place
    if (this.#turn === 0) this.#close()
    return place
  }

  /** What everyone has gained, as a share of the whole. */
  standings(): Float64Array {
    const gains = this.#gains.slice()
    if (this.#repeats) {
      for (const [at, weight] of this.#weights.entries()) gains[at] = (gains[at] ?? 0) + this.#turn * weight
      for (const place of this.#cycle.subarray(0, this.#turn))
        gains[place] = (gains[place] ?? 0) - this.#total
    }
    return gains.map((gain) => gain / this.#total)
  }

  #choose(): number {
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

  /** The first cycles may still even out where everyone stood at first. */
  #close(): void {
    this.#repeats = this.#gains.every((gain, at) => gain === this.#start[at])
    this.#start.set(this.#gains)
  }
}

function greatestDivisor(a: number, b: number): number {
  let [one, other] = [a, b]
  while (other !== 0) [one, other] = [other, one % other]
  return one
}
