import { RollcallError } from '../errors.ts'
import type { Channel, Clock, Timer } from './ports.ts'
import type { TrafficTally } from './traffic-tally.ts'

/**
 * A channel whose messages are counted, and that is broken off when neither side has moved for a while, or when a signal aborts. `stop` ends the watch;
 * after it, or after the signal, no timer of it is left.
 */
export class WatchedChannel implements Channel {
  readonly messages: AsyncIterable<Uint8Array>
  readonly #channel: Channel
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #tally: TrafficTally
  readonly #unfollow: () => void
  #timer: Timer | undefined
  #stillTimer: Timer | undefined
  /** When a message last went or came, on the clock. */
  movedAt: number

  constructor(channel: Channel, clock: Clock, timeoutMs: number, signal: AbortSignal, tally: TrafficTally) {
    this.#channel = channel
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#tally = tally
    this.movedAt = clock.now()
    this.messages = this.#receive()
    const abort = (): void => {
      this.stop()
      channel.abort(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)))
    }
    signal.addEventListener('abort', abort)
    this.#unfollow = () => signal.removeEventListener('abort', abort)
    this.#restart()
  }

  async send(message: Uint8Array): Promise<void> {
    this.#tally.send(message)
    await this.#channel.send(message)
    this.#moved()
  }

  close(): Promise<void> {
    return this.#channel.close()
  }

  abort(reason: Error): void {
    this.#channel.abort(reason)
  }

  /** Calls back once neither side has moved for so long; not after the end of the watch. */
  onStill(ms: number, callback: () => void): void {
    if (this.#timer === undefined) return
    const { movedAt } = this
    this.#stillTimer?.cancel()
    this.#stillTimer = this.#clock.setTimer(
      () => {
        if (this.movedAt > movedAt) this.onStill(ms, callback)
        else callback()
      },
      movedAt + ms - this.#clock.now(),
    )
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#stillTimer?.cancel()
    this.#unfollow()
  }

  async *#receive(): AsyncGenerator<Uint8Array, void> {
    for await (const message of this.#channel.messages) {
      this.#tally.receive(message)
      this.#moved()
      yield message
    }
  }

  #moved(): void {
    this.movedAt = this.#clock.now()
    // A send may resolve after the end of the watch.
    if (this.#timer === undefined) return
    this.#timer.cancel()
    this.#restart()
  }

  #restart(): void {
    this.#timer = this.#clock.setTimer(() => {
      this.abort(new RollcallError('ROLLCALL_SYNC_FAILED', `no progress for ${this.#timeoutMs} ms`))
    }, this.#timeoutMs)
  }
}
