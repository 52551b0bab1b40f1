import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { Membership } from '../core/membership.ts'
import { Replica } from '../core/replica.ts'
import { Writer, type Draft } from '../core/writer.ts'
import { RollcallError, type RollcallErrorCode } from '../errors.ts'
import { LIBRARY_VERSION } from '../version.ts'
import { decodeGossip } from '../wire/gossip.ts'
import type { WireLimits } from '../wire/limits.ts'
import { Beater } from './beater.ts'
import { diagnose, type TrackerDiagnostics } from './diagnostics.ts'
import { Directory } from './directory.ts'
import { Doubts } from './doubts.ts'
import { Exchange } from './exchange.ts'
import { TrafficTally } from './traffic-tally.ts'
import { Identity } from './identity.ts'
import { Lookout } from './lookout.ts'
import { factsToMeta, NODE_TOPIC } from './node-entry.ts'
import { wireLimits, type ResolvedTrackerOptions } from './options.ts'
import type { TransportEvents } from './ports.ts'
import { Prober } from './prober.ts'
import { Roster, type Report } from './roster.ts'
import { Syncer } from './syncer.ts'
import { Ticker } from './ticker.ts'

export interface EnginePorts {
  readonly report: Report
  /** A part of a snapshot is coming in. `first` is the first entry of the whole. */
  readonly foreseen: (part: readonly Entry<Json>[], first: Entry<Json>) => void
  /** Another process lives under this id: the node cannot go on. */
  readonly yielded: () => void
}

/**
 * The running parts of one node, put together: what the network and time bring goes to the part that decides on it, and what
 * the application writes goes out. Begins with `start`, ends with `stop`, for good.
 */
export class Engine {
  readonly replica: Replica<Json>
  readonly writer: Writer<Json>
  readonly directory: Directory
  readonly doubts: Doubts
  readonly rejected = new Map<RollcallErrorCode, number>()
  readonly #options: ResolvedTrackerOptions
  readonly #ports: EnginePorts
  readonly #limits: WireLimits
  readonly #gossip = new TrafficTally()
  readonly #membership: Membership
  readonly #roster: Roster
  readonly #exchange: Exchange
  readonly #syncer: Syncer
  readonly #prober: Prober
  readonly #lookout: Lookout
  readonly #beater: Beater
  readonly #ticker: Ticker
  readonly #identity: Identity
  #ownRef: number | undefined
  #addresses: readonly string[] = []
  #state: 'starting' | 'running' | 'over' = 'starting'

  constructor(options: ResolvedTrackerOptions, ports: EnginePorts) {
    this.#options = options
    this.#ports = ports
    this.#limits = wireLimits(options)
    const { clock, random, transport } = options
    // The wall clock only names the life, and 1,024 parts of a ms keep twins apart; a name that is not higher
    // than the last one is refuted by whoever remembers it.
    const incarnation = Math.max(1, Math.floor(clock.wallNow())) * 1_024 + Math.floor(random.next() * 1_024)
    this.replica = new Replica<Json>(options.maxLogWrites)
    this.writer = new Writer(this.replica, transport.id, incarnation)
    this.#identity = new Identity(clock)
    this.#beater = new Beater(options, this.writer, this.#gossip)
    this.#membership = new Membership(options)
    this.doubts = new Doubts(options)
    this.directory = new Directory(transport.id, clock, this.replica, this.#membership, this.doubts)
    const report: Report = (event, ...payload) => this.#report(event, ...payload)
    this.#roster = new Roster(options, this.replica, this.#membership, this.directory, this.doubts, {
      report,
      behind: (owner, via) => this.#syncer.behind(owner, via),
      dead: (node) => this.#lookout.hint(node),
    })
    this.#exchange = new Exchange(options, this.replica, this.#membership, this.#roster, {
      pulse: () => ({ beat: this.#beater.beat, promiseMs: this.#beater.promiseMs }),
      met: (seen) => this.#metSelf(seen),
      lived: (silentMs) => {
        if (this.#identity.isTwin(silentMs)) this.#yield()
      },
    })
    this.#syncer = new Syncer(options, this.#roster, this.#exchange, report, ports.foreseen)
    this.#prober = new Prober(options, {
      alive: (peer) => this.#roster.touch(peer),
      vouched: (peer) => this.#roster.vouch(peer),
      hung: (peer, askedAt) => {
        if (this.#roster.suspect(peer, 'unanswered', askedAt)) this.#lookout.hint(peer)
      },
      report,
    })
    this.#lookout = new Lookout(options, this.#membership, this.#roster, this.#prober, this.#gossip)
    this.#ticker = new Ticker(clock, options.broadcastPeriodMs, (lateMs) => this.#tick(lateMs))
  }

  /** Rejects with what the transport's start rejects with; then it is over. */
  async start(): Promise<void> {
    const { transport, random, broadcastPeriodMs } = this.#options
    try {
      await transport.start(this.#events())
    } catch (error) {
      this.#state = 'over'
      await transport.stop()
      throw error
    }
    this.#state = 'running'
    this.#introduce()
    // A random part of the period, so that nodes started together do not beat together.
    this.#ticker.start(random.next() * broadcastPeriodMs)
    // Those met during the start had nothing to be told yet.
    for (const peer of transport.neighbours()) this.#connected(peer)
  }

  /** Nothing is reported any more from the call on. `goodbye`: waits at most `leaveTimeoutMs` for the neighbours to take it. */
  async stop(goodbye: boolean): Promise<void> {
    this.#state = 'over'
    this.#ticker.stop()
    this.#beater.stop()
    if (goodbye) await this.#within(this.#beater.leave(), this.#options.leaveTimeoutMs)
    this.#syncer.close()
    this.#prober.close()
    this.#lookout.close()
    await this.#options.transport.stop()
  }

  /** Makes writes of this node, in one batch, and returns their refs. `made` is told of them before anyone else is. */
  write(drafts: readonly Draft<Json>[], made?: (refs: readonly number[]) => void): readonly number[] {
    const { change, refs } = this.writer.write(drafts)
    made?.(refs)
    this.#roster.reportOwn(change)
    this.#beater.wrote()
    return refs
  }

  /** Sends what is written now, whatever the option `flush` says. */
  flush(): void {
    this.#beater.flush()
  }

  get isolated(): boolean {
    return this.#roster.isolated
  }

  diagnose(): TrackerDiagnostics {
    const { clock, transport, name } = this.#options
    const { id } = transport
    return diagnose({
      now: clock.now(),
      closed: this.#state === 'over',
      self: {
        id,
        name,
        incarnation: this.writer.incarnation,
        version: this.writer.version,
        beat: this.#beater.beat,
        entries: this.replica.state(id)?.entries.size ?? 0,
      },
      members: this.#membership.all(),
      nameOf: (node) => this.directory.get(node).name,
      headOf: (node) => this.replica.head(node),
      isBehind: (node) => this.#roster.isBehind(node),
      behindSince: (node) => this.#syncer.behindSince(node),
      heardOf: this.#exchange.heardOf,
      doubtOf: (node) => this.doubts.of(node),
      doubts: this.doubts.counts,
      awareness: this.#prober.awareness,
      probesOf: (node) => this.#prober.tally(node),
      syncs: this.#syncer.tally,
      gossip: this.#gossip,
      gaps: this.#roster.gaps,
      rejected: this.rejected,
      lateness: this.#ticker.lateness,
      transport,
    })
  }

  #connected(peer: NodeId): void {
    this.#roster.touch(peer)
    this.#syncer.connected(peer)
    this.#prober.connected(peer)
    this.#lookout.connected(peer)
  }

  #events(): TransportEvents {
    const running = () => this.#state === 'running'
    return {
      gossip: (author, via, message) => !running() || this.#hear(author, via, message),
      opened: (peer, purpose, channel) => {
        if (!running()) channel.abort(new RollcallError('ROLLCALL_CLOSED', 'the node is not running'))
        else if (purpose === 'probe') void this.#prober.answer(peer, channel)
        else void this.#syncer.incoming(peer, channel)
      },
      connected: (peer) => {
        if (running()) this.#connected(peer)
      },
      disconnected: (peer) => {
        this.#syncer.disconnected(peer)
        this.#prober.disconnected(peer)
        this.#lookout.disconnected(peer)
      },
      refused: (peer) => {
        if (running()) this.#roster.refuse(peer)
      },
      unreachable: (peer) => {
        if (running()) this.#lookout.unreachable(peer)
      },
      mute: async (peer) => {
        if (running()) await this.#syncer.overhear(peer)
      },
      problem: (where, error) => this.#report('problem', where, error),
    }
  }

  #hear(author: NodeId, via: NodeId, message: Uint8Array): boolean {
    this.#gossip.receive(message)
    try {
      const said = decodeGossip(message, this.#limits)
      if (author === via) this.#prober.heard(via)
      if (said.kind === 'beat') this.#exchange.hear(author, via, said)
      else if (said.node !== this.#options.transport.id) this.#lookout.hinted(said)
      else if (said.incarnation === this.writer.incarnation) this.#beater.speak()
      return true
    } catch (error) {
      if (!(error instanceof RollcallError)) throw error
      this.#report('rejected', author, error.code, error.message)
      // A kind of a later protocol is for those who know it; broken bytes are for nobody.
      return error.code === 'ROLLCALL_MESSAGE_UNKNOWN'
    }
  }

  #tick(lateMs: number): void {
    this.#introduce()
    this.#roster.judge(lateMs)
    this.#syncer.tick()
    this.#lookout.tick()
    this.#beater.tick()
  }

  /** Says of itself what others need to know, when it is new. */
  #introduce(): void {
    const { transport, name, zone } = this.#options
    const addresses = transport.addresses()
    const same =
      addresses.length === this.#addresses.length && addresses.every((each, i) => each === this.#addresses[i])
    if (same && this.#ownRef !== undefined) return
    this.#addresses = [...addresses]
    const meta = factsToMeta({ name, addresses: this.#addresses, zone, library: LIBRARY_VERSION })
    const [ref] = this.write([{ kind: 'put', ref: this.#ownRef, topic: NODE_TOPIC, key: name, meta }])
    this.#ownRef = ref
  }

  /** A peer remembers a later life of this node than this one: go on in a later one still, unless someone lives it. */
  #metSelf(seen: number): void {
    if (this.#state !== 'running' || seen < this.writer.incarnation) return
    const next = this.#identity.refute(seen)
    if (next === undefined) {
      this.#yield()
      return
    }
    this.#roster.reportReborn(this.writer.reincarnate(next))
    this.#beater.reborn()
  }

  #yield(): void {
    if (this.#state === 'running') this.#ports.yielded()
  }

  #report: Report = (event, ...payload) => {
    if (this.#state === 'over') return
    if (event === 'rejected') this.#count(payload[1] as RollcallErrorCode)
    this.#ports.report(event, ...payload)
  }

  #count(code: RollcallErrorCode): void {
    this.rejected.set(code, (this.rejected.get(code) ?? 0) + 1)
  }

  async #within(work: Promise<void>, ms: number): Promise<void> {
    let done: () => void = () => undefined
    const timedOut = new Promise<void>((resolve) => (done = resolve))
    const timer = this.#options.clock.setTimer(done, ms)
    await Promise.race([work, timedOut])
    timer.cancel()
  }
}
