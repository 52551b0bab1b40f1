import type { Clock, Timer } from '../../tracker/ports.ts'
import { fate } from './settings.ts'
import type { NetworkSettings } from './settings.ts'

/** First wait before something lost is sent again: TCP's least retransmission time-out on Linux. */
const RETRANSMIT_MS = 200

/** TCP goes on doubling up to two minutes. Less here, so that a healed link is soon in use again. */
const RETRANSMIT_MAX_MS = 1_000

/** One end of a link, as a line needs it. */
export interface Party {
  readonly address: string
  /** Runs what arrives. A stalled party's clock holds it back. */
  readonly clock: Clock
  /** It has ended: nothing of it runs any more, but its machine still answers for it. */
  readonly over: boolean
}

/** What a node said, in contrast to what only keeps a connection. */
export interface Data {
  readonly kind: 'sync' | 'probe'
  readonly payload: Uint8Array
}

interface Queued<P> {
  readonly piece: P
  readonly data: Data | undefined
}

/**
 * One direction of a connection: pieces arrive in order, each once. What the link loses is sent again, and holds
 * up what follows it, as TCP does.
 */
export class OrderedLine<P> {
  readonly #settings: NetworkSettings
  readonly #from: Party
  readonly #to: Party
  readonly #deliver: (piece: P) => void
  #queue: Queued<P>[] = []
  /** Under way. Every arrival takes the first of these, so equal or nearly equal times cannot reorder them. */
  readonly #underWay: P[] = []
  #retry: Timer | undefined
  #retryMs = RETRANSMIT_MS
  #notBefore = 0
  #giveUpAt = Infinity

  constructor(settings: NetworkSettings, from: Party, to: Party, deliver: (piece: P) => void) {
    this.#settings = settings
    this.#from = from
    this.#to = to
    this.#deliver = deliver
  }

  /** Nothing waits to be sent again. */
  get idle(): boolean {
    return this.#queue.length === 0
  }

  send(piece: P, data?: Data): void {
    this.#queue.push({ piece, data })
    if (this.#retry === undefined) this.#pump()
  }

  /** Nothing sent from now on arrives before this moment of the network's clock. */
  holdUntil(at: number): void {
    this.#notBefore = Math.max(this.#notBefore, at)
  }

  /** The last piece: what was not under way yet is dropped, and after a while this one is given up too. */
  finish(piece: P): void {
    this.#queue = []
    this.#giveUpAt = this.#settings.clock.now() + this.#settings.partitionNoticeMs
    this.send(piece)
  }

  /** Something came in after the last piece: the machine answers at once with that, whatever it waits for. */
  finishAgain(piece: P): void {
    this.#retry?.cancel()
    this.#retry = undefined
    this.#retryMs = RETRANSMIT_MS
    this.finish(piece)
  }

  #pump(): void {
    const { clock } = this.#settings
    for (;;) {
      const next = this.#queue[0]
      if (next === undefined) return
      const [delay] = fate(this.#settings, {
        from: this.#from.address,
        to: this.#to.address,
        kind: next.data?.kind ?? 'control',
        payload: next.data?.payload,
      })
      if (delay === undefined) {
        this.#retryLater()
        return
      }
      this.#retryMs = RETRANSMIT_MS
      this.#queue.shift()
      this.#underWay.push(next.piece)
      this.holdUntil(clock.now() + delay)
      const receiver = this.#to.over ? clock : this.#to.clock
      receiver.setTimer(() => this.#arrive(), this.#notBefore - clock.now())
    }
  }

  #retryLater(): void {
    const { clock } = this.#settings
    if (clock.now() >= this.#giveUpAt) {
      this.#queue = []
      return
    }
    this.#retry = clock.setTimer(() => {
      this.#retry = undefined
      this.#pump()
    }, this.#retryMs)
    this.#retryMs = Math.min(2 * this.#retryMs, RETRANSMIT_MAX_MS)
  }

  #arrive(): void {
    const piece = this.#underWay.shift()
    if (piece !== undefined) this.#deliver(piece)
  }
}
