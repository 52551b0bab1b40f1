import type { NodeId } from '../../core/frame.ts'
import { RollcallError } from '../../errors.ts'
import type { Timer } from '../../tracker/ports.ts'
import { ConnectionEnd } from './connection.ts'
import type { Endpoint } from './connection.ts'
import { fate, resolveSettings } from './settings.ts'
import type { MemoryNetworkOptions, NetworkSettings } from './settings.ts'

/** First wait before a dial that got lost is sent again. TCP waits 1 s; shorter, so that a healed link is soon in use. */
const REDIAL_LOST_MS = 500

/**
 * What came of a dial. `met`: the peer is there and the connection exists already, or is being made from its side.
 * `refused`: nothing listens there, or another node does. `unknown`: no answer in time.
 */
export type DialOutcome = 'connected' | 'met' | 'refused' | 'unknown'

/** A process that listens. */
export interface Listener extends Endpoint {
  /** False when this dial is not wanted, because a connection with this dialler exists or is being made. */
  admits(dialler: Endpoint): boolean
}

export interface Dial {
  readonly from: Endpoint
  readonly address: string
  /** Who must be there. Undefined: anyone. */
  readonly expected: NodeId | undefined
  readonly done: (outcome: DialOutcome) => void
}

/** What a dial hears of the place that it came to. */
interface Caller {
  readonly answer: (outcome: DialOutcome) => void
  readonly begun: (end: ConnectionEnd) => void
  readonly accepted: (end: ConnectionEnd) => void
  readonly broken: () => void
}

/**
 * A network inside one process. Transports made with `memoryTransport` on the same network reach each other;
 * delivery is always asynchronous. Without a policy nothing is lost or late.
 */
export class MemoryNetwork {
  /** For the parts of this transport. */
  readonly settings: NetworkSettings
  readonly #listeners = new Map<string, Listener>()
  #serial = 0
  #names = 0

  constructor(options: MemoryNetworkOptions = {}) {
    this.settings = resolveSettings(options)
  }

  /** A number that no other message of this network has. */
  nextSerial(): number {
    return (this.#serial += 1)
  }

  /** A node id that no other node of this network was given. */
  nextId(): NodeId {
    return `memory-${(this.#names += 1)}`
  }

  /** Throws `ROLLCALL_START_FAILED` when another process listens there. */
  listen(listener: Listener): void {
    if (this.#listeners.has(listener.address)) {
      throw new RollcallError('ROLLCALL_START_FAILED', `${listener.address} is in use`)
    }
    this.#listeners.set(listener.address, listener)
  }

  unlisten(listener: Listener): void {
    if (this.#listeners.get(listener.address) === listener) this.#listeners.delete(listener.address)
  }

  /** Dials once. `done` is called once, never synchronously, unless the returned dial is cancelled. */
  dial(dial: Dial): Timer {
    const { clock, dialTimeoutMs } = this.settings
    const { from } = dial
    let over = false
    let near: ConnectionEnd | undefined
    let retryMs = REDIAL_LOST_MS
    const finish = (outcome: DialOutcome): void => {
      if (over) return
      over = true
      timeout.cancel()
      dial.done(outcome)
    }
    const timeout = from.clock.setTimer(() => finish('unknown'), dialTimeoutMs)
    const knock = (): void => {
      if (over) return
      if (this.#pass(from.address, dial.address, () => this.#knocked(dial, caller))) return
      clock.setTimer(knock, retryMs)
      retryMs *= 2
    }
    const answer = (outcome: DialOutcome): void => {
      if (over || this.#pass(dial.address, from.address, () => from.clock.setTimer(() => finish(outcome), 0)))
        return
      clock.setTimer(knock, retryMs)
    }
    const caller: Caller = {
      answer,
      begun: (end) => {
        near = end
      },
      accepted: (end) => {
        if (over || !from.alive) {
          end.close()
          return
        }
        from.opened(end)
        finish('connected')
      },
      // As the dial whose answer got lost: sent again, it finds who listens there now.
      broken: knock,
    }
    knock()
    return {
      cancel() {
        over = true
        timeout.cancel()
        // The other end is open already: the machine of a dialler that has ended says that this one is not.
        if (from.over) near?.close()
      },
    }
  }

  /** False when the link lost it. */
  #pass(from: string, to: string, arrive: () => void): boolean {
    const [delay] = fate(this.settings, { from, to, kind: 'control', payload: undefined })
    if (delay === undefined) return false
    this.settings.clock.setTimer(arrive, delay)
    return true
  }

  #knocked(dial: Dial, caller: Caller): void {
    const target = this.#listeners.get(dial.address)
    if (target === undefined) {
      caller.answer('refused')
      return
    }
    // A stalled process is connected to by its machine, but does not answer.
    target.clock.setTimer(() => {
      // The machine of a dialler that has ended meanwhile breaks the connection off before it is one.
      if (dial.from.over) return
      if (!target.alive) caller.answer('refused')
      else if (dial.expected !== undefined && dial.expected !== target.id) caller.answer('refused')
      else if (target.admits(dial.from)) {
        caller.begun(ConnectionEnd.accept(this.settings, dial.from, target, caller.accepted, caller.broken))
      } else caller.answer('met')
    }, 0)
  }
}
