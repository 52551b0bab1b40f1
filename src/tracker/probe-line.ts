import type { NodeId } from '../core/frame.ts'
import { RollcallError } from '../errors.ts'
import { decodeProbeMessage, encodeProbeMessage, type ProbeMessage } from '../wire/probe-message.ts'
import type { Channel, Clock, Timer } from './ports.ts'

export interface ProbeLinePorts {
  /** Opens a channel to the peer; rejects when that does not work, or when the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<Channel>
  /** The peer said something: a sign of life, also when it comes too late as an answer. */
  readonly heard: () => void
  /** A timer of this node came late: its own event loop was blocked. */
  readonly late: () => void
  /** What the peer said cannot be read. */
  readonly rejected: (error: RollcallError) => void
}

/** A timer up to this late is ordinary slack, ms. */
const SLACK_MS = 50

/**
 * Reads a probe channel to its end, and gives it up at the first message that is broken. Never rejects: how a channel
 * ended tells nothing that an answer that does not come would not tell.
 */
export async function readProbes(
  channel: Channel,
  take: (message: ProbeMessage) => Promise<void> | void,
  rejected: (error: RollcallError) => void,
): Promise<void> {
  try {
    for await (const bytes of channel.messages) {
      const message = decode(bytes, rejected)
      if (message === 'broken') break
      if (message !== undefined) await take(message)
    }
  } catch {
    // It broke.
  }
  channel.abort(new RollcallError('ROLLCALL_SYNC_FAILED', 'the probe channel is over'))
}

/** Undefined for a kind of a later protocol, which is passed over. */
function decode(
  bytes: Uint8Array,
  rejected: (error: RollcallError) => void,
): ProbeMessage | 'broken' | undefined {
  try {
    return decodeProbeMessage(bytes)
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error
    rejected(error)
    return error.code === 'ROLLCALL_MESSAGE_UNKNOWN' ? undefined : 'broken'
  }
}

/** What came of the pings on one line. */
export interface ProbeTally {
  readonly asked: number
  /** In a row, up to now. */
  readonly unanswered: number
  /** Of the last one that was answered in time. */
  readonly roundTripMs: number | undefined
}

interface Question {
  readonly answer: 'pong' | 'told'
  readonly settle: (alive: boolean) => void
}

/** Asks one peer questions, over a channel that is opened when first needed, and anew when it broke. */
export class ProbeLine {
  readonly #clock: Clock
  readonly #ports: ProbeLinePorts
  /** By the number of the question, what may answer it and what follows. */
  readonly #waiting = new Map<number, Question>()
  readonly #over = new AbortController()
  #channel: Promise<Channel> | undefined
  #number = 0
  #pings = 0
  #unanswered = 0
  #roundTripMs: number | undefined

  constructor(clock: Clock, ports: ProbeLinePorts) {
    this.#clock = clock
    this.#ports = ports
  }

  get tally(): ProbeTally {
    return { asked: this.#pings, unanswered: this.#unanswered, roundTripMs: this.#roundTripMs }
  }

  /** True when the peer answered in time. Never rejects. */
  async ping(timeoutMs: number): Promise<boolean> {
    this.#pings++
    const askedAt = this.#clock.now()
    const answered = await this.#ask((number) => ({ kind: 'ping', number }), 'pong', timeoutMs)
    this.#unanswered = answered ? 0 : this.#unanswered + 1
    if (answered) this.#roundTripMs = this.#clock.now() - askedAt
    return answered
  }

  /** True when the peer said in time that this node answers it. Never rejects. */
  ask(node: NodeId, timeoutMs: number): Promise<boolean> {
    return this.#ask((number) => ({ kind: 'ask', number, node }), 'told', timeoutMs)
  }

  /** Ends what is under way, unanswered. */
  stop(reason: Error): void {
    this.#over.abort(reason)
    for (const { settle } of this.#waiting.values()) settle(false)
    void this.#channel?.then((channel) => channel.abort(reason)).catch(() => undefined)
  }

  #ask(
    question: (number: number) => ProbeMessage,
    answer: Question['answer'],
    timeoutMs: number,
  ): Promise<boolean> {
    this.#number++
    const number = this.#number
    return new Promise((resolve) => {
      let timer: Timer | undefined
      const settle = (alive: boolean): void => {
        this.#waiting.delete(number)
        timer?.cancel()
        resolve(alive)
      }
      this.#waiting.set(number, { answer, settle })
      const wait = (): void => {
        const dueAt = this.#clock.now() + timeoutMs
        timer = this.#clock.setTimer(() => {
          if (this.#clock.now() - dueAt > SLACK_MS) {
            // We were away, and the answer may have come meanwhile: nobody is blamed for that.
            this.#ports.late()
            wait()
          } else {
            // One turn more, in which what has arrived is read.
            timer = this.#clock.setTimer(() => settle(false), 0)
          }
        }, timeoutMs)
      }
      wait()
      void this.#send(question(number))
    })
  }

  async #send(message: ProbeMessage): Promise<void> {
    try {
      const channel = await this.#open()
      await channel.send(encodeProbeMessage(message))
    } catch {
      // It stays unanswered, which is what counts.
    }
  }

  #open(): Promise<Channel> {
    if (this.#channel !== undefined) return this.#channel
    const channel = this.#ports.open(this.#over.signal)
    this.#channel = channel
    void channel
      .then((open) => readProbes(open, (message) => this.#take(message), this.#ports.rejected))
      .catch(() => undefined)
      .finally(() => (this.#channel = undefined))
    return channel
  }

  #take(message: ProbeMessage): void {
    this.#ports.heard()
    const question = this.#waiting.get(message.number)
    if (question === undefined || question.answer !== message.kind) return
    question.settle(message.kind !== 'told' || message.alive)
  }
}
