import type { NodeId } from '../../core/frame.ts'
import type { Clock, DialState, Random, Timer } from '../../tracker/ports.ts'
import type { DialOutcome } from './network.ts'

/** Someone to be connected with: a node by its id, or a seed, whoever answers there. */
export interface Target {
  readonly peer: NodeId | undefined
  readonly addresses: readonly string[]
}

export interface RediallerOptions {
  readonly clock: Clock
  readonly random: Random
  readonly redialMs: number
  readonly redialMaxMs: number
  readonly isConnected: (target: Target) => boolean
  /** Dials every address of a target. Never synchronous. */
  readonly dial: (target: Target, done: (outcome: DialOutcome) => void) => Timer
  /** A dial failed. `first`: since the target was last connected. */
  readonly failed: (target: Target, outcome: 'refused' | 'unknown', first: boolean) => void
}

interface Pursuit {
  target: Target
  failures: number
  /** The pause, or the dial. */
  pending: Timer | undefined
  /** When the next dial begins; Infinity while none is planned. */
  nextAt: number
  outcome?: 'refused' | 'unknown'
}

/** Dials its targets until they are connected, with growing pauses, for ever. */
export class Redialler {
  readonly #options: RediallerOptions
  readonly #pursuits = new Map<string, Pursuit>()

  constructor(options: RediallerOptions) {
    this.#options = options
  }

  target(key: string): Target | undefined {
    return this.#pursuits.get(key)?.target
  }

  /** How many nodes are wanted, seeds not counted. */
  get peers(): number {
    let count = 0
    for (const { target } of this.#pursuits.values()) if (target.peer !== undefined) count++
    return count
  }

  /** Some node is wanted at this address. */
  seeksNodeAt(address: string): boolean {
    return [...this.#pursuits.values()].some(
      ({ target }) => target.peer !== undefined && target.addresses.includes(address),
    )
  }

  /** Wants a target, or wants it at other addresses. */
  want(key: string, target: Target): void {
    const pursuit = this.#pursuits.get(key) ?? {
      target,
      failures: 0,
      pending: undefined,
      nextAt: Infinity,
    }
    pursuit.target = target
    pursuit.failures = 0
    this.#pursuits.set(key, pursuit)
    this.#pursue(pursuit)
  }

  drop(key: string): void {
    this.#pursuits.get(key)?.pending?.cancel()
    this.#pursuits.delete(key)
  }

  /** A connection broke: whoever is not connected any more is dialled at once, which brings proof if it is dead. */
  lost(): void {
    for (const pursuit of this.#pursuits.values()) {
      if (pursuit.pending === undefined && !this.#options.isConnected(pursuit.target)) {
        pursuit.failures = 0
        this.#pursue(pursuit)
      }
    }
  }

  /** Whom it dials without success. */
  dials(): readonly DialState[] {
    return [...this.#pursuits].flatMap(([where, { failures, nextAt, outcome }]) =>
      failures === 0
        ? []
        : [{ where, failures, nextInMs: nextAt - this.#options.clock.now(), lastFailure: outcome }],
    )
  }

  stop(): void {
    for (const key of [...this.#pursuits.keys()]) this.drop(key)
  }

  #pursue(pursuit: Pursuit): void {
    pursuit.pending?.cancel()
    pursuit.pending = undefined
    pursuit.nextAt = Infinity
    const { target } = pursuit
    if (this.#options.isConnected(target)) {
      pursuit.failures = 0
      return
    }
    pursuit.pending = this.#options.dial(target, (outcome) => {
      pursuit.pending = undefined
      this.#settle(pursuit, target, outcome)
    })
  }

  #settle(pursuit: Pursuit, target: Target, outcome: DialOutcome): void {
    if (outcome === 'connected') {
      pursuit.failures = 0
      return
    }
    const pauseMs = this.#pauseMs(pursuit.failures)
    // Before the report: its receiver may drop the target.
    pursuit.pending = this.#options.clock.setTimer(() => this.#pursue(pursuit), pauseMs)
    pursuit.nextAt = this.#options.clock.now() + pauseMs
    if (outcome === 'met') return
    pursuit.failures += 1
    pursuit.outcome = outcome
    this.#options.failed(target, outcome, pursuit.failures === 1)
  }

  #pauseMs(failures: number): number {
    const { random, redialMs, redialMaxMs } = this.#options
    return Math.min(redialMaxMs, redialMs * 2 ** failures) * (0.5 + random.next() / 2)
  }
}
