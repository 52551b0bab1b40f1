import { connect } from 'node:net'
import type { Socket } from 'node:net'

export interface Reply {
  readonly status: number
  readonly body: string
}

/** One kept connection, for one request at a time: less work than any client of HTTP, so that the server is what is measured. */
export class Connection {
  readonly #socket: Socket
  #text = ''
  #answered: ((reply: Reply | undefined) => void) | undefined

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text: string) => this.#read(text))
    this.#socket.on('error', () => undefined).on('close', () => this.#settle(undefined))
  }

  /** Calls back with the answer; with nothing when the connection is gone. */
  get(path: string, answered: (reply: Reply | undefined) => void): void {
    this.#answered = answered
    if (this.#socket.destroyed) this.#settle(undefined)
    else this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#text += text
    const at = this.#text.indexOf('\r\n\r\n') + 4
    if (at < 4) return
    const length = Number(/^content-length: (\d+)/im.exec(this.#text)?.[1])
    if (this.#text.length < at + length) return
    const reply = { status: Number(this.#text.slice(9, 12)), body: this.#text.slice(at) }
    this.#text = ''
    this.#settle(reply)
  }

  #settle(reply: Reply | undefined): void {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(reply)
  }
}
