import type { Head, NodeId } from './frame.ts'
import type { Sign } from './liveness.ts'

/** What is remembered of an owner that left or was purged, so that no late frame revives it (J4). */
export interface Retired {
  readonly incarnation: number
  /** Highest version of it that was known: a relay that is behind must not bring back less (J2). */
  readonly version: number
  /** Newest beat known when it was purged; Infinity when it left: that incarnation is over. */
  readonly beat: number
}

/** True when `sign` may make a retired owner known again: a higher incarnation, or a newer beat of its own. */
export const revives = (retired: Retired | undefined, sign: Pick<Sign, 'incarnation' | 'beat'>): boolean =>
  retired === undefined ||
  sign.incarnation > retired.incarnation ||
  (sign.incarnation === retired.incarnation && sign.beat > retired.beat)

/** The last words of owners that are gone, bounded: the one retired longest ago is dropped first. */
export class RetiredTable {
  readonly #limit: number
  readonly #retired = new Map<NodeId, Retired>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#retired.size
  }

  get(node: NodeId): Retired | undefined {
    return this.#retired.get(node)
  }

  add(node: NodeId, retired: Retired): void {
    this.#retired.delete(node)
    this.#retired.set(node, retired)
    if (this.#retired.size <= this.#limit) return
    for (const oldest of this.#retired.keys()) {
      this.#retired.delete(oldest)
      return
    }
  }

  delete(node: NodeId): void {
    this.#retired.delete(node)
  }

  /** True when this incarnation of the node is known to have left. */
  hasLeft(node: NodeId, { incarnation }: Pick<Head, 'incarnation'>): boolean {
    const retired = this.#retired.get(node)
    return retired !== undefined && retired.beat === Infinity && incarnation <= retired.incarnation
  }
}
