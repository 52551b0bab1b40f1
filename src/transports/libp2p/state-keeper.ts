import {
  encodeState,
  linkedPath,
  readState,
  removeLeftovers,
  setAside,
  writeState,
  type KnownPeer,
} from './state-file.ts'
import { within } from './stop-node.ts'

/** The first change of many is seldom alone: nodes that meet one meet others. */
const GATHER_MS = 1_000
/** Least time between two writes: what is lost by a kill is at most this old, and a disk is spared. */
const SAVE_EVERY_MS = 10_000
/** How long stopping waits for the disk. */
const STOP_MS = 1_000

export interface StateKeeperPorts {
  /** What is to be kept now, the most valuable first. */
  readonly peers: () => readonly KnownPeer[]
  /** Something is wrong with the file. `cause` in one word. */
  readonly problem: (cause: string, message: string) => void
  /** It was written. */
  readonly well: () => void
}

/** Keeps the state file: reads it once, and writes it when it would say something new, not at every change. */
export class StateKeeper {
  #path: string
  readonly #cluster: string
  readonly #ports: StateKeeperPorts
  /** What the file says, as far as this node knows. */
  #text = ''
  /** False until it was read, and for good when a file that is not ours cannot be moved out of the way. */
  #mayWrite = false
  #timer: NodeJS.Timeout | undefined
  #savedAt = -Infinity
  #work: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(path: string, cluster: string, ports: StateKeeperPorts) {
    this.#path = path
    this.#cluster = cluster
    this.#ports = ports
  }

  /** Never rejects. A file that cannot be used is set aside and reported. */
  load(): Promise<readonly KnownPeer[]> {
    const loading = this.#load()
    this.#work = loading
    return loading
  }

  async #load(): Promise<readonly KnownPeer[]> {
    this.#path = await linkedPath(this.#path)
    await removeLeftovers(this.#path)
    const read = await readState(this.#path, this.#cluster)
    if (read.kind !== 'bad') {
      this.#mayWrite = true
      if (read.kind === 'nothing') return []
      this.#text = read.text
      return read.peers
    }
    this.#mayWrite = await setAside(this.#path)
    const cause = read.cause instanceof Error ? `: ${read.cause.message}` : ''
    const fate = this.#mayWrite
      ? `it is now ${this.#path}.broken`
      : 'it cannot be set aside, so nothing is kept'
    this.#ports.problem('bad', `the state file ${this.#path} ${read.why}${cause}; ${fate}`)
    return []
  }

  /** Something may be worth to be kept. */
  changed(): void {
    if (this.#stopped || this.#timer !== undefined) return
    const waitMs = Math.max(GATHER_MS, this.#savedAt + SAVE_EVERY_MS - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#work = this.#work.then(() => this.#save(this.#ports.peers()))
    }, waitMs)
    this.#timer.unref()
  }

  /** Writes a last time what is known now, in bounded time. Never rejects. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    clearTimeout(this.#timer)
    // Who is not read yet is not known yet, and would be lost by a write.
    const peers = this.#mayWrite ? this.#ports.peers() : undefined
    await within(
      STOP_MS,
      this.#work.then(() => (peers === undefined ? undefined : this.#save(peers))),
    )
  }

  async #save(peers: readonly KnownPeer[]): Promise<void> {
    const text = encodeState(this.#cluster, peers)
    if (!this.#mayWrite || text === this.#text) return
    // A node that has met nobody yet has nothing to say that a file would be made for.
    if (peers.length === 0 && this.#text === '') return
    this.#savedAt = performance.now()
    try {
      await writeState(this.#path, text)
      this.#text = text
      this.#ports.well()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#ports.problem('unwritable', `the state file ${this.#path} cannot be written: ${why}`)
    }
  }
}
