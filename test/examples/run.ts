import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Nothing here takes as long on a machine at rest; tests run on ones that are not. */
const DEADLINE_MS = 20_000

/** For what follows at once: a process that was starting when its parent died has to have started to notice it. */
const SOON_MS = 10_000

/**
 * Longest time from the last line of an example to its end: to close its nodes takes a second at most. A timer that was
 * forgotten would hold it for ten.
 */
export const LINGER_MS = 5_000

/** How a process has ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** From its start, ms. */
  readonly afterMs: number
  /** From its last line, ms. */
  readonly lingeredMs: number
}

/**
 * An example in a process of its own, as a user runs it. It leads a process group that all that it starts belongs to:
 * a signal can be sent to all of them, as Ctrl-C does, and whoever is left over is found.
 */
export class Run {
  /** What it has printed, standard error too. */
  readonly lines: string[] = []
  readonly #child: ChildProcess
  readonly #startedAt = performance.now()
  #lastLineAt = this.#startedAt
  #end: End | undefined
  #isRead = false

  constructor(example: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(process.execPath, ['--import', 'tsx', `examples/${example}`, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#child = child
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        this.lines.push(line)
        this.#lastLineAt = performance.now()
      })
    }
    child.once('exit', (code, signal) => {
      const now = performance.now()
      this.#end = { code, signal, afterMs: now - this.#startedAt, lingeredMs: now - this.#lastLineAt }
    })
    child.once('close', () => (this.#isRead = true))
    onTestFinished(() => {
      if (this.#isAnyLeft()) this.signalAll('SIGKILL')
    })
  }

  /** Sends a signal to the example alone. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Sends a signal to the example and to all that it has started. */
  signalAll(signal: NodeJS.Signals): void {
    process.kill(-this.#child.pid!, signal)
  }

  /** The first line that matches, as soon as it is there. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    const find = () => this.lines.map((line) => pattern.exec(line)).find((match) => match !== null)
    await this.#until(`a line like ${String(pattern)}`, () => find() !== undefined, DEADLINE_MS)
    return find()!
  }

  /** How it has ended, once it has, and nothing that it started is left. */
  async end(): Promise<End> {
    await this.#until('it has ended', () => this.#end !== undefined, DEADLINE_MS)
    await this.#until('no process is left', () => !this.#isAnyLeft(), SOON_MS)
    await this.#until('its output is read', () => this.#isRead, SOON_MS)
    return this.#end!
  }

  async #until(what: string, isSo: () => boolean, deadlineMs: number): Promise<void> {
    const giveUpAt = performance.now() + deadlineMs
    while (!isSo()) {
      if (performance.now() > giveUpAt) {
        throw new Error(`not so after ${deadlineMs} ms: ${what}; printed so far:\n${this.lines.join('\n')}`)
      }
      await setTimeout(5)
    }
  }

  #isAnyLeft(): boolean {
    try {
      process.kill(-this.#child.pid!, 0)
      return true
    } catch {
      return false
    }
  }
}
