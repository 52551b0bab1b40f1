import { EventEmitter } from 'node:events'
import { RollcallError } from '../errors.ts'
import { surfaceError } from './surface.ts'

/**
 * Listeners on one event above which Node warns of a leak. A program watches a few dozen things at most; Node's
 * own 10 would warn a healthy one.
 */
const MAX_LISTENERS = 100

/**
 * A node:events emitter, typed by a map from event to payload, that only its own class can fire (`dispatch`).
 *
 * A listener that throws harms neither the other listeners nor the dispatcher: its error surfaces as
 * `uncaughtException`, that of an async one as `unhandledRejection`. An `error` that nobody listens to surfaces
 * too. Listeners added or removed during a dispatch count from the next one.
 */
export class Emitter<Events extends { [Event in keyof Events]: unknown[] }> extends EventEmitter<Events> {
  constructor() {
    super()
    this.setMaxListeners(MAX_LISTENERS)
  }

  /** Calls the listeners in the order they were added. True when there were any. */
  protected dispatch<Event extends keyof Events & string>(event: Event, ...payload: Events[Event]): boolean {
    const listeners = EventEmitter.prototype.rawListeners.call(this, event)
    for (const listener of listeners) {
      try {
        Reflect.apply(listener, this, payload)
      } catch (error) {
        surfaceError(error)
      }
    }
    if (listeners.length === 0 && event === 'error') surfaceError(payload[0])
    return listeners.length > 0
  }

  /**
   * Not for use, and typed so: events are facts that only this object knows. Throws
   * `ROLLCALL_INVALID_ARGUMENT`. It is here for functions that ask for a node:events emitter, such as
   * `events.once` and `events.on`.
   */
  override emit(event: never, ...payload: unknown[]): boolean {
    const name: string = event
    // These two node:events fires by itself.
    if (name === 'newListener' || name === 'removeListener') {
      return EventEmitter.prototype.emit.call(this, name, ...payload)
    }
    throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', `only its own object fires ${name}`)
  }
}
