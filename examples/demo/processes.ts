import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ServiceSpec } from 'rollcall'

/** What a provider is called, and what it offers. */
export interface Role {
  readonly name: string
  readonly services: readonly ServiceSpec[]
}

/** A step takes some ms, or a second where processes start. What takes longer than this will never happen. */
const STEP_MS = 10_000

/**
 * The processes that a demo starts. When one of them ends that should not, or a step takes too long, `failed` aborts
 * with the reason; all that waits is given that signal. Nothing outlives the demo: see `endAll`, and a provider whose
 * demo is gone ends by itself.
 */
export class Processes {
  readonly #running = new Map<string, ChildProcess>()
  readonly #dismissed = new Set<ChildProcess>()
  readonly #failure = new AbortController()
  readonly #failed = new Promise<never>((_resolve, reject) => {
    this.failed.addEventListener('abort', () => reject(this.failed.reason as Error))
  })

  constructor() {
    this.#failed.catch(() => undefined)
    process.once('exit', () => this.#killAll())
  }

  get failed(): AbortSignal {
    return this.#failure.signal
  }

  /** The first reason stays. */
  fail(reason: Error): void {
    this.#failure.abort(reason)
  }

  /** Does one step of the demo, and fails when it takes too long. `what` says what is so when the step is done. */
  async step<T>(what: string, work: () => Promise<T>): Promise<T> {
    const late = new Error(`not so after ${STEP_MS} ms: ${what}`)
    const timer = setTimeout(() => this.fail(late), STEP_MS)
    try {
      return await Promise.race([this.#failed, work()])
    } finally {
      clearTimeout(timer)
    }
  }

  start(role: Role, join: readonly string[]): void {
    const script = fileURLToPath(new URL('./provider.ts', import.meta.url))
    const child = fork(script, [JSON.stringify({ ...role, join })])
    this.#running.set(role.name, child)
    child.on('error', (error) => {
      if (child.pid === undefined) this.#running.delete(role.name)
      this.fail(new Error(`${role.name} could not be started: ${error.message}`))
    })
    child.once('exit', (code, signal) => {
      this.#running.delete(role.name)
      if (this.#dismissed.has(child)) return
      this.fail(
        new Error(
          `${role.name} (pid ${child.pid ?? '?'}) ended unasked, by ${signal ?? `exit code ${code ?? '?'}`}`,
        ),
      )
    })
  }

  pid(name: string): number | undefined {
    return this.#running.get(name)?.pid
  }

  /** Ends a process. Resolves with its exit code, or null when the signal ended it. */
  end(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const child = this.#running.get(name)
    if (child === undefined) return Promise.resolve(null)
    this.#dismissed.add(child)
    child.kill(signal)
    return new Promise((resolve) => child.once('exit', resolve))
  }

  /** Ends whatever still runs, and waits for it. */
  async endAll(): Promise<void> {
    const exits = [...this.#running.values()].map((child) => once(child, 'exit'))
    this.#killAll()
    await Promise.all(exits)
  }

  #killAll(): void {
    for (const child of this.#running.values()) {
      this.#dismissed.add(child)
      child.kill('SIGKILL')
    }
  }
}
