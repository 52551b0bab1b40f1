import type { Frame } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Writer } from '../core/writer.ts'
import { encodeBeat } from '../wire/gossip.ts'
import type { TrafficTally } from './traffic-tally.ts'
import { heartbeatPeriods, type ResolvedTrackerOptions } from './options.ts'
import type { Timer } from './ports.ts'

/**
 * What this node says on the gossip topic, and when: writes with the next tick (`flush: 'period'`) or turn
 * (`'eager'`), and heartbeats. After a write heartbeats come 1, 2, 4, … periods apart up to the idle pace, so
 * that a lost frame is noticed soon, at no cost to a node that is idle.
 */
export class Beater {
  readonly #options: ResolvedTrackerOptions
  readonly #writer: Writer<Json>
  readonly #tally: TrafficTally
  readonly #idlePeriods: number
  #beat = 0
  /** When the next heartbeat is due. By the clock: after a stall fewer ticks came than periods passed. */
  #dueAt = -Infinity
  /** Periods between the last two heartbeats. */
  #pace = 1
  #flushTimer: Timer | undefined
  #flushedAt = -Infinity
  #over = false

  constructor(options: ResolvedTrackerOptions, writer: Writer<Json>, tally: TrafficTally) {
    this.#options = options
    this.#writer = writer
    this.#tally = tally
    this.#idlePeriods = heartbeatPeriods(options)
  }

  /** Number of the newest beat of this incarnation. */
  get beat(): number {
    return this.#beat
  }

  /** The next beat comes within this many ms. */
  get promiseMs(): number {
    return this.#idlePeriods * this.#options.broadcastPeriodMs
  }

  /** Once every broadcast period. */
  tick(): void {
    if (this.#writer.pending) {
      this.#flush()
      return
    }
    const { clock, broadcastPeriodMs } = this.#options
    const now = clock.now()
    if (now < this.#dueAt) return
    this.#pace = Math.min(2 * this.#pace, this.#idlePeriods)
    // Half a period early, so that the tick it is meant for is not passed over for coming a little soon.
    this.#dueAt = now + (this.#pace - 0.5) * broadcastPeriodMs
    void this.#publish(this.#writer.take(), false)
  }

  /** There is something to send. */
  wrote(): void {
    if (this.#options.flush !== 'eager' || this.#flushTimer !== undefined || this.#over) return
    const { clock, flushIntervalMs } = this.#options
    const waitMs = Math.max(0, this.#flushedAt + flushIntervalMs - clock.now())
    this.#flushTimer = clock.setTimer(() => {
      this.#flushTimer = undefined
      if (this.#writer.pending) this.#flush()
    }, waitMs)
  }

  /** Sends what is not sent yet, whatever `flush` says. */
  flush(): void {
    if (this.#writer.pending && !this.#over) this.#flush()
  }

  /** Says now that this node lives, for those who doubt it, unless it did so just now: hints may come by the hundred. */
  speak(): void {
    const { clock, probeTimeoutMs } = this.#options
    if (!this.#over && clock.now() - this.#flushedAt >= probeTimeoutMs) this.#flush()
  }

  /** A new incarnation begins: its beats count from 1. */
  reborn(): void {
    this.#beat = 0
    this.#flush()
  }

  /** The last word. Resolves once it was handed to the neighbours; nothing is sent after it. */
  async leave(): Promise<void> {
    this.stop()
    const head = this.#writer.version
    await this.#publish({ incarnation: this.#writer.incarnation, from: head, to: head, writes: [] }, true)
  }

  stop(): void {
    this.#over = true
    this.#flushTimer?.cancel()
    this.#flushTimer = undefined
  }

  #flush(): void {
    this.#flushedAt = this.#options.clock.now()
    this.#pace = 1
    this.#dueAt = this.#flushedAt
    void this.#publish(this.#writer.take(), false)
  }

  async #publish(frame: Frame<Json>, left: boolean): Promise<void> {
    this.#beat++
    const beat = { ...frame, beat: this.#beat, promiseMs: this.promiseMs, left }
    // A frame too big for gossip is only announced: the others see the gap and pull it by a sync.
    const bytes =
      encodeBeat(beat, this.#options.maxFrameBytes) ??
      encodeBeat({ ...beat, from: frame.to, writes: [] }, this.#options.maxFrameBytes)
    if (bytes === undefined) return
    this.#tally.send(bytes)
    await this.#options.transport.publish(bytes)
  }
}
