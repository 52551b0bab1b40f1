import { surfaceError } from './surface.ts'

export type CloseListener = (reason: unknown) => void

/**
 * The life behind a monitor. The handle (`Monitor`) is what a caller holds; whoever ties something to that life
 * holds this, so that it does not keep a forgotten handle from being collected.
 */
export class MonitorState {
  readonly #listeners = new Set<{ readonly call: CloseListener }>()
  #cleanup: (() => void) | undefined
  #closed = false
  #reason: unknown = undefined

  get closed(): boolean {
    return this.#closed
  }

  /** What it was closed with; undefined while open. */
  get reason(): unknown {
    return this.#reason
  }

  /** Something is tied to this life. */
  get isObserved(): boolean {
    return this.#listeners.size > 0
  }

  /** Calls the listeners at once, in the order they came, each once. A second close is nothing. */
  close(reason: unknown): void {
    if (this.#closed) return
    this.#closed = true
    this.#reason = reason
    this.#cleanup?.()
    this.#cleanup = undefined
    for (const listener of this.#listeners) {
      this.#listeners.delete(listener)
      call(listener.call, reason)
    }
  }

  /** What its maker takes back at the close. Does not count as something tied to it. At most one. */
  onCleanup(cleanup: () => void): void {
    this.#cleanup = cleanup
  }

  /**
   * Calls back once when this closes; in a microtask when it is closed already, so never before the caller has
   * the function that this returns. That function calls it off. A listener that throws surfaces as uncaught.
   */
  onClose(listener: CloseListener): () => void {
    const entry = { call: listener }
    this.#listeners.add(entry)
    if (this.#closed) {
      queueMicrotask(() => {
        if (this.#listeners.delete(entry)) call(listener, this.#reason)
      })
    }
    return () => {
      this.#listeners.delete(entry)
    }
  }
}

function call(listener: CloseListener, reason: unknown): void {
  try {
    listener(reason)
  } catch (error) {
    surfaceError(error)
  }
}
