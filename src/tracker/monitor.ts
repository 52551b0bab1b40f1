import { RollcallError } from '../errors.ts'
import { endOf, follow, isFollowable } from './follow.ts'
import { MonitorState } from './monitor-state.ts'
import type { CloseListener } from './monitor-state.ts'
import type { Clock, Timer } from './ports.ts'
import { backgroundClock } from './system.ts'

export interface MonitorOptions {
  /** Closes the monitor when it aborts, with its reason. Keeps the monitor open when the handle is dropped. */
  readonly signal?: AbortSignal | undefined
}

export interface LeaseOptions {
  /** Default: the system's monotonic clock, with a timer that does not keep the process alive. */
  readonly clock?: Clock | undefined
}

const forgotten = new FinalizationRegistry<MonitorState>((state) => {
  // With nothing tied to it, nothing is lost by forgetting it.
  if (state.closed || !state.isObserved) return
  state.close('garbage collected')
  process.emitWarning('A monitor was garbage collected while open, so all that was tied to it is gone.', {
    type: 'RollcallWarning',
    code: 'ROLLCALL_MONITOR_FORGOTTEN',
    detail: 'Keep a reference to a monitor for as long as it should be open, or close it.',
  })
})

let stateOf: (monitor: Monitor) => MonitorState

/**
 * The life that entries are tied to: closed monitor, gone entries, everywhere. One may own many entries.
 *
 * Closed by `close`, by `using`, by a signal, or by the end of what it follows (`Monitor.of`). One that is
 * garbage collected while open and in use closes itself and warns (`process.emitWarning`, once each).
 */
export class Monitor implements Disposable {
  readonly #state = new MonitorState()

  static {
    stateOf = (monitor) => monitor.#state
  }

  /** Throws `ROLLCALL_INVALID_OPTION` when `signal` is not an `AbortSignal`. One that has aborted makes a closed monitor. */
  constructor({ signal }: MonitorOptions = {}) {
    forgotten.register(this, this.#state)
    if (signal === undefined) return
    if (!(signal instanceof AbortSignal)) {
      throw new RollcallError('ROLLCALL_INVALID_OPTION', 'signal must be an AbortSignal')
    }
    this.#follow(signal)
  }

  /**
   * A monitor that lives as long as a thing does: a `net` or `http` `Server` (until `close`), a `Worker` or
   * `ChildProcess` (until `exit`), a socket, another monitor, an `AbortSignal`, or any emitter of `close` or
   * `exit`. A thing that is dead already gives a closed monitor; a server that does not listen yet is alive.
   * The thing keeps the monitor, so the handle may be dropped.
   *
   * Throws `ROLLCALL_INVALID_ARGUMENT` for what is none of these.
   */
  static of(thing: object): Monitor {
    const source = thing instanceof Monitor ? thing.#state : thing
    if (!isFollowable(source)) {
      throw new RollcallError(
        'ROLLCALL_INVALID_ARGUMENT',
        'a monitor follows another monitor, an AbortSignal, or an emitter of close or exit',
      )
    }
    const monitor = new Monitor()
    monitor.#follow(source)
    return monitor
  }

  /** A monitor that lives for `ms`, and as long again with every `renew`. Throws `ROLLCALL_INVALID_ARGUMENT`. */
  static lease(ms: number, options?: LeaseOptions): Lease {
    return new Lease(ms, options)
  }

  get closed(): boolean {
    return this.#state.closed
  }

  /** What it was closed with: the argument of `close`, a signal's reason, `'close'`, `'exit'`, `'expired'`; undefined while open. */
  get reason(): unknown {
    return this.#state.reason
  }

  /** Ends the life. Listeners are called before it returns. A second close is nothing; the first reason stays. */
  close(reason?: unknown): void {
    this.#state.close(reason)
  }

  /**
   * Calls back once when the monitor closes: within `close`, or in a microtask when it is closed already.
   * Returns a function that calls it off. What a listener throws surfaces as `uncaughtException`.
   */
  onClose(listener: CloseListener): () => void {
    return this.#state.onClose(listener)
  }

  [Symbol.dispose](): void {
    this.close('disposed')
  }

  #follow(source: Parameters<typeof follow>[0]): void {
    const end = endOf(source)
    if (end !== undefined) {
      this.close(end.reason)
      return
    }
    const unfollow = follow(source, (reason) => this.close(reason))
    this.#state.onCleanup(unfollow)
  }
}

/** A monitor that closes, reason `'expired'`, unless it is renewed in time. A dropped handle lets it run out. */
export class Lease extends Monitor {
  readonly #ms: number
  readonly #clock: Clock
  #timer: Timer

  /** Throws `ROLLCALL_INVALID_ARGUMENT` unless `ms` is a finite number above 0. */
  constructor(ms: number, { clock = backgroundClock }: LeaseOptions = {}) {
    super()
    this.#ms = checkDuration(ms)
    this.#clock = clock
    this.#timer = this.#start(ms)
    // The listener holds the timer through this lease, and the state holds the listener: no longer than it is open.
    stateOf(this).onCleanup(() => this.#timer.cancel())
  }

  /** Starts its time anew: `ms` from now, by default what it was made with. Throws `ROLLCALL_MONITOR_CLOSED`. */
  renew(ms: number = this.#ms): void {
    checkDuration(ms)
    if (this.closed) throw new RollcallError('ROLLCALL_MONITOR_CLOSED', 'a closed lease cannot be renewed')
    this.#timer.cancel()
    this.#timer = this.#start(ms)
  }

  #start(ms: number): Timer {
    return this.#clock.setTimer(() => this.close('expired'), ms)
  }
}

/** The life behind a handle, for those who tie something to it. Not part of the package's interface. */
export const monitorState = (monitor: Monitor): MonitorState => stateOf(monitor)

function checkDuration(ms: number): number {
  if (Number.isFinite(ms) && ms > 0) return ms
  throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', `a lease of ${ms} ms: must be a number above 0`)
}
