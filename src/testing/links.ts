import type { LinkMessage } from '../transports/memory/settings.ts'
import type { SeededRandom } from './random.ts'

/** What one direction of one link does to what passes it. */
export interface LinkFaults {
  /** Probability that a message is lost. Gossip is gone; all else is sent again, so it is late. */
  readonly loss: number
  /** Least and most ms under way, uniform. Messages of gossip overtake each other within it. */
  readonly delayMs: readonly [min: number, max: number]
  /** Probability that a gossip message is delivered once more, up to `strayMs` later. */
  readonly repeat: number
  /** Probability that a gossip message is held back by up to `strayMs`, so that later ones overtake it. */
  readonly reorder: number
  /** How late a repeated or held back message can be. */
  readonly strayMs: number
}

/** No faults. The delays are those of a network inside one region; strays span a few beats of the default period. */
export const LINK_DEFAULTS: LinkFaults = { loss: 0, delayMs: [1, 5], repeat: 0, reorder: 0, strayMs: 5_000 }

const LOST: readonly number[] = []

/** One direction of one link. */
class Link {
  faults: LinkFaults
  open: boolean
  readonly #gossip: SeededRandom
  readonly #stream: SeededRandom

  constructor(faults: LinkFaults, open: boolean, random: SeededRandom) {
    this.faults = faults
    this.open = open
    this.#gossip = random.fork('gossip')
    this.#stream = random.fork('stream')
  }

  pass(kind: LinkMessage['kind']): readonly number[] {
    if (!this.open) return LOST
    const { loss, delayMs, repeat, reorder, strayMs } = this.faults
    const random = kind === 'gossip' ? this.#gossip : this.#stream
    const lost = random.chance(loss)
    const delay = random.between(...delayMs)
    if (kind !== 'gossip') return lost ? LOST : [delay]
    const late = random.chance(reorder) ? random.between(0, strayMs) : 0
    const first = delay + late
    if (!random.chance(repeat)) return lost ? LOST : [first]
    // Also when the first is lost: the copy may take another way.
    const again = first + random.between(0, strayMs)
    return lost ? [again] : [first, again]
  }
}

const keyOf = (from: string, to: string): string => `${from} > ${to}`

/** All links between addresses: who can reach whom now, and how well. */
export class Links {
  readonly #random: SeededRandom
  readonly #common: LinkFaults
  readonly #links = new Map<string, Map<string, Link>>()
  readonly #faults = new Map<string, Partial<LinkFaults>>()
  /** Directions cut by a partition. */
  readonly #cut = new Set<string>()
  readonly #isolated = new Set<string>()
  /** Directions that do not exist. */
  readonly #removed = new Set<string>()
  /** When set, only these directions exist. */
  #allowed: Set<string> | undefined

  constructor(common: LinkFaults, random: SeededRandom) {
    this.#common = common
    this.#random = random
  }

  pass(message: LinkMessage): readonly number[] {
    return this.#link(message.from, message.to).pass(message.kind)
  }

  isOpen(from: string, to: string): boolean {
    return this.#exists(from, to) && !this.#cut.has(keyOf(from, to)) && !this.#isIsolated(from, to)
  }

  cut(from: string, to: string): void {
    this.#cut.add(keyOf(from, to))
    this.#refresh()
  }

  isolate(address: string): void {
    this.#isolated.add(address)
    this.#refresh()
  }

  /** Undoes `cut` and `isolate`. */
  heal(): void {
    this.#cut.clear()
    this.#isolated.clear()
    this.#refresh()
  }

  remove(from: string, to: string): void {
    this.#removed.add(keyOf(from, to))
    this.#refresh()
  }

  allowOnly(pairs: readonly (readonly [from: string, to: string])[]): void {
    this.#allowed = new Set(pairs.map(([from, to]) => keyOf(from, to)))
    this.#refresh()
  }

  /** Sets some faults of one direction; the others stay those of the network. */
  setFaults(from: string, to: string, faults: Partial<LinkFaults>): void {
    this.#faults.set(keyOf(from, to), faults)
    this.#link(from, to).faults = { ...this.#common, ...faults }
  }

  #isIsolated(from: string, to: string): boolean {
    return this.#isolated.has(from) || this.#isolated.has(to)
  }

  #exists(from: string, to: string): boolean {
    const key = keyOf(from, to)
    return !this.#removed.has(key) && (this.#allowed?.has(key) ?? true)
  }

  #refresh(): void {
    for (const [from, links] of this.#links) {
      for (const [to, link] of links) link.open = this.isOpen(from, to)
    }
  }

  #link(from: string, to: string): Link {
    let links = this.#links.get(from)
    if (links === undefined) {
      links = new Map()
      this.#links.set(from, links)
    }
    let link = links.get(to)
    if (link === undefined) {
      const faults = { ...this.#common, ...this.#faults.get(keyOf(from, to)) }
      link = new Link(faults, this.isOpen(from, to), this.#random.fork(keyOf(from, to)))
      links.set(to, link)
    }
    return link
  }
}
