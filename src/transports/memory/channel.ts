import { RollcallError } from '../../errors.ts'
import type { Channel } from '../../tracker/ports.ts'

/** How a channel reaches its other end. */
export interface ChannelWire {
  data(payload: Uint8Array): void
  /** The reader took this many bytes. */
  credit(bytes: number): void
  /** Nothing more will be said. */
  end(): void
  /** Both directions are over at once. */
  abort(): void
  /** This end needs no more news. */
  forget(): void
}

interface Waiting {
  readonly message: Uint8Array
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

interface Reader {
  readonly resolve: (result: IteratorResult<Uint8Array, undefined>) => void
  readonly reject: (error: Error) => void
}

const DONE: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined }

/**
 * One end of a channel. A sender may have `windowBytes` under way or unread, and one message more; then it
 * waits for the reader.
 */
export class MemoryChannel implements Channel {
  readonly #wire: ChannelWire
  readonly #windowBytes: number
  /** Bytes that may still be sent. Below 0 by the last message at most. */
  #credit: number
  #waiting: Waiting[] = []
  #sending: 'open' | 'closing' | 'ended' = 'open'
  #closed: (() => void)[] = []
  #inbox: Uint8Array[] = []
  #reader: Reader | undefined
  #reading: 'open' | 'ended' | 'left' = 'open'
  /** Bytes read that the sender does not know of yet. */
  #owed = 0
  #broken: Error | undefined

  constructor(wire: ChannelWire, windowBytes: number) {
    this.#wire = wire
    this.#windowBytes = windowBytes
    this.#credit = windowBytes
  }

  send(message: Uint8Array): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    if (this.#sending !== 'open') {
      return Promise.reject(new RollcallError('ROLLCALL_SYNC_FAILED', 'the channel is closed'))
    }
    return new Promise((resolve, reject) => {
      // A copy: the caller may use its buffer again, as it may with a real network.
      this.#waiting.push({ message: message.slice(), resolve, reject })
      this.#flush()
    })
  }

  readonly messages: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => this.#read(),
      return: () => {
        this.#leave()
        return Promise.resolve(DONE)
      },
    }),
  }

  close(): Promise<void> {
    if (this.#broken !== undefined || this.#sending === 'ended') return Promise.resolve()
    this.#sending = 'closing'
    return new Promise((resolve) => {
      this.#closed.push(resolve)
      this.#flush()
    })
  }

  abort(reason: Error): void {
    if (this.#broken !== undefined || this.#over()) return
    this.#wire.abort()
    this.#inbox = []
    this.fail(reason)
  }

  /** The other end sent a message. */
  receive(message: Uint8Array): void {
    if (this.#broken !== undefined || this.#reading !== 'open') return
    const reader = this.#reader
    if (reader === undefined) {
      this.#inbox.push(message)
      return
    }
    this.#reader = undefined
    this.#take(message)
    reader.resolve({ done: false, value: message })
  }

  /** The other end read this many bytes. */
  receiveCredit(bytes: number): void {
    this.#credit += bytes
    this.#flush()
  }

  /** The other end has said all. */
  receiveEnd(): void {
    if (this.#reading === 'open') this.#reading = 'ended'
    this.#reader?.resolve(DONE)
    this.#reader = undefined
    if (this.#over()) this.#wire.forget()
  }

  /** The channel broke: what had arrived can still be read, then reading throws; sending throws at once. */
  fail(error: Error): void {
    if (this.#broken !== undefined) return
    this.#broken = error
    const waiting = this.#waiting
    this.#waiting = []
    for (const { reject } of waiting) reject(error)
    this.#reader?.reject(error)
    this.#reader = undefined
    this.#settleClosed()
    this.#wire.forget()
  }

  #over(): boolean {
    return this.#sending === 'ended' && this.#reading !== 'open'
  }

  #flush(): void {
    while (this.#credit > 0) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#credit -= next.message.length
      this.#wire.data(next.message)
      next.resolve()
    }
    if (this.#sending !== 'closing' || this.#waiting.length > 0) return
    this.#sending = 'ended'
    this.#wire.end()
    this.#settleClosed()
    this.#endIfLeft()
  }

  #settleClosed(): void {
    const closed = this.#closed
    this.#closed = []
    for (const resolve of closed) resolve()
  }

  #read(): Promise<IteratorResult<Uint8Array, undefined>> {
    const message = this.#inbox.shift()
    if (message !== undefined) {
      this.#take(message)
      return Promise.resolve({ done: false, value: message })
    }
    if (this.#reading !== 'open') return Promise.resolve(DONE)
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  /** Tells the sender of room by halves of the window: it never waits for room that is there, nor hears of every byte. */
  #take(message: Uint8Array): void {
    this.#owed += message.length
    if (this.#broken !== undefined || this.#owed < this.#windowBytes / 2) return
    this.#wire.credit(this.#owed)
    this.#owed = 0
  }

  #leave(): void {
    if (this.#reading === 'left') return
    this.#inbox = []
    const open = this.#reading === 'open'
    this.#reading = 'left'
    if (open) this.#endIfLeft()
  }

  /** Neither reads nor writes: a peer that still sends would wait for room for ever, so it is told. */
  #endIfLeft(): void {
    if (!this.#over() || this.#broken !== undefined) return
    if (this.#reading === 'left') this.#wire.abort()
    this.#wire.forget()
  }
}
