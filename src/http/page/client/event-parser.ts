/** One event of a stream. */
export interface StreamEvent {
  readonly name: string
  readonly data: string
  /** Where to go on after it; '' when the server has not said. */
  readonly id: string
}

/** A CR at the very end may be the first half of a CRLF. */
const LINE_END = /\r\n|\n|\r(?!$)/

/** Reads server-sent events from text, wherever the network cut it. */
export class EventParser {
  #rest = ''
  #name = ''
  #data: string[] = []
  #id = ''

  /** The events that this piece completes. */
  push(text: string): StreamEvent[] {
    const lines = (this.#rest + text).split(LINE_END)
    this.#rest = lines.pop() ?? ''
    return lines.flatMap((line) => this.#take(line) ?? [])
  }

  #take(line: string): StreamEvent | undefined {
    if (line === '') return this.#complete()
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') this.#name = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    return undefined
  }

  #complete(): StreamEvent | undefined {
    const event = { name: this.#name || 'message', data: this.#data.join('\n'), id: this.#id }
    const isEmpty = this.#data.length === 0
    this.#name = ''
    this.#data = []
    return isEmpty ? undefined : event
  }
}
