import { MemoryNetwork } from '../transports/memory/network.ts'
import { memoryTransport } from '../transports/memory/transport.ts'
import type { MemoryTransport, MemoryTransportOptions } from '../transports/memory/transport.ts'
import type { LinkMessage, MemoryNetworkOptions } from '../transports/memory/settings.ts'
import { EventLog } from './event-log.ts'
import { LINK_DEFAULTS, Links } from './links.ts'
import type { LinkFaults } from './links.ts'
import { SeededRandom } from './random.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface SimulatedNetworkOptions
  extends Partial<LinkFaults>, Omit<MemoryNetworkOptions, 'clock' | 'random' | 'policy'> {
  /** Decides everything that is left to chance. The same seed, the same run. */
  readonly seed: number
  /** How many events are kept for `log`. More costs memory only. */
  readonly logLimit?: number
}

/** A node, or the address of one: links belong to addresses and outlive the process there. */
export type Member = string | { readonly address: string }
export type Members = Member | readonly Member[]

/** A message as a link took it. */
export interface Passage extends LinkMessage {
  readonly atMs: number
  /** Delay of every copy that arrives, ms. Empty: lost. */
  readonly delaysMs: readonly number[]
}

/** What was sent over all links, lost messages and every hop of gossip included. */
export interface Traffic {
  readonly gossip: { readonly messages: number; readonly bytes: number }
  readonly sync: { readonly messages: number; readonly bytes: number }
  readonly probe: { readonly messages: number; readonly bytes: number }
  /** Dials, credit, resets, signs of life. */
  readonly control: { readonly messages: number; readonly bytes: number }
}

/** Enough to see what led to a failure, few enough to read. */
const LINES_WITH_FAILURE = 40

const addressOf = (member: Member): string => (typeof member === 'string' ? member : member.address)

const addressesOf = (members: Members): readonly string[] =>
  Array.isArray(members) ? members.map(addressOf) : [addressOf(members as Member)]

/**
 * A network on virtual time whose faults follow from a seed: a run is the same, bit for bit, each time.
 * Time passes only in `run` and `until`.
 */
export class SimulatedNetwork {
  readonly seed: number
  readonly clock = new VirtualClock()
  /** Fork it for a purpose of your own; drawing from it directly shifts nothing here either. */
  readonly random: SeededRandom
  readonly #network: MemoryNetwork
  readonly #links: Links
  readonly #log: EventLog
  /** The present process at each address: of those before it nothing is kept. */
  readonly #transports = new Map<string, MemoryTransport>()
  readonly #taps = new Set<(passage: Passage) => void>()
  readonly #ends: (() => void)[] = []
  readonly #traffic = {
    gossip: { messages: 0, bytes: 0 },
    sync: { messages: 0, bytes: 0 },
    probe: { messages: 0, bytes: 0 },
    control: { messages: 0, bytes: 0 },
  }

  constructor(options: SimulatedNetworkOptions) {
    const { seed, logLimit = 1_000, loss, delayMs, repeat, reorder, strayMs, ...network } = options
    this.seed = seed
    this.random = new SeededRandom(seed)
    this.#log = new EventLog(logLimit)
    const faults = { loss, delayMs, repeat, reorder, strayMs }
    const given = Object.fromEntries(Object.entries(faults).filter(([, value]) => value !== undefined))
    this.#links = new Links({ ...LINK_DEFAULTS, ...given }, this.random.fork('links'))
    this.#network = new MemoryNetwork({
      ...network,
      clock: this.clock,
      random: this.random.fork('dials'),
      policy: (message) => this.#pass(message),
    })
  }

  /** A transport on this network, not started. Give it a node's view of `clock` to be able to stall or kill it. */
  transport(options: MemoryTransportOptions = {}): MemoryTransport {
    const transport = memoryTransport(this.#network, options)
    this.#transports.set(transport.address, transport)
    return transport
  }

  /** Two-way: nothing passes between a member of one group and a member of the other, until `heal`. */
  partition(a: Members, b: Members): void {
    this.oneWay(a, b)
    this.oneWay(b, a)
  }

  /** One-way: what `from` sends to `to` is lost, until `heal`. */
  oneWay(from: Members, to: Members): void {
    this.note(`cut ${addressesOf(from).join(' ')} > ${addressesOf(to).join(' ')}`)
    for (const sender of addressesOf(from)) {
      for (const receiver of addressesOf(to)) this.#links.cut(sender, receiver)
    }
  }

  /** Nothing passes to or from these, whoever else there is or will be, until `heal`. As a pulled network cable. */
  isolate(members: Members): void {
    this.note(`isolate ${addressesOf(members).join(' ')}`)
    for (const address of addressesOf(members)) this.#links.isolate(address)
  }

  /** Ends every `partition`, `oneWay` and `isolate`. Nodes find each other again by their own dials. */
  heal(): void {
    this.note('heal')
    this.#links.heal()
  }

  /** For good: these two cannot reach each other directly. Their connection breaks at once. `heal` changes nothing. */
  cutLink(a: Member, b: Member): void {
    this.note(`cut link ${addressOf(a)} - ${addressOf(b)}`)
    this.#links.remove(addressOf(a), addressOf(b))
    this.#links.remove(addressOf(b), addressOf(a))
    this.#breakClosed()
  }

  /** For good: only these pairs can reach each other directly, for example a line. Other connections break at once. */
  limitLinks(pairs: readonly (readonly [Member, Member])[]): void {
    const both = pairs.flatMap(([a, b]) => [
      [addressOf(a), addressOf(b)] as const,
      [addressOf(b), addressOf(a)] as const,
    ])
    this.note(`limit links to ${pairs.map(([a, b]) => `${addressOf(a)} - ${addressOf(b)}`).join(', ')}`)
    this.#links.allowOnly(both)
    this.#breakClosed()
  }

  /** Sets some faults of the links between two groups, both ways. */
  setFaults(a: Members, b: Members, faults: Partial<LinkFaults>): void {
    for (const one of addressesOf(a)) {
      for (const other of addressesOf(b)) {
        this.#links.setFaults(one, other, faults)
        this.#links.setFaults(other, one, faults)
      }
    }
  }

  /** Lets this many virtual ms pass. Rejects with `failure` of what a callback threw. */
  async run(ms: number): Promise<void> {
    try {
      await this.clock.advance(ms)
    } catch (error) {
      throw this.failure(error)
    }
  }

  /** Runs until the condition holds, asked every `everyMs`; rejects with `failure` after `withinMs`. */
  async until(what: string, withinMs: number, condition: () => boolean, everyMs = 10): Promise<void> {
    const giveUpAt = this.clock.now() + withinMs
    while (!condition()) {
      if (this.clock.now() >= giveUpAt) throw this.failure(`not within ${withinMs} ms: ${what}`)
      await this.run(Math.min(everyMs, giveUpAt - this.clock.now()))
    }
  }

  /** Runs until the promise settles, for what takes virtual time, and gives its value. Rejects with `failure` after `withinMs`. */
  async settle<T>(promise: Promise<T>, withinMs = 60_000): Promise<T> {
    let settled = false
    const done = (): void => void (settled = true)
    promise.then(done, done)
    await this.until('a promise settles', withinMs, () => settled, 1)
    return promise
  }

  /** Calls back when the simulation is over. */
  onEnd(callback: () => void): void {
    this.#ends.push(callback)
  }

  /** The simulation is over: all nodes crash, which frees their memory. At the end of a scope: `using net = …`. */
  end(): void {
    for (const callback of this.#ends.splice(0)) callback()
  }

  [Symbol.dispose](): void {
    this.end()
  }

  /** What was sent since the network exists. */
  get traffic(): Traffic {
    return structuredClone(this.#traffic)
  }

  /** Shows every message as a link takes it, whatever its kind. Returns how to stop. */
  tap(listener: (passage: Passage) => void): () => void {
    this.#taps.add(listener)
    return () => this.#taps.delete(listener)
  }

  /** Writes into the log. Words that are costly to make can be made when they are read. */
  note(text: string | (() => string)): void {
    this.#log.add(this.clock.now(), typeof text === 'string' ? () => text : text)
  }

  /** What happened last, one line each: messages of gossip and sync, faults, notes. */
  log(): string[] {
    return this.#log.lines()
  }

  /** An error that names the seed, the moment and what happened last. */
  failure(reason: unknown): Error {
    if (reason instanceof SimulationFailure) return reason
    return new SimulationFailure(
      `seed ${this.seed}, at ${this.clock.now().toFixed(3)} ms: ${reason instanceof Error ? reason.message : String(reason)}`,
      this.#log.lines(LINES_WITH_FAILURE),
      { cause: reason },
    )
  }

  #pass(message: LinkMessage): readonly number[] {
    const delaysMs = this.#links.pass(message)
    const bytes = message.payload?.length ?? 0
    const count = this.#traffic[message.kind]
    count.messages += 1
    count.bytes += bytes
    const atMs = this.clock.now()
    if (message.kind === 'gossip' || message.kind === 'sync') {
      this.#log.add(atMs, () => {
        const fate =
          delaysMs.length === 0 ? 'lost' : delaysMs.map((delay) => `+${delay.toFixed(3)}`).join(' ')
        return `${message.from} > ${message.to} ${message.kind} ${bytes} B ${fate}`
      })
    }
    for (const tap of this.#taps) tap({ ...message, atMs, delaysMs })
    return delaysMs
  }

  #breakClosed(): void {
    for (const one of this.#transports.values()) {
      for (const other of this.#transports.values()) {
        if (one !== other && !this.#links.isOpen(one.address, other.address)) one.sever(other.id)
      }
    }
  }
}

/** A simulation went wrong. The message holds the seed that replays it, and the last events. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure'
  /** The last events, oldest first. */
  readonly lines: readonly string[]

  constructor(message: string, lines: readonly string[], options: ErrorOptions) {
    super([message, ...lines].join('\n'), options)
    this.lines = lines
  }
}

/** Runs a scenario. Whatever it throws, an assertion for example, is thrown on with seed, moment and
 * last events. Afterwards the simulation is over (`end`). */
export async function simulate(
  options: SimulatedNetworkOptions,
  scenario: (net: SimulatedNetwork) => Promise<void>,
): Promise<void> {
  const net = new SimulatedNetwork(options)
  try {
    await scenario(net)
  } catch (error) {
    throw net.failure(error)
  } finally {
    net.end()
  }
}
