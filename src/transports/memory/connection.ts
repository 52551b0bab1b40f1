import type { NodeId } from '../../core/frame.ts'
import { RollcallError } from '../../errors.ts'
import type { Channel, ChannelPurpose, Timer } from '../../tracker/ports.ts'
import { ChannelTable } from './channel-table.ts'
import type { ChannelPiece } from './channel-table.ts'
import { OrderedLine } from './ordered-line.ts'
import type { Data, Party } from './ordered-line.ts'
import { fate } from './settings.ts'
import type { NetworkSettings } from './settings.ts'

/** A gossip message on its way. */
export interface Gossip {
  /** Unique in the network. */
  readonly serial: number
  readonly author: NodeId
  readonly payload: Uint8Array
}

/** A process at an address, as its connections see it. */
export interface Endpoint extends Party {
  readonly id: NodeId
  /** False once it was stopped or has crashed. */
  readonly alive: boolean
  /** An end of ours is open. */
  opened(end: ConnectionEnd): void
  /** It broke, or the other end closed it. Not called for what this side closes itself. */
  closed(end: ConnectionEnd): void
  /** `again`: the link delivered it once more. */
  heard(end: ConnectionEnd, gossip: Gossip, again: boolean): void
  /** The other end opened a channel. */
  incoming(end: ConnectionEnd, purpose: ChannelPurpose, channel: Channel): void
}

/** Longest time for which a message of gossip holds up what follows it: TCP's least retransmission time-out on Linux. */
const MAX_HOLD_MS = 200

type Signal = 'accept' | 'alive' | 'ping' | 'pong' | 'reset'
type Piece = { readonly kind: Signal } | ChannelPiece

/** A sign of life goes out this many times in `partitionNoticeMs`, so a few late ones break nothing. */
const SIGNS_OF_LIFE = 3

/** One end of a connection between two processes: gossip that may be lost, channels and signals that may not. */
export class ConnectionEnd {
  readonly local: Endpoint
  readonly remote: Endpoint
  readonly #settings: NetworkSettings
  readonly #line: OrderedLine<Piece>
  readonly #channels: ChannelTable
  #other: ConnectionEnd | undefined
  #state: 'opening' | 'open' | 'closed' = 'opening'
  #dialled: { accepted(): void; broken(): void } | undefined
  #heardAt = 0
  #watch: Timer | undefined
  #pings: ((answered: boolean) => void)[] = []

  private constructor(settings: NetworkSettings, local: Endpoint, remote: Endpoint, firstNumber: 1 | 2) {
    this.#settings = settings
    this.local = local
    this.remote = remote
    this.#line = new OrderedLine(settings, local, remote, (piece) => this.#other?.receive(piece))
    this.#channels = new ChannelTable({
      firstNumber,
      windowBytes: settings.windowBytes,
      send: (piece, data) => this.#send(piece, data),
      incoming: (purpose, channel) => this.local.incoming(this, purpose, channel),
    })
  }

  /**
   * Makes a connection that `target` has accepted. Returns the dialler's end. Then either `accepted` is called, once that
   * is open, or `broken`, when the acceptance got lost and only the reset came through.
   */
  static accept(
    settings: NetworkSettings,
    dialler: Endpoint,
    target: Endpoint,
    accepted: (end: ConnectionEnd) => void,
    broken: () => void,
  ): ConnectionEnd {
    const near = new ConnectionEnd(settings, dialler, target, 1)
    const far = new ConnectionEnd(settings, target, dialler, 2)
    near.#other = far
    far.#other = near
    near.#dialled = { accepted: () => accepted(near), broken }
    far.#line.send({ kind: 'accept' })
    far.#open()
    target.opened(far)
    return near
  }

  get state(): 'opening' | 'open' | 'closed' {
    return this.#state
  }

  /** Neither end has noticed anything wrong. */
  get whole(): boolean {
    return this.#state !== 'closed' && this.#other?.state !== 'closed'
  }

  gossip(gossip: Gossip): void {
    const { clock } = this.#settings
    const copies = fate(this.#settings, {
      from: this.local.address,
      to: this.remote.address,
      kind: 'gossip',
      payload: gossip.payload,
    })
    for (const [copy, delay] of copies.entries()) {
      const again = copy > 0
      // A reset that follows travels on the same socket, so it must not overtake a goodbye; but one message that has gone
      // astray must not keep the end of a connection secret for seconds.
      if (!again) this.#line.holdUntil(clock.now() + Math.min(delay, MAX_HOLD_MS))
      const receiver = this.remote.over ? clock : this.remote.clock
      receiver.setTimer(() => this.#other?.receiveGossip(gossip, again), delay)
    }
  }

  receiveGossip(gossip: Gossip, again: boolean): void {
    if (this.#state === 'closed') this.#refuse()
    if (this.#state !== 'open') return
    this.#heardAt = this.local.clock.now()
    this.local.heard(this, gossip, again)
  }

  /** Opens a channel. Rejects with `ROLLCALL_PEER_UNREACHABLE`. */
  openChannel(purpose: ChannelPurpose, signal: AbortSignal): Promise<Channel> {
    return this.#channels.open(purpose, signal)
  }

  /** True when the other end answered, false when the connection broke first. */
  ping(): Promise<boolean> {
    if (this.#state !== 'open') return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#pings.push(resolve)
      this.#send({ kind: 'ping' })
    })
  }

  /** Closes this end at once and tells the other. `closed` is not called for it. */
  close(): void {
    if (this.#state === 'closed') return
    this.#shut('the connection was closed')
    this.#line.finish({ kind: 'reset' })
  }

  /** Breaks as by a fault on the way: soon both ends learn of it. */
  sever(): void {
    this.local.clock.setTimer(() => this.#fall('the connection was cut'), 0)
  }

  /** Something arrived from the other end. */
  receive(piece: Piece): void {
    if (this.#state === 'closed') {
      if (piece.kind !== 'reset') this.#refuse()
      return
    }
    this.#heardAt = this.local.clock.now()
    switch (piece.kind) {
      case 'accept':
        this.#open()
        this.#dialled?.accepted()
        return
      case 'reset':
        this.#fall('the peer closed the connection')
        return
      case 'alive':
        return
      case 'ping':
        this.#send({ kind: 'pong' })
        return
      case 'pong':
        this.#answerPings(true)
        return
      case 'open':
      case 'opened':
      case 'data':
      case 'credit':
      case 'end':
      case 'abort':
        this.#channels.receive(piece)
    }
  }

  #send(piece: Piece, data?: Data): void {
    if (this.#state === 'closed') return
    this.#line.send(piece, data)
  }

  #open(): void {
    this.#state = 'open'
    this.#heardAt = this.local.clock.now()
    if (this.#settings.policy !== undefined) this.#watchSilence()
  }

  #watchSilence(): void {
    const { partitionNoticeMs } = this.#settings
    this.#watch = this.local.clock.setTimer(() => {
      if (this.local.clock.now() - this.#heardAt >= partitionNoticeMs) {
        this.#fall('nothing was heard from the peer')
        return
      }
      // While the line waits to send again, what it holds is the sign of life.
      if (this.#line.idle) this.#send({ kind: 'alive' })
      this.#watchSilence()
    }, partitionNoticeMs / SIGNS_OF_LIFE)
  }

  /** The connection broke under this end. */
  #fall(why: string): void {
    if (this.#state === 'closed') return
    const wasOpen = this.#state === 'open'
    this.#shut(why)
    this.#line.finish({ kind: 'reset' })
    if (wasOpen) this.local.closed(this)
    else this.#dialled?.broken()
  }

  /** As RFC 9293, 3.10.7.1: whatever reaches a connection that is none any more is answered by a reset. */
  #refuse(): void {
    this.#line.finishAgain({ kind: 'reset' })
  }

  #shut(why: string): void {
    this.#state = 'closed'
    this.#watch?.cancel()
    this.#answerPings(false)
    this.#channels.fail(new RollcallError('ROLLCALL_SYNC_FAILED', why))
  }

  #answerPings(answered: boolean): void {
    const pings = this.#pings
    this.#pings = []
    for (const resolve of pings) resolve(answered)
  }
}
