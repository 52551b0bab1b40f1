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
  readonly #look: (node: NodeId) => Promise<boolean>
  readonly #states = new Map<NodeId, 'waiting' | 'admitted'>()

  /** @param look - true when a node was found alive; draws the consequence when it is dead; never rejects. */
  constructor(clock: Clock, look: (node: NodeId) => Promise<boolean>) {
    this.#clock = clock
    this.#look = look
  }

  /**
   * True when the newcomer may be shown. Else `then` is called once it may: when every rival was looked at, or after a
   * wait. `alive`: the rivals that were found to live.
   */
  admits(newcomer: NodeId, rivals: readonly NodeId[], then: (alive: ReadonlySet<NodeId>) => void): boolean {
    const state = this.#states.get(newcomer)
    if (state !== undefined) return state === 'admitted'
    if (rivals.length === 0) return true
    this.#states.set(newcomer, 'waiting')
    const alive = new Set<NodeId>()
    const admit = (): void => {
      timer.cancel()
      if (this.#states.get(newcomer) !== 'waiting') return
      this.#states.set(newcomer, 'admitted')
      then(alive)
    }
    const timer = this.#clock.setTimer(admit, MAX_WAIT_MS)
    const looks = rivals.map(async (rival) => {
      if (await this.#look(rival)) alive.add(rival)
    })
    void Promise.all(looks).then(admit)
    return false
  }

  /** The newcomer was shown, or is gone: next time its rivals are looked at anew. */
  forget(node: NodeId): void {
    this.#states.delete(node)
  }
}
