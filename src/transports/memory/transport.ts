import type { NodeId } from '../../core/frame.ts'
import { RollcallError } from '../../errors.ts'
import type {
  Channel,
  ChannelPurpose,
  Clock,
  DialState,
  Random,
  Timer,
  Transport,
  TransportEvents,
} from '../../tracker/ports.ts'
import type { ConnectionEnd, Endpoint, Gossip } from './connection.ts'
import { Dialler } from './dialler.ts'
import type { DialOutcome, Listener, MemoryNetwork } from './network.ts'
import { Redialler } from './redialler.ts'
import type { Target } from './redialler.ts'
import { SeenMessages } from './seen-messages.ts'

const SCHEME = '/memory/'

export interface MemoryTransportOptions {
  /** The node id. Default: a new one. The same id again is the same node started again. */
  readonly id?: NodeId
  /** Where it listens: `/memory/<name>`. Default: `/memory/<id>`. One transport at a time can have it. */
  readonly address?: string
  /** Addresses to join, tried for ever. */
  readonly join?: readonly string[]
  /** Time of this node. Default: that of the network. */
  readonly clock?: Clock
  /** Chance of this node. Default: that of the network. */
  readonly random?: Random
}

/** A transport on this network, not started. Throws `ROLLCALL_INVALID_ADDRESS`. */
export function memoryTransport(
  network: MemoryNetwork,
  options: MemoryTransportOptions = {},
): MemoryTransport {
  return new MemoryTransport(network, options)
}

function checkAddress(address: string): string {
  if (address.startsWith(SCHEME) && address.length > SCHEME.length) return address
  throw new RollcallError('ROLLCALL_INVALID_ADDRESS', `${address} is not ${SCHEME}<name>`)
}

const unreachable = (peer: NodeId): RollcallError =>
  new RollcallError('ROLLCALL_PEER_UNREACHABLE', `${peer} is not a neighbour`)

/**
 * The Transport port inside one process, for tests and single-process set-ups. Gossip floods over the connections,
 * each node passing on what it sees for the first time; nodes connect to those they have learnt of, up to `degree`.
 */
export class MemoryTransport implements Transport {
  readonly id: NodeId
  readonly address: string
  readonly #network: MemoryNetwork
  readonly #clock: Clock
  readonly #join: readonly string[]
  readonly #listener: Listener
  readonly #dialler: Dialler
  readonly #redialler: Redialler
  readonly #seen = new SeenMessages()
  /** Where each node that was learnt of can be dialled. */
  readonly #known = new Map<NodeId, Target>()
  /** Open ends by peer. More than one while an old connection has not been found dead yet. */
  readonly #peers = new Map<NodeId, ConnectionEnd[]>()
  #state: 'new' | 'running' | 'over' = 'new'
  #events: TransportEvents | undefined

  constructor(network: MemoryNetwork, options: MemoryTransportOptions) {
    const { settings } = network
    this.#network = network
    this.id = options.id ?? network.nextId()
    this.address = checkAddress(options.address ?? SCHEME + this.id)
    this.#join = (options.join ?? []).map(checkAddress)
    this.#clock = options.clock ?? settings.clock
    this.#listener = this.#listen()
    this.#dialler = new Dialler(network, this.#listener)
    this.#redialler = new Redialler({
      clock: this.#clock,
      random: options.random ?? settings.random,
      redialMs: settings.redialMs,
      redialMaxMs: settings.redialMaxMs,
      isConnected: (target) => this.#isConnected(target),
      dial: (target, done) => this.#dialler.dial(target, done),
      failed: (target, outcome, first) => this.#dialFailed(target, outcome, first),
    })
  }

  async start(events: TransportEvents): Promise<void> {
    if (this.#state !== 'new') throw new RollcallError('ROLLCALL_START_FAILED', 'a transport starts once')
    this.#network.listen(this.#listener)
    this.#state = 'running'
    this.#events = events
    for (const address of this.#join) {
      if (address !== this.address) this.#redialler.want(address, { peer: undefined, addresses: [address] })
    }
    return Promise.resolve()
  }

  publish(message: Uint8Array): Promise<void> {
    // A copy: the caller may use its buffer again, as it may with a real network.
    this.#flood({ serial: this.#network.nextSerial(), author: this.id, payload: message.slice() }, undefined)
    return Promise.resolve()
  }

  open(peer: NodeId, purpose: ChannelPurpose, signal: AbortSignal): Promise<Channel> {
    const end = this.#endTo(peer)
    return end === undefined ? Promise.reject(unreachable(peer)) : end.openChannel(purpose, signal)
  }

  neighbours(): readonly NodeId[] {
    return [...this.#peers.keys()]
  }

  addresses(): readonly string[] {
    return [this.address]
  }

  learn(peer: NodeId, addresses: readonly string[]): void {
    if (this.#state !== 'running' || peer === this.id) return
    const usable = addresses.filter((address) => address.startsWith(SCHEME) && address !== this.address)
    if (usable.length === 0 || this.#known.get(peer)?.addresses.join() === usable.join()) return
    this.#want(peer, { peer, addresses: usable })
  }

  forget(peer: NodeId): void {
    this.#known.delete(peer)
    this.#redialler.drop(peer)
    for (const [other, target] of this.#known) this.#want(other, target)
  }

  async examine(peer: NodeId): Promise<'alive' | 'refused' | 'unknown'> {
    const end = this.#endTo(peer)
    if (end !== undefined) {
      const answer = await this.#answerOf(end)
      if (answer !== 'broken') return answer
    }
    const target = this.#known.get(peer)
    if (this.#state !== 'running' || target === undefined) return 'unknown'
    const outcome = await new Promise<DialOutcome>((resolve) => this.#dialler.dial(target, resolve))
    return outcome === 'refused' || outcome === 'unknown' ? outcome : 'alive'
  }

  dials(): readonly DialState[] {
    return this.#redialler.dials()
  }

  hangUp(peer: NodeId): void {
    this.sever(peer)
  }

  stop(): Promise<void> {
    this.crash()
    return Promise.resolve()
  }

  /**
   * As kill -9 on the process: it does and says nothing more, and nothing is called back. Its machine lives on:
   * it resets the connections and refuses dials. The same as `stop`, since a goodbye is the node's to say.
   */
  crash(): void {
    this.#state = 'over'
    this.#events = undefined
    this.#network.unlisten(this.#listener)
    this.#redialler.stop()
    for (const end of [...this.#peers.values()].flat()) end.close()
    this.#peers.clear()
  }

  /** Drops every connection with this peer, as a reset on the way does. Both sides notice, and dial again. */
  sever(peer: NodeId): void {
    for (const end of this.#peers.get(peer) ?? []) end.sever()
  }

  #listen(): Listener {
    const isAlive = (): boolean => this.#state === 'running'
    const isOver = (): boolean => this.#state === 'over'
    return {
      id: this.id,
      address: this.address,
      clock: this.#clock,
      get alive() {
        return isAlive()
      },
      get over() {
        return isOver()
      },
      admits: (dialler) => this.#admits(dialler),
      opened: (end) => this.#opened(end),
      closed: (end) => this.#closed(end),
      heard: (end, gossip, again) => this.#heard(end, gossip, again),
      incoming: (end, purpose, channel) => this.#events?.opened(end.remote.id, purpose, channel),
    }
  }

  /** Of two that dial each other at once, the dial of the lower address is the one that counts. */
  #admits({ address, id }: Endpoint): boolean {
    if (this.#endsWith(id, address).some((end) => end.whole)) return false
    return !this.#dialler.isDialling(address, id) || address < this.address
  }

  #endsWith(peer: NodeId, address: string): readonly ConnectionEnd[] {
    return (this.#peers.get(peer) ?? []).filter((end) => end.remote.address === address)
  }

  /** Keeps a connection with it, unless there are enough. */
  #want(peer: NodeId, target: Target): void {
    const before = this.#redialler.target(peer)
    this.#known.set(peer, target)
    if (before === target) return
    if (before !== undefined || this.#redialler.peers < this.#network.settings.degree) {
      this.#redialler.want(peer, target)
    }
  }

  /** The newest: an older one may be dead already. */
  #endTo(peer: NodeId): ConnectionEnd | undefined {
    return this.#peers.get(peer)?.at(-1)
  }

  #opened(end: ConnectionEnd): void {
    const peer = end.remote.id
    const ends = this.#peers.get(peer)
    if (ends !== undefined) {
      ends.push(end)
      return
    }
    this.#peers.set(peer, [end])
    if (!this.#known.has(peer)) this.#want(peer, { peer, addresses: [end.remote.address] })
    this.#events?.connected(peer)
  }

  #closed(end: ConnectionEnd): void {
    const peer = end.remote.id
    const rest = (this.#peers.get(peer) ?? []).filter((other) => other !== end)
    if (rest.length > 0) {
      this.#peers.set(peer, rest)
      return
    }
    this.#peers.delete(peer)
    this.#events?.disconnected(peer)
    this.#redialler.lost()
    if (this.#redialler.target(peer) === undefined) this.#lookAfter(peer)
  }

  #heard(end: ConnectionEnd, gossip: Gossip, again: boolean): void {
    const isNew = this.#seen.add(gossip.serial)
    if (!isNew && !again) return
    const passOn = this.#events?.gossip(gossip.author, end.remote.id, gossip.payload) ?? false
    // What a link repeats, the others have already.
    if (passOn && isNew) this.#flood(gossip, end.remote.id)
  }

  #flood(gossip: Gossip, via: NodeId | undefined): void {
    for (const peer of this.#peers.keys()) {
      if (peer !== via && peer !== gossip.author) this.#endTo(peer)?.gossip(gossip)
    }
  }

  #isConnected(target: Target): boolean {
    if (target.peer !== undefined) return this.#peers.has(target.peer)
    return [...this.#peers.values()].flat().some((end) => target.addresses.includes(end.remote.address))
  }

  /** One that is not dialled again and again is dialled once: it may be dead. */
  #lookAfter(peer: NodeId): void {
    const target = this.#known.get(peer)
    if (target === undefined) return
    this.#dialler.dial(target, (outcome) => {
      if (outcome === 'refused' || outcome === 'unknown') this.#dialFailed(target, outcome, true)
    })
  }

  #dialFailed(target: Target, outcome: 'refused' | 'unknown', first: boolean): void {
    if (target.peer !== undefined && outcome === 'refused') {
      this.#events?.refused(target.peer)
      return
    }
    if (target.peer !== undefined) this.#events?.unreachable(target.peer)
    // Of a seed whose node is known, the node is what is reported.
    const known = target.peer === undefined && target.addresses.some((at) => this.#redialler.seeksNodeAt(at))
    if (!first || known) return
    const where = target.peer ?? target.addresses.join()
    this.#events?.problem(where, new RollcallError('ROLLCALL_PEER_UNREACHABLE', `${where}: dial ${outcome}`))
  }

  async #answerOf(end: ConnectionEnd): Promise<'alive' | 'unknown' | 'broken'> {
    let timeout: Timer | undefined
    const silence = new Promise<'unknown'>((resolve) => {
      timeout = this.#clock.setTimer(() => resolve('unknown'), this.#network.settings.dialTimeoutMs)
    })
    const answered = end.ping().then((ok) => (ok ? 'alive' : 'broken'))
    const answer = await Promise.race([answered, silence])
    timeout?.cancel()
    return answer
  }
}
