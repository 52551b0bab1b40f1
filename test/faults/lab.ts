import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What the network does to frames; what is left out does not happen. Chances from 0 to 1. */
export interface Weather {
  readonly delayMs?: number
  readonly jitterMs?: number
  readonly loss?: number
  /** Chance that a frame overtakes those under way. */
  readonly reorder?: number
  readonly repeat?: number
}

/** An attempt of a host to reach an address: a first packet of TCP, or (port 0) the question who has the address. */
export interface Call {
  /** Monotonic ms. */
  readonly at: number
  readonly from: number
  readonly to: string
  readonly port: number
}

type Hosts = readonly number[]

/** Loaded into a process, this tells it another wall clock. Undefined when it is not installed. */
export const clockLibrary = (): string | undefined =>
  readdirSync('/usr/lib')
    .map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`)
    .find((path) => existsSync(path))

/** A switch that did not end by itself by then never will. */
const CLOSE_MS = 10_000

/**
 * Why there can be no lab on this machine; undefined when there can. It takes root, because it makes network namespaces,
 * and Debian's packages iproute2, python3 and faketime.
 */
export function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'this takes root, to make network namespaces'
  for (const command of ['ip', 'ss', 'python3']) {
    try {
      execFileSync(command, ['-V'], { stdio: 'ignore' })
    } catch {
      return `there is no ${command} (Debian's packages iproute2 and python3)`
    }
  }
  if (clockLibrary() === undefined) return "there is no libfaketime (Debian's package faketime)"
  try {
    accessSync('/dev/net/tun', constants.R_OK | constants.W_OK)
    const namespace = `rollcall-${process.pid}-0`
    for (const change of ['add', 'del']) execFileSync('ip', ['netns', change, namespace], { stdio: 'ignore' })
  } catch {
    return 'the kernel gives no network namespaces, or no /dev/net/tun'
  }
  return undefined
}

let labs = 0

/**
 * Hosts 1, 2, … of one network, each a network namespace, joined by a switch that can be told to misbehave. Everything
 * is gone when the lab is closed, or when this process ends in whatever way.
 */
export class Lab {
  readonly #prefix: string
  readonly #switch: ChildProcess
  readonly #answers: ((line: string) => void)[] = []
  readonly #ended: Promise<void>

  private constructor(size: number) {
    labs += 1
    this.#prefix = `rollcall-${process.pid}-${labs}`
    const script = fileURLToPath(new URL('./switch.py', import.meta.url))
    const child = spawn('python3', [script, this.#prefix, String(size)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#switch = child
    createInterface({ input: child.stdout }).on('line', (line) => this.#answers.shift()?.(line))
    child.stdin.on('error', () => undefined)
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        for (const answer of this.#answers.splice(0)) answer('{"error":"the switch has ended"}')
        resolve()
      })
    })
    favour(child.pid)
  }

  static async open(size: number): Promise<Lab> {
    const why = whyNot()
    if (why !== undefined) throw new Error(`there can be no lab here: ${why}`)
    const lab = new Lab(size)
    await lab.#answer()
    return lab
  }

  /** The words before a command that is to run on a host. */
  on(host: number): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', `${this.#prefix}-${host}`]
  }

  /** From now on nothing gets from the ones to the others. Connections stay open: nobody is told. */
  async cut(from: Hosts, to: Hosts): Promise<void> {
    await this.#order({ do: 'cut', from, to })
  }

  async heal(): Promise<void> {
    await this.#order({ do: 'heal' })
  }

  async worsen(weather: Weather, from?: Hosts, to?: Hosts): Promise<void> {
    await this.#order({ do: 'worsen', ...weather, from, to })
  }

  async calm(): Promise<void> {
    await this.#order({ do: 'calm' })
  }

  /** Attempts to reach somebody since this was last asked. */
  async calls(): Promise<readonly Call[]> {
    const calls = (await this.#order({ do: 'calls' })) as readonly [number, number, string, number][]
    return calls.map(([seconds, from, to, port]) => ({ at: 1_000 * seconds, from, to, port }))
  }

  async counts(): Promise<{ readonly received: number; readonly lost: number }> {
    return (await this.#order({ do: 'counts' })) as { received: number; lost: number }
  }

  /** Breaks every TCP connection of a host with an address, as a reset from the network does. Returns how many. */
  async breakConnections(host: number, address: string): Promise<number> {
    const [command, ...words] = [...this.on(host), 'ss', '-K', '-H', '-t', '-n', 'dst', address]
    const { stdout } = await run(command, words)
    return stdout.split('\n').filter((line) => line.includes(address)).length
  }

  async close(): Promise<void> {
    this.#switch.stdin?.end()
    const timer = setTimeout(() => this.#switch.kill('SIGKILL'), CLOSE_MS)
    await this.#ended
    clearTimeout(timer)
  }

  #order(order: object): Promise<unknown> {
    this.#switch.stdin?.write(`${JSON.stringify(order)}\n`)
    return this.#answer()
  }

  async #answer(): Promise<unknown> {
    if (this.#switch.exitCode !== null) throw new Error('the switch has ended')
    const answer: unknown = JSON.parse(await new Promise<string>((resolve) => this.#answers.push(resolve)))
    if (typeof answer === 'object' && answer !== null && 'error' in answer)
      throw new Error(String(answer.error))
    return answer
  }
}

/** Hosts have processors of their own; those of a lab share one machine with whatever else it does. */
export function favour(pid: number | undefined): void {
  if (pid !== undefined) setPriority(pid, -10)
}
