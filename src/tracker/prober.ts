import { feelWell, patience } from '../core/awareness.ts'
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
/** Probes in a row without an answer that make a node suspect. Two may be one lost packet and its repetition. */
const SUSPECT_AFTER = 3
/** Others that are asked about a node that does not answer: SWIM's k, and memberlist's. */
const CONSULTED = 3
/**
 * Probes that would have fit into a silence after which the connections are dropped, so that the mesh dials again: what is
 * lost on the way for so long may find another one. Later than a hung process is noticed, sooner than TCP gives up (15 min).
 */
const HANG_UP_AFTER = 6
/** Questions of one peer about others that are looked into at once; to more the answer is no. */
const MAX_INQUIRIES = 8

interface Neighbour {
  readonly line: ProbeLine
  heardAt: number
  /** Probes in a row without an answer. */
  failures: number
  timer: Timer | undefined
}

/** What follows from probes. */
export interface ProberPorts {
  /** A peer showed over a connection of ours that it lives. */
  readonly alive: (peer: NodeId) => void
  /** A peer does not answer us, but another node. */
  readonly vouched: (peer: NodeId) => void
  /** A peer answers neither us nor others. */
  readonly hung: (peer: NodeId, askedAt: number) => void
  readonly report: Report
}

/** Sees to it that every neighbour shows at least every `probePeriodMs` that its event loop runs. */
export class Prober {
  readonly #options: ResolvedTrackerOptions
  readonly #ports: ProberPorts
  readonly #neighbours = new Map<NodeId, Neighbour>()
  #awareness = 0

  constructor(options: ResolvedTrackerOptions, ports: ProberPorts) {
    this.#options = options
    this.#ports = ports
  }

  /** How much of what goes wrong may be our own fault, from 0 to 8. */
  get awareness(): number {
    return this.#awareness
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  /** Probes in a row without an answer that make a node suspect. More while we are not well ourselves. */
  get #suspectAfter(): number {
    return patience(SUSPECT_AFTER, this.#awareness)
  }

  connected(peer: NodeId): void {
    if (this.#neighbours.has(peer)) return
    const { clock, transport } = this.#options
    const line = new ProbeLine(clock, {
      open: (signal) => transport.open(peer, 'probe', signal),
      heard: () => this.heard(peer),
      late: () => (this.#awareness = feelWell(this.#awareness, 'late')),
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
    this.#ports.alive(peer)
  }

  /** Answers a peer's questions for as long as it asks. */
  async answer(peer: NodeId, channel: Channel): Promise<void> {
    let inquiries = 0
    const inquire = async (number: number, node: NodeId): Promise<void> => {
      inquiries++
      const alive = inquiries <= MAX_INQUIRIES && (await this.#finds(node))
      inquiries--
      // The asker may be gone by now.
      await channel.send(encodeProbeMessage({ kind: 'told', number, alive })).catch(() => undefined)
    }
    const take = async (message: ProbeMessage): Promise<void> => {
      this.heard(peer)
      const { kind, number } = message
      if (kind === 'ping') await channel.send(encodeProbeMessage({ kind: 'pong', number }))
      if (kind === 'ask') void inquire(number, message.node)
    }
    await readProbes(channel, take, (error) => this.#reject(peer, error))
  }

  /** Whether any of a few others is answered by a node that does not answer us. Never rejects. */
  async consult(node: NodeId): Promise<boolean> {
    const others = [...this.#neighbours].filter(([peer, { failures }]) => peer !== node && failures === 0)
    const chosen: ProbeLine[] = []
    while (chosen.length < CONSULTED && others.length > 0) {
      const [other] = others.splice(Math.floor(this.#options.random.next() * others.length), 1)
      if (other !== undefined) chosen.push(other[1].line)
    }
    const { probeTimeoutMs } = this.#options
    return new Promise((resolve) => {
      // One that says yes is enough; who says no need not be waited for to the end.
      const asked = chosen.map(async (line) => {
        if (await line.ask(node, probeTimeoutMs)) resolve(true)
      })
      void Promise.all(asked).then(() => resolve(false))
    })
  }

  close(): void {
    for (const peer of [...this.#neighbours.keys()]) this.disconnected(peer)
  }

  #wait(peer: NodeId, neighbour: Neighbour): void {
    const { clock, random, probePeriodMs } = this.#options
    const share = WAIT.least + (WAIT.most - WAIT.least) * random.next()
    const dueAt = neighbour.heardAt + share * probePeriodMs
    neighbour.timer = clock.setTimer(
      () => {
        if (this.#now - neighbour.heardAt < WAIT.least * probePeriodMs) this.#wait(peer, neighbour)
        else void this.#probe(peer, neighbour)
      },
      Math.max(0, dueAt - this.#now),
    )
  }

  async #probe(peer: NodeId, neighbour: Neighbour): Promise<void> {
    const askedAt = this.#now
    // Without an answer to this one it counts as hung, unless another vouches for it.
    const isLast = neighbour.failures >= this.#suspectAfter - 1
    const [answered, vouched] = await Promise.all([
      neighbour.line.ping(this.#options.probeTimeoutMs),
      isLast ? this.consult(peer) : false,
    ])
    if (this.#neighbours.get(peer) !== neighbour) return
    if (answered || neighbour.heardAt >= askedAt) this.#awareness = feelWell(this.#awareness, 'answered')
    else this.#failed(peer, neighbour, askedAt, isLast && !vouched)
    if (vouched) this.#ports.vouched(peer)
    this.#wait(peer, neighbour)
  }

  #failed(peer: NodeId, neighbour: Neighbour, askedAt: number, hangs: boolean): void {
    neighbour.failures++
    if (this.#isAlone()) this.#awareness = feelWell(this.#awareness, 'alone')
    if (hangs) this.#ports.hung(peer, askedAt)
    const { probePeriodMs, probeTimeoutMs, transport } = this.#options
    const mostMs = HANG_UP_AFTER * Math.max(probePeriodMs, probeTimeoutMs)
    if (this.#now - neighbour.heardAt >= mostMs) transport.hangUp(peer, 'it answers no probe')
  }

  /** Most of our neighbours leave us without an answer, so the fault may be ours. With one neighbour that says nothing. */
  #isAlone(): boolean {
    const all = [...this.#neighbours.values()]
    return all.length > 1 && all.filter(({ failures }) => failures > 0).length > all.length / 2
  }

  /** Whether a node answers us, asked now. */
  async #finds(node: NodeId): Promise<boolean> {
    if (node === this.#options.transport.id) return true
    return (await this.#neighbours.get(node)?.line.ping(this.#options.probeTimeoutMs)) ?? false
  }

  #reject(peer: NodeId, { code, message }: RollcallError): void {
    this.#ports.report('rejected', peer, code, message)
  }
}

const over = (): RollcallError => new RollcallError('ROLLCALL_CLOSED', 'the connection is over')
