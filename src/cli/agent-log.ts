import { printable } from '../console/table.ts'
import type { Logger } from '../registry/types.ts'
import { systemClock } from '../tracker/system.ts'

type Level = keyof Logger

/** Writes a log, a line each: for people, or as JSON with `time`, `level`, `message` and what else is to be said. */
export class AgentLog implements Logger {
  readonly #output: NodeJS.WritableStream
  readonly #json: boolean

  constructor(output: NodeJS.WritableStream, json: boolean) {
    this.#output = output
    this.#json = json
  }

  debug(message: string): void {
    this.#write('debug', message, {})
  }

  info(message: string, more: object = {}): void {
    this.#write('info', message, more)
  }

  warn(message: string, more: object = {}): void {
    this.#write('warn', message, more)
  }

  error(message: string): void {
    this.#write('error', message, {})
  }

  #write(level: Level, message: string, more: object): void {
    const time = new Date(systemClock.wallNow()).toISOString()
    this.#output.write(
      this.#json
        ? `${JSON.stringify({ time, level, message, ...more })}\n`
        : `${time} ${level} ${printable(message)}\n`,
    )
  }
}
