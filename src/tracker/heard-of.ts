import type { Head, NodeId } from '../core/frame.ts'

/** What a peer told when a sync began. */
export interface Word {
  /** What it held of this node; undefined when it did not show this node. */
  readonly head: Head | undefined
  readonly at: number
}

/** What peers told in syncs of this node itself. */
export class HeardOf {
  readonly #limit: number
  readonly #words = new Map<NodeId, Word>()

  /** @param limit - peers remembered; the one heard longest ago gives way */
  constructor(limit: number) {
    this.#limit = limit
  }

  note(peer: NodeId, word: Word): void {
    this.#words.delete(peer)
    this.#words.set(peer, word)
    const [oldest] = this.#words.keys()
    if (this.#words.size > this.#limit && oldest !== undefined) this.#words.delete(oldest)
  }

  get(peer: NodeId): Word | undefined {
    return this.#words.get(peer)
  }
}
