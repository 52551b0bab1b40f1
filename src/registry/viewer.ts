import type { Audience, Spectator } from './audience.ts'
import type { Snapshot } from './watch-types.ts'

/** How a viewer begins, and what may end it. */
export interface ViewerParts {
  readonly audience: Audience
  /** Where it left off, if it said so. */
  readonly place: 'present' | 'past' | 'unknown' | undefined
  readonly signal: AbortSignal | undefined
}

/** One consumer of a watch: what it has seen, so that it takes each state at most once, and what ends it. */
export abstract class Viewer implements Spectator {
  readonly #audience: Audience
  readonly #signal: AbortSignal | undefined
  #seen: Snapshot | undefined
  #resets: boolean

  constructor({ audience, place, signal }: ViewerParts) {
    this.#audience = audience
    this.#signal = signal
    this.#resets = place === 'unknown'
    const { view } = audience
    // Those who stand in come and go without a change of the service, so its revision does not tell what was seen.
    if (place === 'present' && view.query.stale !== 'keep-last') this.#seen = view.snapshot()
  }

  abstract wake(): boolean

  /** False before it begins, and after its end. */
  protected get isWatching(): boolean {
    return this.#audience.has(this)
  }

  /** The registry has closed. `last` is what it has not seen yet. */
  protected abstract end(last: Snapshot | undefined): void

  /** Its signal has aborted. */
  protected abstract fail(reason: unknown): void

  /** Begins. With a signal that has aborted, or a registry that has closed, it ends at once. */
  enter(closed: boolean): void {
    this.#audience.enter(this)
    this.#signal?.addEventListener('abort', this.#aborted)
    if (this.#signal?.aborted === true) this.#aborted()
    else if (closed) {
      this.leave()
      this.end(undefined)
    }
  }

  /** Lets go of everything. A second time is nothing. */
  leave(): void {
    this.#signal?.removeEventListener('abort', this.#aborted)
    this.#audience.leave(this)
  }

  close(): void {
    const last = this.take()
    this.leave()
    this.end(last)
  }

  /** What is shown now; undefined when it has seen that. */
  protected take(): Snapshot | undefined {
    const snapshot = this.#audience.view.snapshot()
    if (this.#seen !== undefined && tellsTheSame(snapshot, this.#seen)) return undefined
    this.#seen = snapshot
    this.#audience.took(this)
    if (!this.#resets) return snapshot
    this.#resets = false
    return Object.freeze({ ...snapshot, reset: true })
  }

  /** To be woken by the next change. */
  protected await(): void {
    this.#audience.await(this)
  }

  readonly #aborted = (): void => {
    this.leave()
    this.fail(this.#signal?.reason)
  }
}

/** Who stands in is another object than when it was found, so the list tells also whether it is stale. */
const tellsTheSame = (a: Snapshot, b: Snapshot): boolean =>
  a.instances === b.instances && a.degraded === b.degraded
