import type { Channel } from '../../src/tracker/ports.ts'
import { decodeProbeMessage, encodeProbeMessage } from '../../src/wire/probe-message.ts'

/** The near end of a probe channel to a peer that answers pings at once, while it is willing. */
export class Answering implements Channel {
  willing = true
  #inbox: Uint8Array[] = []
  #rouse: () => void = () => undefined
  #broken: Error | undefined

  send(message: Uint8Array): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    const { kind, number } = decodeProbeMessage(message)
    if (this.willing && kind === 'ping') this.answer(number)
    return Promise.resolve()
  }

  answer(number: number): void {
    this.#inbox.push(encodeProbeMessage({ kind: 'pong', number }))
    this.#rouse()
  }

  readonly messages = this.#read()

  close(): Promise<void> {
    return Promise.resolve()
  }

  abort(reason: Error): void {
    this.#broken = reason
    this.#rouse()
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const message = this.#inbox.shift()
      if (this.#broken !== undefined) throw this.#broken
      if (message !== undefined) yield message
      else await new Promise<void>((resolve) => (this.#rouse = resolve))
    }
  }
}
