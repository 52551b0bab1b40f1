import type { EventId } from './event-id.ts'
import { frame, PIECE_BYTES } from './frame.ts'

/** A burst above it is cheaper to read anew, as services, than event by event. */
const MAX_EVENTS = 1_000

interface Told {
  readonly name: string
  readonly payload: object
}

/** Some events in a row, as they are sent. */
export interface Part {
  readonly bytes: Buffer
  /** The number of the last one. */
  readonly to: number
}

/**
 * The latest events, numbered from 1, so that any number of readers can go on where they were: at most 1,000, and at most
 * `maxBytes` of them, but for the latest. An event is written out once, for all.
 */
export class EventLog {
  readonly #epoch: string
  readonly #maxBytes: number
  /** Not written out yet, by number. */
  readonly #fresh = new Map<number, Told>()
  readonly #frames = new Map<number, Buffer>()
  /** Of the frames. */
  #bytes = 0
  #newest = 0
  /** The last part that was made: readers who keep up all ask for the same. */
  #part: (Part & { readonly from: number }) | undefined

  /** @param epoch - of no other log, ever. */
  constructor(epoch: string, maxBytes: number) {
    this.#epoch = epoch
    this.#maxBytes = maxBytes
  }

  get newest(): number {
    return this.#newest
  }

  /** Costs little, since many may come at once: see `seal`. */
  append(name: string, payload: object): void {
    this.#fresh.set(++this.#newest, { name, payload })
    if (this.#size > MAX_EVENTS) this.#forgetOldest()
  }

  /** Writes out what has come, the latest first, as far as it is kept: from now on it can be read. */
  seal(): void {
    let bytes = 0
    for (const [number, { name, payload }] of [...this.#fresh].reverse()) {
      const written = frame(name, { epoch: this.#epoch, number }, payload)
      bytes += written.length
      if (bytes > this.#maxBytes && number < this.#newest) {
        while (this.#before < number) this.#forgetOldest()
        break
      }
      this.#fresh.delete(number)
      this.#frames.set(number, written)
      this.#bytes += written.length
    }
    while (this.#bytes > this.#maxBytes && this.#size > 1) this.#forgetOldest()
  }

  /** Whether all that came after an event is still kept. */
  reaches(number: number): boolean {
    return number >= this.#before && number <= this.#newest
  }

  /** Whether a reader can go on from there. */
  follows({ epoch, number }: EventId): boolean {
    return epoch === this.#epoch && this.reaches(number)
  }

  /** What comes next after an event that the log reaches: about as much as is sent at a time. Undefined: nothing yet. */
  after(number: number): Part | undefined {
    if (number >= this.#sealed) return undefined
    if (this.#part?.from !== number) this.#part = { from: number, ...this.#join(number) }
    return this.#part
  }

  /** Where the log is now: `begin` for who begins, `reset` for who has missed something. */
  mark(event: 'begin' | 'reset'): Part {
    const id = { epoch: this.#epoch, number: this.#newest }
    return { bytes: frame(event, id, event === 'begin' ? id : {}), to: this.#newest }
  }

  /** The number of the last event that is forgotten. */
  get #before(): number {
    return this.#newest - this.#size
  }

  /** The number of the last event that is written out. */
  get #sealed(): number {
    return this.#newest - this.#fresh.size
  }

  /** How many are kept. */
  get #size(): number {
    return this.#frames.size + this.#fresh.size
  }

  #join(from: number): Part {
    const frames: Buffer[] = []
    let to = from
    for (let bytes = 0; bytes < PIECE_BYTES && to < this.#sealed; to++) {
      const next = this.#frames.get(to + 1) as Buffer
      frames.push(next)
      bytes += next.length
    }
    return { bytes: Buffer.concat(frames), to }
  }

  #forgetOldest(): void {
    const oldest = this.#before + 1
    this.#bytes -= this.#frames.get(oldest)?.length ?? 0
    this.#frames.delete(oldest)
    this.#fresh.delete(oldest)
  }
}
