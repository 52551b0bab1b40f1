import type { EventId } from './event-id.ts'
import type { EventLog, Part } from './event-log.ts'
import type { EventStream } from './event-stream.ts'

/** One reader of the event log: all it holds is its place in it, so that a slow one costs nothing. */
export class EventReader {
  readonly #log: EventLog
  readonly #stream: EventStream
  /** What it is told first. */
  #opening: Part | undefined
  /** The number of the last event that it was sent. */
  #at: number
  #isTelling = false
  #isEnding = false

  /** @param last - the event that it saw last. */
  constructor(log: EventLog, stream: EventStream, last: EventId | undefined) {
    this.#log = log
    this.#stream = stream
    const follows = last !== undefined && log.follows(last)
    this.#at = follows ? last.number : log.newest
    if (!follows) this.#opening = log.mark(last === undefined ? 'begin' : 'reset')
  }

  /** There may be something to tell. One that is being told still, and has fallen behind the log, is cut off. */
  wake(): void {
    if (!this.#isTelling) void this.#tell()
    else if (!this.#log.reaches(this.#at)) this.#stream.cut()
  }

  /** Ends once it has been told all that there is. */
  end(): void {
    this.#isEnding = true
    this.wake()
  }

  async #tell(): Promise<void> {
    this.#isTelling = true
    for (let part = this.#next(); part !== undefined; part = this.#next()) {
      this.#at = part.to
      await this.#stream.send(part.bytes)
    }
    this.#isTelling = false
    if (this.#isEnding) this.#stream.end()
  }

  #next(): Part | undefined {
    const opening = this.#opening
    this.#opening = undefined
    if (opening !== undefined) return opening
    // More came at once than is kept, so nobody could have read it all.
    return this.#log.reaches(this.#at) ? this.#log.after(this.#at) : this.#log.mark('reset')
  }
}
