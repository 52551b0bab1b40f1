import { once } from 'node:events'
import { printable } from '../console/table.ts'
import { RollcallError } from '../errors.ts'
import { Misuse } from './misuse.ts'

/** What the command writes to. */
export interface PrinterStreams {
  readonly output: NodeJS.WritableStream &
    Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'hasColors'>>
  readonly errors: NodeJS.WritableStream
}

/** Width of what is written for no terminal, in characters. */
const PLAIN_COLUMNS = 100

/** Writes for people, or as JSON for programs. */
export class Printer {
  readonly json: boolean
  readonly #streams: PrinterStreams

  constructor(streams: PrinterStreams, json: boolean) {
    this.#streams = streams
    this.json = json
  }

  /** How wide a table may be, in characters. */
  get width(): number {
    const { isTTY, columns } = this.#streams.output
    return (isTTY === true ? columns : undefined) || PLAIN_COLUMNS
  }

  /** On a terminal that has them, unless NO_COLOR or NODE_DISABLE_COLORS is set. */
  get colours(): boolean {
    return this.#streams.output.hasColors?.() === true
  }

  /** Resolves when there is room for more. */
  async write(text: string): Promise<void> {
    if (!this.#streams.output.write(text)) await once(this.#streams.output, 'drain')
  }

  /** A table, its heads in bold where there are colours. */
  writeTable(table: string): Promise<void> {
    return this.write(`${this.colours ? table.replace(/^(.+)(?=\n)/, '\x1b[1m$1\x1b[22m') : table}\n`)
  }

  /** One value, on a line of its own. What is undefined is left out. */
  writeJson(value: unknown): Promise<void> {
    return this.write(`${JSON.stringify(value)}\n`)
  }

  /** Says what went wrong, on the stream for errors. */
  complain(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    const code = error instanceof RollcallError ? error.code : undefined
    if (this.json) {
      const told = { code: error instanceof Misuse ? 'ROLLCALL_INVALID_ARGUMENT' : code, message }
      this.#streams.errors.write(`${JSON.stringify({ error: told })}\n`)
    } else {
      const lines = message.split('\n').map(printable).join('\n')
      this.remark(code === undefined ? lines : `${lines} (${code})`)
    }
  }

  /** Says something else there, for people. */
  remark(text: string): void {
    this.#streams.errors.write(`rollcall: ${text}\n`)
  }
}
