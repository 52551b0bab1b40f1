import type { NodeId } from '../core/frame.ts'
import { RollcallError } from '../errors.ts'
import { encodeProbeMessage, type ProbeMessage } from '../wire/probe-message.ts'
import type { ResolvedTrackerOptions } from './options.ts'
import type { Channel, Timer } from './ports.ts'
import { ProbeLine, readProbes, type ProbeTally } from './probe-line.ts'
import type { Report } from './roster.ts'

/**
 * A neighbour is asked this part of `probePeriodMs` after it was last heard: a random part, so that of two nodes one asks
 * first, and the other, which hears the question, need not.
 */
const WAIT = { least: 0.7, most: 0.9 }
/**
 * Probes in a row without an answer after which the connections are dropped, so that the mesh dials again: what is lost
 * on the way for so long may find another one. Later than a hung process is noticed, sooner than TCP gives up (15 min).
 */
const HANG_UP_AFTER = 6

interface Neighbour {
  readonly line: ProbeLine
  heardAt: number
  failures: number
  timer: Timer | undefined
}

/** Sees to it that every neighbour shows at least every `probePeriodMs` that its event loop runs. */
export class Prober {
  readonly #options: ResolvedTrackerOptions
  readonly #alive: (peer: NodeId) => void
  readonly #report: Report
  readonly #neighbours = new Map<NodeId, Neighbour>()

  /** @param alive - a peer showed over a connection of ours that it lives. */
  constructor(options: ResolvedTrackerOptions, alive: (peer: NodeId) => void, report: Report) {
    this.#options = options
    this.#alive = alive
    this.#report = report
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  connected(peer: NodeId): void {
    if (this.#neighbours.has(peer)) return
    const { clock, transport } = this.#options
    const line = new ProbeLine(clock, {
      open: (signal) => transport.open(peer, 'probe', signal),
      heard: () => this.heard(peer),
      rejected: (error) => this.#reject(peer, error),
    })
    const neighbour: Neighbour = { line, heardAt: this.#now, failures: 0, timer: undefined }
    this.#neighbours.set(peer, neighbour)
    this.#wait(peer, neighbour)
  }

  disconnected(peer: NodeId): void {
    this.#neighbours.get(peer)?.timer?.cancel()
    this.#neighbours.get(peer)?.line.stop(over())
    this.#neighbours.delete(peer)
  }

  /** What came of the questions to a neighbour since it became one. */
  tally(peer: NodeId): ProbeTally | undefined {
    return this.#neighbours.get(peer)?.line.tally
  }

  /** A peer showed over a connection of ours that it lives. */
  heard(peer: NodeId): void {
    const neighbour = this.#neighbours.get(peer)
    if (neighbour !== undefined) {
      neighbour.heardAt = this.#now
      neighbour.failures = 0
    }
    this.#alive(peer)
  }

  /** Answers a peer's questions for as long as it asks. */
  async answer(peer: NodeId, channel: Channel): Promise<void> {
    const take = async ({ kind, number }: ProbeMessage): Promise<void> => {
      this.heard(peer)
      if (kind === 'ping') await channel.send(encodeProbeMessage({ kind: 'pong', number }))
    }
    await readProbes(channel, take, (error) => this.#reject(peer, error))
  }

  close(): void {
    for (const peer of [...this.#neighbours.keys()]) this.disconnected(peer)
  }

  #wait(peer: NodeId, neighbour: Neighbour): void {
    const { clock, random, probePeriodMs } = this.#options
    const share = WAIT.least + (WAIT.most - WAIT.least) * random.next()
    const dueAt = Math.max(neighbour.heardAt, this.#now - probePeriodMs) + share * probePeriodMs
    neighbour.timer = clock.setTimer(
      () => {
        if (this.#now - neighbour.heardAt < WAIT.least * probePeriodMs) this.#wait(peer, neighbour)
        else void this.#ask(peer, neighbour)
      },
      Math.max(0, dueAt - this.#now),
    )
  }

  async #ask(peer: NodeId, neighbour: Neighbour): Promise<void> {
    const { probeTimeoutMs, transport } = this.#options
    const answered = await neighbour.line.ping(probeTimeoutMs)
    if (this.#neighbours.get(peer) !== neighbour) return
    if (!answered) {
      neighbour.failures++
      if (neighbour.failures % HANG_UP_AFTER === 0) transport.hangUp(peer, 'it answers no probe')
    }
    this.#wait(peer, neighbour)
  }

  #reject(peer: NodeId, { code, message }: RollcallError): void {
    this.#report('rejected', peer, code, message)
  }
}

const over = (): RollcallError => new RollcallError('ROLLCALL_CLOSED', 'the connection is over')
