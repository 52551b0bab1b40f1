import { Writable } from 'node:stream'
import type { Face, Size } from './message.ts'

/** Width of what is written for no terminal, in characters. */
const PLAIN_COLUMNS = 100

/** The client's terminal, as a stream that `repl` can write to. */
export class ScreenStream extends Writable {
  readonly isTTY: boolean
  columns: number
  rows: number

  constructor({ terminal, columns, rows }: Face, show: (text: string, shown: () => void) => void) {
    super({
      decodeStrings: false,
      write: (chunk: string | Buffer, _encoding, done) => show(chunk.toString(), () => done()),
    })
    this.isTTY = terminal
    this.columns = terminal ? columns : PLAIN_COLUMNS
    this.rows = rows
  }

  resize({ columns, rows }: Size): void {
    this.columns = columns
    this.rows = rows
    this.emit('resize')
  }
}
