import type { Clock } from '../tracker/ports.ts'
import { argumentError } from './check.ts'
import { numberFault } from './service-fault.ts'
import type { ServiceView } from './service-view.ts'
import type { FilterOptions, Instance } from './types.ts'

export interface CachedResolverOptions extends FilterOptions {
  /** How long an answer stands. Longer asks less often, and names instances that are gone for as long. 0: not at all. */
  readonly ttlMs: number
  /** Default: any version. */
  readonly requirement?: string | undefined
}

/** Answers that may be old, for callers that choose to hold on to a list, and counters of what that spares and costs them. */
export class CachedResolver {
  readonly #view: ServiceView
  readonly #clock: Clock
  readonly #ttlMs: number
  #cached: readonly Instance[] = []
  #cachedAt = -Infinity
  /** The list that the cached one was last held against, and whether it lacked one. */
  #compared = this.#cached
  #lacksOne = false
  #resolves = 0
  #staleUses = 0

  /** Made by `registry.cachedResolver`. Throws `ROLLCALL_INVALID_ARGUMENT` unless `ttlMs` is a number of at least 0. */
  constructor(view: ServiceView, clock: Clock, ttlMs: number) {
    const fault = numberFault(ttlMs, 0, Number.MAX_SAFE_INTEGER)
    if (fault !== undefined) throw argumentError('The option ttlMs', ttlMs, fault)
    this.#view = view
    this.#clock = clock
    this.#ttlMs = ttlMs
  }

  /** Answers that were made anew. */
  get resolves(): number {
    return this.#resolves
  }

  /** Answers from memory of which an instance was gone by then, or not one to return any more. */
  get staleUses(): number {
    return this.#staleUses
  }

  /** As `lookupAll` answered less than `ttlMs` ago, nothing found included. Frozen. */
  resolve(): readonly Instance[] {
    const now = this.#clock.now()
    if (now - this.#cachedAt >= this.#ttlMs) {
      this.#resolves++
      this.#cachedAt = now
      this.#cached = this.#view.snapshot().instances
      return this.#cached
    }
    if (this.#isStale()) this.#staleUses++
    return this.#cached
  }

  /** Costs both lists after a change, else nothing. */
  #isStale(): boolean {
    const present = this.#view.snapshot().instances
    if (present === this.#cached) return false
    if (present !== this.#compared) {
      const ids = new Set(present.map(({ id }) => id))
      this.#compared = present
      this.#lacksOne = this.#cached.some(({ id }) => !ids.has(id))
    }
    return this.#lacksOne
  }
}
