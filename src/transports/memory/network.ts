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
      if (this.#pass(from.address, dial.address, () => this.#knocked(dial, answer, begun, accepted))) return
      clock.setTimer(knock, retryMs)
      retryMs *= 2
    }
    const answer = (outcome: DialOutcome): void => {
      if (over || this.#pass(dial.address, from.address, () => from.clock.setTimer(() => finish(outcome), 0)))
        return
      clock.setTimer(knock, retryMs)
    }
    const begun = (end: ConnectionEnd): void => {
      near = end
    }
    const accepted = (end: ConnectionEnd): void => {
      if (over || !from.alive) {
        end.close()
        return
      }
      from.opened(end)
      finish('connected')
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

  #knocked(
    dial: Dial,
    answer: (outcome: DialOutcome) => void,
    begun: (end: ConnectionEnd) => void,
    accepted: (end: ConnectionEnd) => void,
  ): void {
    const target = this.#listeners.get(dial.address)
    if (target === undefined) {
      answer('refused')
      return
    }
    // A stalled process is connected to by its machine, but does not answer.
    target.clock.setTimer(() => {
      // The machine of a dialler that has ended meanwhile breaks the connection off before it is one.
      if (dial.from.over) return
      if (!target.alive) answer('refused')
      else if (dial.expected !== undefined && dial.expected !== target.id) answer('refused')
      else if (target.admits(dial.from))
        begun(ConnectionEnd.accept(this.settings, dial.from, target, accepted))
      else answer('met')
    }, 0)
  }
}
