import type { REPLServer } from 'node:repl'

/** Gives a `repl` piped text line by line: the next one waits until the last is done, also where that awaits. */
export class LineFeed {
  readonly #repl: REPLServer
  readonly #lines: string[] = []
  /** What has come of the next line. */
  #part = ''
  #busy = false
  #feeding = false
  #ended = false

  constructor(repl: REPLServer) {
    this.#repl = repl
    // A repl prompts when it is done with a line, whatever came of it. Plain text has no prompts.
    repl.displayPrompt = () => {
      this.#busy = false
      this.#feed()
    }
  }

  write(text: string): void {
    const lines = (this.#part + text).split('\n')
    this.#part = lines.pop() ?? ''
    this.#lines.push(...lines)
    this.#feed()
  }

  /** Closes the `repl` once all lines are done. */
  end(): void {
    if (this.#part !== '') this.write('\n')
    this.#ended = true
    this.#feed()
  }

  #feed(): void {
    if (this.#feeding) return
    this.#feeding = true
    while (!this.#busy && this.#lines.length > 0) {
      this.#busy = true
      this.#repl.write(`${this.#lines.shift() ?? ''}\n`)
    }
    this.#feeding = false
    // In a turn of its own, so that what the last line began shows what it has at once.
    if (this.#ended && !this.#busy) setImmediate(() => this.#repl.close())
  }
}
