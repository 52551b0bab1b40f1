import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { expect } from 'vitest'

/** A connection on which a test says what it likes, and all that came back. */
export class Line {
  readonly socket: Socket
  text = ''
  isOver = false

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.setEncoding('latin1').on('data', (text: string) => (this.text += text))
    this.socket.on('close', () => (this.isOver = true)).on('error', () => undefined)
  }

  say(...lines: readonly string[]): void {
    this.socket.write(lines.join('\r\n'))
  }

  async heard(what: RegExp): Promise<void> {
    await expect.poll(() => this.text, { timeout: 5_000, interval: 5 }).toMatch(what)
  }

  async over(): Promise<void> {
    await expect.poll(() => this.isOver, { timeout: 5_000, interval: 5 }).toBe(true)
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
  }
}

/** Lets what was sent arrive. */
export const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 50))

/** The head of a registration, to which the length of its body is to be added, */
export const PUT =
  'PUT /v1/registrations/mail HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\nContent-Type: application/json'
/** and its body. */
export const BODY = JSON.stringify({ name: 'Mail', version: '1.0.0', leaseMs: 60_000 })
/** The whole of a read. */
export const GET = 'GET /v1/services HTTP/1.1\r\nHost: localhost\r\n\r\n'
