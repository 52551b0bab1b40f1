import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ServiceSpec } from 'rollcall'

/** What a provider is called and what it offers. */
export interface Role {
  readonly name: string
  readonly services: readonly ServiceSpec[]
}

/** Until a step that takes milliseconds, or a second to start a process, counts as one that will never happen. */
const STEP_MS = 8_000

/**
 * The processes of the demo. What goes wrong with one of them, or takes too long, is the reason of `failed`, which
 * everything in the demo that waits is given.
 */
export class Processes {
  readonly #running = new Map<string, ChildProcess>()
  readonly #ending = new Set<ChildProcess>()
  readonly #failure = new AbortController()

  constructor() {
    process.once('exit', () => this.#killAll())
  }

  get failed(): AbortSignal {
    return this.#failure.signal
  }

  fail(reason: Error): void {
    this.#failure.abort(reason)
  }

  /** Does a step of the demo, which fails if the step takes too long. `what` ends the sentence "… did not happen". */
  async step<T>(what: string, work: () => T | Promise<T>): Promise<T> {
    const timer = setTimeout(
      () => this.fail(new Error(`${what}: did not happen within ${STEP_MS} ms`)),
      STEP_MS,
    )
    try {
      this.failed.throwIfAborted()
      return await work()
    } finally {
      clearTimeout(timer)
    }
  }

  start(role: Role, join: readonly string[]): void {
    const script = fileURLToPath(new URL('./provider.ts', import.meta.url))
    const child = fork(script, [JSON.stringify({ ...role, join })])
    this.#running.set(role.name, child)
    child.once('error', (error) => this.fail(error))
    child.once('exit', (code, signal) => {
      this.#running.delete(role.name)
      if (this.#ending.has(child)) return
      this.fail(
        new Error(
          `${role.name} (pid ${child.pid ?? 'none'}) ended by itself, with ${signal ?? `code ${code}`}`,
        ),
      )
    })
  }

  pid(name: string): number | undefined {
    return this.#running.get(name)?.pid
  }

  signal(name: string, signal: 'SIGKILL' | 'SIGTERM'): void {
    const child = this.#running.get(name)
    if (child === undefined) return
    this.#ending.add(child)
    child.kill(signal)
  }

  /** Resolves with the exit code of a process that was signalled; null when the signal ended it. */
  async ended(name: string): Promise<number | null> {
    const child = this.#running.get(name)
    if (child === undefined) return null
    const [code] = (await once(child, 'exit', { signal: this.failed })) as [number | null]
    return code
  }

  /** Ends those that still run, whatever they do. */
  async endAll(): Promise<void> {
    const children = [...this.#running.values()]
    const exits = children.map((child) => once(child, 'exit'))
    this.#killAll()
    await Promise.all(exits)
  }

  #killAll(): void {
    for (const child of this.#running.values()) {
      this.#ending.add(child)
      child.kill('SIGKILL')
    }
  }
}
