import { RollcallError } from '../../errors.ts'
import type { Channel, ChannelPurpose } from '../../tracker/ports.ts'
import { MemoryChannel } from './channel.ts'
import type { Data } from './ordered-line.ts'

/** What the two ends of a connection say of their channels. */
export type ChannelPiece =
  | { readonly kind: 'open'; readonly channel: number; readonly purpose: ChannelPurpose }
  | { readonly kind: 'opened' | 'end' | 'abort'; readonly channel: number }
  | { readonly kind: 'data'; readonly channel: number; readonly payload: Uint8Array }
  | { readonly kind: 'credit'; readonly channel: number; readonly bytes: number }

export interface ChannelTableOptions {
  /** Of the two ends one counts odd numbers, from 1, the other even ones, from 2. */
  readonly firstNumber: 1 | 2
  readonly windowBytes: number
  readonly send: (piece: ChannelPiece, data?: Data) => void
  /** The other end opened a channel. */
  readonly incoming: (purpose: ChannelPurpose, channel: Channel) => void
}

interface Opening {
  readonly opened: () => void
  readonly failed: (cause: unknown) => void
}

const aborted = (): RollcallError => new RollcallError('ROLLCALL_SYNC_FAILED', 'the peer aborted the channel')

/** The channels of one end of a connection. */
export class ChannelTable {
  readonly #options: ChannelTableOptions
  readonly #channels = new Map<number, MemoryChannel>()
  readonly #openings = new Map<number, Opening>()
  #nextNumber: number

  constructor(options: ChannelTableOptions) {
    this.#options = options
    this.#nextNumber = options.firstNumber
  }

  /** Resolves when the peer has the channel. Rejects with `ROLLCALL_PEER_UNREACHABLE`. */
  open(purpose: ChannelPurpose, signal: AbortSignal): Promise<Channel> {
    return new Promise((resolve, reject) => {
      const number = this.#nextNumber
      this.#nextNumber += 2
      const onAbort = (): void => {
        this.#settle(number)?.failed(signal.reason)
        channel.abort(aborted())
      }
      const failed = (cause: unknown): void => {
        signal.removeEventListener('abort', onAbort)
        reject(new RollcallError('ROLLCALL_PEER_UNREACHABLE', 'the peer did not take a channel', { cause }))
      }
      if (signal.aborted) {
        failed(signal.reason)
        return
      }
      const channel = this.#add(number, purpose)
      const opened = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve(channel)
      }
      signal.addEventListener('abort', onAbort)
      this.#openings.set(number, { opened, failed })
      this.#options.send({ kind: 'open', channel: number, purpose })
    })
  }

  receive(piece: ChannelPiece): void {
    if (piece.kind === 'open') {
      const channel = this.#add(piece.channel, piece.purpose)
      this.#options.send({ kind: 'opened', channel: piece.channel })
      this.#options.incoming(piece.purpose, channel)
      return
    }
    // Not there: it was aborted here while this was under way.
    const channel = this.#channels.get(piece.channel)
    switch (piece.kind) {
      case 'opened':
        this.#settle(piece.channel)?.opened()
        return
      case 'data':
        channel?.receive(piece.payload)
        return
      case 'credit':
        channel?.receiveCredit(piece.bytes)
        return
      case 'end':
        channel?.receiveEnd()
        return
      case 'abort':
        this.#settle(piece.channel)?.failed(aborted())
        channel?.fail(aborted())
    }
  }

  /** The connection broke. */
  fail(error: Error): void {
    for (const number of [...this.#openings.keys()]) this.#settle(number)?.failed(error)
    for (const channel of [...this.#channels.values()]) channel.fail(error)
  }

  #settle(number: number): Opening | undefined {
    const opening = this.#openings.get(number)
    this.#openings.delete(number)
    return opening
  }

  #add(number: number, purpose: ChannelPurpose): MemoryChannel {
    const { send, windowBytes } = this.#options
    const channel = new MemoryChannel(
      {
        data: (payload) => send({ kind: 'data', channel: number, payload }, { kind: purpose, payload }),
        credit: (bytes) => send({ kind: 'credit', channel: number, bytes }),
        end: () => send({ kind: 'end', channel: number }),
        abort: () => send({ kind: 'abort', channel: number }),
        forget: () => this.#channels.delete(number),
      },
      windowBytes,
    )
    this.#channels.set(number, channel)
    return channel
  }
}
