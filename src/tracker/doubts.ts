import { settle, wentDown, type Flaps } from '../core/flaps.ts'
import type { NodeId } from '../core/frame.ts'
import type { ResolvedTrackerOptions } from './options.ts'
import type { Doubt, Suspicion } from './types.ts'

interface Suspect {
  readonly why: Suspicion
  readonly since: number
}

/**
 * Which nodes lookups avoid while there are others: those that do not answer, and those that come and go. Advice for this
 * node's own callers; nobody is hidden by it. Every operation but `tick` costs O(1).
 */
export class Doubts {
  readonly #options: Pick<ResolvedTrackerOptions, 'clock' | 'flapLimit' | 'flapWindowMs'>
  readonly #suspects = new Map<NodeId, Suspect>()
  readonly #flaps = new Map<NodeId, Flaps>()
  #flapped = 0
  #suspected = 0

  constructor(options: Pick<ResolvedTrackerOptions, 'clock' | 'flapLimit' | 'flapWindowMs'>) {
    this.#options = options
  }

  /** How often any node began to be suspected, and to be flapping. */
  get counts(): { readonly suspected: number; readonly flapping: number } {
    return { suspected: this.#suspected, flapping: this.#flapped }
  }

  suspicionOf(node: NodeId): Suspicion | undefined {
    return this.#suspects.get(node)?.why
  }

  /** On this node's clock; -Infinity for one that is not suspected. */
  suspectedSince(node: NodeId): number {
    return this.#suspects.get(node)?.since ?? -Infinity
  }

  isFlapping(node: NodeId): boolean {
    return this.#flaps.get(node)?.flapping === true
  }

  of(node: NodeId): Doubt | undefined {
    return this.suspicionOf(node) ?? (this.isFlapping(node) ? 'flapping' : undefined)
  }

  /** True when that is news. */
  suspect(node: NodeId, why: Suspicion): boolean {
    if (this.#suspects.has(node)) return false
    this.#suspects.set(node, { why, since: this.#options.clock.now() })
    this.#suspected++
    return true
  }

  /** The node gave a sign of life. True when it was suspected and is in no doubt any more. */
  clear(node: NodeId): boolean {
    return this.#suspects.delete(node) && !this.isFlapping(node)
  }

  /** The node went down: there is nothing left to suspect. True when it has just begun to be flapping. */
  down(node: NodeId): boolean {
    this.#suspects.delete(node)
    const { clock } = this.#options
    const before = this.#flaps.get(node)
    const after = wentDown(before, this.#options, clock.now())
    this.#flaps.set(node, after)
    if (!after.flapping || before?.flapping === true) return false
    this.#flapped++
    return true
  }

  /** Lets time pass. Returns who has been steady and is in no doubt any more. Costs the nodes that went down lately. */
  tick(): NodeId[] {
    const steady: NodeId[] = []
    for (const [node, before] of this.#flaps) {
      const after = settle(before, this.#options, this.#options.clock.now())
      if (after === undefined) this.#flaps.delete(node)
      else this.#flaps.set(node, after)
      if (before.flapping && after?.flapping !== true && !this.#suspects.has(node)) steady.push(node)
    }
    return steady
  }
}
