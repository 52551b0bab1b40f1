import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { monotonicNow, type Ask, type Commands, type Happening, type Said } from './served.ts'

/** Nothing here takes as long on a machine at rest; tests run on ones that are not. */
const DEADLINE_MS = 20_000

/** How a process has ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Monotonic ms. */
  readonly at: number
}

/** What is special about how a child is started. */
export interface Launch {
  /** A command that runs Node as the last thing it does, such as `ip netns exec NAME`. */
  readonly through?: readonly string[]
  /** Set besides what this process has. */
  readonly env?: Readonly<Record<string, string>>
}

interface Settle {
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** A child process, asked by name and heard as it goes. */
export class Child<C extends Commands> {
  /** What happened in it, in its order. */
  readonly happenings: Happening[] = []
  /** What it printed, to either output. */
  readonly lines: string[] = []
  readonly pid: number
  readonly ended: Promise<End>
  /** Set with `ended`. */
  end: End | undefined
  readonly #process: ChildProcess
  readonly #asked = new Map<number, Settle>()
  #next = 1

  constructor(script: URL, flags: readonly string[], { through = [], env = {} }: Launch = {}) {
    const loader = script.pathname.endsWith('.ts') ? ['--import', 'tsx'] : []
    const line = [...through, process.execPath, ...flags, ...loader, script.pathname]
    const child = spawn(line[0]!, line.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
    })
    this.#process = child
    this.pid = child.pid ?? 0
    for (const input of [child.stdout, child.stderr]) {
      if (input !== null) createInterface({ input }).on('line', (line) => this.lines.push(line))
    }
    child.on('message', (said) => this.#hear(said as Said))
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.end = { code, signal, at: monotonicNow() }
        for (const { reject } of this.#asked.values()) reject(this.#failed('it has ended'))
        resolve(this.end)
      })
    })
  }

  /** Rejects with what the command threw, or when the child ends before it has answered. */
  ask<K extends keyof C & string>(name: K, ...args: Parameters<C[K]>): Promise<Awaited<ReturnType<C[K]>>> {
    return new Promise((resolve, reject) => {
      if (this.end !== undefined || !this.#process.connected) {
        reject(this.#failed(`it has ended and cannot be asked for ${name}`))
        return
      }
      const ask = this.#next++
      this.#asked.set(ask, { resolve, reject })
      this.#process.send({ ask, name, args } satisfies Ask)
    })
  }

  /** The first happening of a kind that fits, from `since` (an index) on. */
  find(kind: string, fits: (happening: Happening) => boolean = () => true, since = 0): Happening | undefined {
    return this.happenings.slice(since).find((each) => each.kind === kind && fits(each))
  }

  /** Waits for a happening, those of the past included unless `since` is given. */
  async seen(
    kind: string,
    fits?: (happening: Happening) => boolean,
    { since = 0, deadlineMs = DEADLINE_MS } = {},
  ): Promise<Happening> {
    let found: Happening | undefined
    await until(() => (found = this.find(kind, fits, since)) !== undefined, {
      what: () => `${kind}; ${this.#told()}`,
      deadlineMs,
    })
    return found as unknown as Happening
  }

  /** Returns when the signal was sent, monotonic ms. */
  signal(signal: NodeJS.Signals): number {
    const at = monotonicNow()
    this.#process.kill(signal)
    return at
  }

  /** Kills it as kill -9 does. Returns when. The end is awaited. */
  async kill(): Promise<number> {
    const at = this.signal('SIGKILL')
    await this.ended
    return at
  }

  #hear(said: Said): void {
    if ('kind' in said) {
      this.happenings.push(said)
      return
    }
    const settle = this.#asked.get(said.answer)
    this.#asked.delete(said.answer)
    if ('failure' in said) settle?.reject(this.#failed(said.failure))
    else settle?.resolve(said.value as never)
  }

  #failed(why: string): Error {
    return new Error(`child ${this.pid}: ${why}; ${this.#told()}`)
  }

  #told(): string {
    const happenings = this.happenings.slice(-30).map((each) => JSON.stringify(each))
    return ['last heard:', ...happenings, 'printed:', ...this.lines.slice(-20)].join('\n')
  }
}

/** Children that end with their parent at the latest. */
export class Fleet<C extends Commands> {
  readonly #script: URL
  readonly #flags: readonly string[]
  readonly #children = new Set<Child<C>>()
  readonly #spares: Child<C>[] = []
  readonly #onExit = (): void => this.#killAll()

  /**
   * @param script - run by each child: JavaScript, or TypeScript through tsx
   * @param flags - of Node, for every child
   */
  constructor(script: URL, flags: readonly string[] = []) {
    this.#script = script
    this.#flags = flags
    process.on('exit', this.#onExit)
  }

  /** Has a child load what it needs, so that the next `spawn` gets one that is ready. */
  prepare(count = 1): void {
    for (let i = 0; i < count; i++) this.#spares.push(this.#spawn())
  }

  /** @param launch - given, a child of its own is started: what was prepared runs in the ordinary way */
  spawn(launch?: Launch): Child<C> {
    return launch === undefined ? (this.#spares.shift() ?? this.#spawn()) : this.#spawn(launch)
  }

  #spawn(launch?: Launch): Child<C> {
    const child = new Child<C>(this.#script, this.#flags, launch)
    this.#children.add(child)
    void child.ended.then(() => this.#children.delete(child))
    return child
  }

  /** Ends all that still live, whatever state they are in. */
  async end(): Promise<void> {
    const children = [...this.#children]
    this.#spares.length = 0
    this.#killAll()
    await Promise.all(children.map(({ ended }) => ended))
    process.off('exit', this.#onExit)
  }

  #killAll(): void {
    for (const child of this.#children) child.signal('SIGKILL')
  }
}

/** Waits for a condition. Throws when it does not hold in time. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  {
    what,
    deadlineMs = DEADLINE_MS,
  }: { readonly what: string | (() => string); readonly deadlineMs?: number },
): Promise<void> {
  const giveUpAt = monotonicNow() + deadlineMs
  while (!(await holds())) {
    if (monotonicNow() > giveUpAt) {
      throw new Error(`not within ${deadlineMs} ms: ${typeof what === 'string' ? what : what()}`)
    }
    await setTimeout(5)
  }
}
