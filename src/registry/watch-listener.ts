import { surfaceError } from '../tracker/surface.ts'
import { Viewer } from './viewer.ts'
import type { ViewerParts } from './viewer.ts'
import type { Snapshot } from './watch-types.ts'

/** A watch that calls back. */
export class WatchListener extends Viewer {
  readonly #listener: (snapshot: Snapshot) => void
  #last: Snapshot | undefined

  constructor(parts: ViewerParts, listener: (snapshot: Snapshot) => void) {
    super(parts)
    this.#listener = listener
  }

  override enter(closed: boolean): void {
    super.enter(closed)
    this.await()
    // Not before the caller holds what stops it.
    queueMicrotask(() => {
      if (this.isWatching) this.wake()
      this.await()
    })
  }

  stop(): void {
    this.#last = undefined
    this.leave()
  }

  wake(): boolean {
    this.#call(this.take())
    return true
  }

  protected end(last: Snapshot | undefined): void {
    this.#last = last
    // Not from within the close of the registry, which a listener may call itself.
    queueMicrotask(() => this.#call(this.#last))
  }

  protected fail(): void {
    // Who aborts it knows.
  }

  #call(snapshot: Snapshot | undefined): void {
    if (snapshot === undefined) return
    try {
      this.#listener(snapshot)
    } catch (error) {
      surfaceError(error)
    }
  }
}
