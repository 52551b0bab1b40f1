import type { NodeId } from '../core/frame.ts'
import type { Clock } from './ports.ts'

/** Longest time a newcomer waits for its rivals to be looked at, ms: many dials to a living process, few to a hung one. */
const MAX_WAIT_MS = 1_000

/**
 * Holds back newcomers that bear the name or address of nodes that are up, until those have been looked at. So an
 * ordinary restart is the old one down, then the new one up (C12, C63), and not two of a name for a moment.
 */
export class Admission {
  readonly #clock: Clock
  readonly #look: (node: NodeId) => Promise<void>
  readonly #states = new Map<NodeId, 'waiting' | 'admitted'>()

  /** @param look - looks whether a node is alive, and draws the consequence; never rejects. */
  constructor(clock: Clock, look: (node: NodeId) => Promise<void>) {
    this.#clock = clock
    this.#look = look
  }

  /**
   * True when the newcomer may be shown. Else `then` is called once it may: when every rival was `looked` at, or after
   * a wait.
   */
  admits(newcomer: NodeId, rivals: readonly NodeId[], then: (looked: boolean) => void): boolean {
    const state = this.#states.get(newcomer)
    if (state !== undefined) return state === 'admitted'
    if (rivals.length === 0) return true
    this.#states.set(newcomer, 'waiting')
    const admit = (looked: boolean): void => {
      timer.cancel()
      if (this.#states.get(newcomer) !== 'waiting') return
      this.#states.set(newcomer, 'admitted')
      then(looked)
    }
    const timer = this.#clock.setTimer(() => admit(false), MAX_WAIT_MS)
    void Promise.all(rivals.map((rival) => this.#look(rival))).then(() => admit(true))
    return false
  }

  /** The newcomer was shown, or is gone: next time its rivals are looked at anew. */
  forget(node: NodeId): void {
    this.#states.delete(node)
  }
}
