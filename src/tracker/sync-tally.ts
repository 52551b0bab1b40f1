import type { NodeId } from '../core/frame.ts'
import { RollcallError, type RollcallErrorCode } from '../errors.ts'
import { TrafficTally } from './traffic-tally.ts'

/**
 * Why there was a sync: two nodes connected; something is missing; it was time for one with a random neighbour; one
 * before had broken off, or stood still; a peer began it; a peer is connected and does not gossip.
 */
export const SYNC_CAUSES = ['connect', 'gap', 'regular', 'retry', 'hedge', 'answered', 'overheard'] as const

export type SyncCause = (typeof SYNC_CAUSES)[number]

/** Failures remembered: what went wrong last, not a history. */
const MAX_FAILURES = 8
/** Of a message: what a peer's implementation says may be long. */
const MAX_MESSAGE_LENGTH = 200

export interface SyncCount {
  begun: number
  failed: number
  frames: number
}

export interface SyncFailure {
  readonly peer: NodeId
  readonly cause: SyncCause
  readonly code: RollcallErrorCode
  readonly message: string
  readonly at: number
}

/** Counts syncs and what they send and bring, and remembers the last that failed. */
export class SyncTally {
  readonly counts: Readonly<Record<SyncCause, SyncCount>>
  readonly traffic = new TrafficTally()
  readonly #failures: SyncFailure[] = []

  constructor() {
    const none = (): SyncCount => ({ begun: 0, failed: 0, frames: 0 })
    this.counts = {
      connect: none(),
      gap: none(),
      regular: none(),
      retry: none(),
      hedge: none(),
      answered: none(),
      overheard: none(),
    }
  }

  /** The last ones, oldest first. */
  get failures(): readonly SyncFailure[] {
    return this.#failures
  }

  failed(peer: NodeId, cause: SyncCause, error: unknown, at: number): void {
    this.counts[cause].failed++
    const code = error instanceof RollcallError ? error.code : 'ROLLCALL_SYNC_FAILED'
    const text = error instanceof Error ? error.message : String(error)
    this.#failures.push({ peer, cause, code, message: text.slice(0, MAX_MESSAGE_LENGTH), at })
    if (this.#failures.length > MAX_FAILURES) this.#failures.shift()
  }
}
