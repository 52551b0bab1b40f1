import type { Random } from '../tracker/ports.ts'

const rotateLeft = (x: number, by: number): number => (x << by) | (x >>> (32 - by))

/** FNV-1a over UTF-16 units, then the finaliser of MurmurHash3: close labels give unrelated seeds. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) h = Math.imul(h ^ text.charCodeAt(index), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** The state of a generator: four unsigned 32-bit words, not all zero. */
export type RandomState = readonly [number, number, number, number]

/**
 * Seeded chance: the same seed gives the same numbers on every machine.
 *
 * xoshiro128** 1.1 by Blackman and Vigna (https://prng.di.unimi.it/xoshiro128starstar.c). Not for secrets.
 */
export class SeededRandom implements Random {
  readonly seed: number | string
  #a: number
  #b: number
  #c: number
  #d: number

  /** `state` sets the generator itself, for reference vectors; otherwise it is derived from the seed. */
  constructor(seed: number | string, state?: RandomState) {
    this.seed = seed
    const words = state ?? ([0, 1, 2, 3].map((word) => hash(`${seed}/${word}`)) as unknown as RandomState)
    ;[this.#a, this.#b, this.#c, this.#d] = words
    // All zero is the one state that xoshiro never leaves.
    if ((this.#a | this.#b | this.#c | this.#d) === 0) this.#a = 1
  }

  /** Unsigned 32 bits. */
  uint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9) >>> 0
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = rotateLeft(this.#d, 11)
    return result
  }

  next(): number {
    return this.uint32() / 0x1_0000_0000
  }

  /** Uniform in [min, max). */
  between(min: number, max: number): number {
    return min + this.next() * (max - min)
  }

  /** True with this probability. Draws in every case, so changing a probability does not shift what follows. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** One of these. Throws a `RangeError` when there is none. */
  pick<T>(choices: readonly T[]): T {
    const index = Math.floor(this.next() * choices.length)
    if (index >= choices.length) throw new RangeError('nothing to pick from')
    return choices[index] as T
  }

  /**
   * A generator of its own for one purpose. Does not draw from this one, so a draw added for one purpose
   * shifts nothing in the others. The same label gives the same generator.
   */
  fork(label: string): SeededRandom {
    return new SeededRandom(`${this.seed}/${label}`)
  }
}
