import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { Membership } from '../core/membership.ts'
import type { Change } from '../core/owner-state.ts'
import { Replica } from '../core/replica.ts'
import { Writer } from '../core/writer.ts'
import { RollcallError, type RollcallErrorCode } from '../errors.ts'
import { LIBRARY_VERSION } from '../version.ts'
import { decodeGossip } from '../wire/gossip.ts'
import type { WireLimits } from '../wire/limits.ts'
import { Beater } from './beater.ts'
import { diagnose, type TrackerDiagnostics } from './diagnostics.ts'
import { Directory } from './directory.ts'
import { Doubts } from './doubts.ts'
import { Emitter } from './emitter.ts'
import { Exchange } from './exchange.ts'
import { Identity } from './identity.ts'
import { InTurn } from './in-turn.ts'
import { Ledger } from './ledger.ts'
import { Lookout } from './lookout.ts'
import { checkName, copyMeta } from './meta.ts'
import type { Monitor } from './monitor.ts'
import { factsToMeta, NODE_TOPIC } from './node-entry.ts'
import {
  resolveTrackerOptions,
  wireLimits,
  type ResolvedTrackerOptions,
  type TrackerOptions,
} from './options.ts'
import { at, checkMonitor, checkPlace, checkString } from './place.ts'
import type { TransportEvents } from './ports.ts'
import { Prober } from './prober.ts'
import { Roster, type Report } from './roster.ts'
import { Syncer } from './syncer.ts'
import { Ticker } from './ticker.ts'
import type { Doubt, NodeInfo, TrackerEvents } from './types.ts'

/** What `update` takes: a meta, or a function from the present one to the next. */
export type MetaUpdate = Json | ((meta: Json) => Json)

/** Takes a part of a snapshot that is coming in. `first` is the first entry of the whole. */
type Foreseen = (part: readonly Entry<Json>[], first: Entry<Json>) => void

/**
 * Presence in a cluster: entries `(topic, key, meta)` tied to local monitors, replicated to every node, and gone
 * everywhere when the monitor closes or the node goes. Reads are answered from this node's replica.
 */
export class Tracker extends Emitter<TrackerEvents> {
  readonly #options: ResolvedTrackerOptions
  readonly #limits: WireLimits
  readonly #replica: Replica<Json>
  readonly #writer: Writer<Json>
  readonly #membership: Membership
  readonly #directory: Directory
  readonly #roster: Roster
  readonly #exchange: Exchange
  readonly #syncer: Syncer
  readonly #prober: Prober
  readonly #doubts: Doubts
  readonly #lookout: Lookout
  readonly #beater: Beater
  readonly #ticker: Ticker
  readonly #identity: Identity
  readonly #ledger = new Ledger((refs) => this.#remove(refs))
  readonly #facts = new InTurn()
  #foreseen: Foreseen = () => undefined
  readonly #rejected = new Map<RollcallErrorCode, number>()
  #ownRef: number | undefined
  #addresses: readonly string[] = []
  #state: 'starting' | 'running' | 'closed' = 'starting'
  #closing: Promise<void> | undefined

  private constructor(options: ResolvedTrackerOptions) {
    super()
    this.#options = options
    this.#limits = wireLimits(options)
    const { clock, random, transport } = options
    // The wall clock only names the life, and 1,024 parts of a ms keep twins apart; a name that is not higher
    // than the last one is refuted by whoever remembers it.
    const incarnation = Math.max(1, Math.floor(clock.wallNow())) * 1_024 + Math.floor(random.next() * 1_024)
    this.#replica = new Replica<Json>(options.maxLogWrites)
    this.#writer = new Writer(this.#replica, transport.id, incarnation)
    this.#identity = new Identity(clock)
    this.#beater = new Beater(options, this.#writer)
    const membership = new Membership(options)
    this.#membership = membership
    this.#doubts = new Doubts(options)
    this.#directory = new Directory(transport.id, clock, this.#replica, membership, this.#doubts)
    const report: Report = (event, ...payload) => this.#report(event, ...payload)
    this.#roster = new Roster(options, this.#replica, membership, this.#directory, this.#doubts, {
      report,
      behind: (owner, via) => this.#syncer.behind(owner, via),
      dead: (node) => this.#lookout.hint(node),
    })
    this.#exchange = new Exchange(options, this.#replica, membership, this.#roster, {
      pulse: () => ({ beat: this.#beater.beat, promiseMs: this.#beater.promiseMs }),
      met: (incarnation) => this.#metSelf(incarnation),
      lived: (silentMs) => {
        if (this.#identity.isTwin(silentMs)) this.#yield()
      },
    })
    this.#syncer = new Syncer(options, this.#roster, this.#exchange, report, (part, first) =>
      this.#foreseen(part, first),
    )
    this.#prober = new Prober(options, {
      alive: (peer) => this.#roster.touch(peer),
      vouched: (peer) => this.#roster.vouch(peer),
      hung: (peer) => {
        if (this.#roster.suspect(peer, 'unanswered')) this.#lookout.hint(peer)
      },
      report,
    })
    this.#lookout = new Lookout(options, membership, this.#roster, this.#prober)
    this.#ticker = new Ticker(clock, options.broadcastPeriodMs, (lateMs) => this.#tick(lateMs))
  }

  /** @internal Construction and start are one: a tracker that has not started is of no use to anyone. */
  static async create(options: TrackerOptions): Promise<Tracker> {
    const tracker = new Tracker(resolveTrackerOptions(options))
    await tracker.#start()
    return tracker
  }

  /** Identity of this node. */
  get id(): NodeId {
    return this.#options.transport.id
  }

  /** The label people read. */
  get name(): string {
    return this.#options.name
  }

  /** Where other nodes can join this one. */
  get addresses(): readonly string[] {
    return this.#options.transport.addresses()
  }

  /** True from the first call of `close` on. */
  get closed(): boolean {
    return this.#state === 'closed'
  }

  /** How many frames and messages of peers were dropped, by code. */
  get rejected(): Readonly<Partial<Record<RollcallErrorCode, number>>> {
    return Object.fromEntries(this.#rejected)
  }

  /**
   * Ties an entry to the life of a monitor. Returns its ref, unique in this node's incarnation. `meta` is copied.
   *
   * Throws `ROLLCALL_ALREADY_TRACKED` when the monitor has this topic and key, `ROLLCALL_MONITOR_CLOSED`,
   * `ROLLCALL_CLOSED`, `ROLLCALL_INVALID_ARGUMENT`, `ROLLCALL_INVALID_META`, `ROLLCALL_LIMIT_EXCEEDED`.
   */
  track(monitor: Monitor, topic: string, key: string, meta: Json): number {
    this.#checkOpen()
    checkPlace(monitor, topic, key, this.#options.maxKeyBytes)
    const { maxEntriesPerNode, maxMetaBytes } = this.#options
    const copy = copyMeta(meta, maxMetaBytes)
    // Reading the meta may have run getters of the caller's, so what they may have changed is checked after it.
    this.#checkOpen()
    if (monitor.closed)
      throw new RollcallError('ROLLCALL_MONITOR_CLOSED', `cannot track ${at(topic, key)} by a closed monitor`)
    if (this.#ledger.get(monitor, topic, key) !== undefined) {
      throw new RollcallError('ROLLCALL_ALREADY_TRACKED', `the monitor already tracks ${at(topic, key)}`)
    }
    if (this.#ledger.size >= maxEntriesPerNode) {
      throw new RollcallError(
        'ROLLCALL_LIMIT_EXCEEDED',
        `this node has ${maxEntriesPerNode} entries, the limit of maxEntriesPerNode`,
      )
    }
    const { change, refs } = this.#writer.write([{ kind: 'put', ref: undefined, topic, key, meta: copy }])
    const ref = refs[0] ?? 0
    this.#ledger.add(monitor, topic, key, ref)
    this.#wrote(change)
    return ref
  }

  /**
   * Changes the meta of an entry: one write, so no reader ever finds it missing. Returns its ref, which stays.
   *
   * Throws `ROLLCALL_NOT_TRACKED`, and as `track`; an error that the function throws changes nothing.
   */
  update(monitor: Monitor, topic: string, key: string, meta: MetaUpdate): number {
    this.#checkOpen()
    checkPlace(monitor, topic, key, this.#options.maxKeyBytes)
    const ref = this.#ledger.get(monitor, topic, key)
    const entry = ref === undefined ? undefined : this.#replica.state(this.id)?.entries.get(ref)
    if (ref === undefined || entry === undefined) {
      throw new RollcallError('ROLLCALL_NOT_TRACKED', `the monitor does not track ${at(topic, key)}`)
    }
    const next = typeof meta === 'function' ? meta(entry.meta) : meta
    const copy = copyMeta(next, this.#options.maxMetaBytes)
    // The function may have closed the monitor or the tracker.
    if (this.#ledger.get(monitor, topic, key) !== ref) return this.update(monitor, topic, key, copy)
    this.#wrote(this.#writer.write([{ kind: 'put', ref, topic, key, meta: copy }]).change)
    return ref
  }

  /**
   * Removes what the monitor tracks: under a topic and key, under a topic, or all of it, in one batch. What is not
   * tracked is no error. Throws `ROLLCALL_INVALID_ARGUMENT`, `ROLLCALL_LIMIT_EXCEEDED`.
   */
  untrack(monitor: Monitor, topic?: string, key?: string): void {
    checkMonitor(monitor)
    if (topic === undefined && key !== undefined) {
      throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', 'untrack takes a key only with its topic')
    }
    if (topic !== undefined) checkName('topic', topic, this.#options.maxKeyBytes)
    if (key !== undefined) checkName('key', key, this.#options.maxKeyBytes)
    this.#remove(this.#ledger.take(monitor, topic, key))
  }

  /** Sends pending writes now, whatever the option `flush` says: for news that must not wait for the period. */
  flush(): void {
    this.#beater.flush()
  }

  /**
   * Visible entries of a topic, of every node that is up. A new array at every call. Costs the answer.
   * Throws `ROLLCALL_INVALID_ARGUMENT` for what is no string; under any string there may just be nothing.
   */
  list(topic: string): Entry<Json>[] {
    checkString('topic', topic)
    return this.#replica.list(topic)
  }

  /** Visible entries under a topic and key. A new array at every call. Costs the answer. Throws as `list`. */
  getByKey(topic: string, key: string): Entry<Json>[] {
    checkString('topic', topic)
    checkString('key', key)
    return this.#replica.getByKey(topic, key)
  }

  /**
   * Entries under a topic and key of nodes that are not up here: kept, not found by `getByKey`. For diagnosis: costs all
   * entries of those nodes. Throws as `list`.
   */
  hidden(topic: string, key: string): Entry<Json>[] {
    checkString('topic', topic)
    checkString('key', key)
    return this.#replica.hidden(topic, key)
  }

  /** Topics with at least one visible entry, the reserved `$node` among them. */
  topics(): string[] {
    return this.#replica.topics()
  }

  /**
   * Why others should be preferred to a node while there are any; undefined when nothing speaks against it. Costs O(1);
   * `node_suspected`, `node_flapping`, `node_trusted` and `node_down` tell when the answer changes.
   */
  doubtOf(node: NodeId): Doubt | undefined {
    return this.#doubts.of(node)
  }

  /** How often any node began to be suspected, and to be flapping, since the start. */
  get doubted(): { readonly suspected: number; readonly flapping: number } {
    return this.#doubts.counts
  }

  /** Visible entries of a node. A new array at every call. Costs the answer. */
  entriesOf(node: NodeId): Entry<Json>[] {
    return this.#replica.entriesOf(node)
  }

  /** This node first, then every other that is known: up, or down and not yet purged. */
  nodes(): NodeInfo[] {
    return this.#directory.all()
  }

  /** What this node knows of its own work, at this moment. For diagnosis: costs the number of known nodes. */
  diagnostics(): TrackerDiagnostics {
    const { clock, transport } = this.#options
    return diagnose({
      now: clock.now(),
      closed: this.closed,
      self: {
        id: this.id,
        name: this.name,
        incarnation: this.#writer.incarnation,
        version: this.#writer.version,
        beat: this.#beater.beat,
        entries: this.#replica.state(this.id)?.entries.size ?? 0,
      },
      members: this.#membership.all(),
      nameOf: (node) => this.#directory.get(node).name,
      headOf: (node) => this.#replica.head(node),
      isBehind: (node) => this.#roster.isBehind(node),
      heardOf: this.#exchange.heardOf,
      doubtOf: (node) => this.#doubts.of(node),
      doubts: this.#doubts.counts,
      awareness: this.#prober.awareness,
      probesOf: (node) => this.#prober.tally(node),
      syncs: this.#syncer.tally,
      rejected: this.#rejected,
      lateness: this.#ticker.lateness,
      transport,
    })
  }

  /**
   * @internal Tells of snapshots as they come in, part by part, so that most of what a diff will ask for is done when it
   * shows the whole at once. It may never come to that, or with other entries beside and instead of these.
   */
  foresee(foreseen: Foreseen): void {
    this.#foreseen = foreseen
  }

  /**
   * Says goodbye, waits at most `leaveTimeoutMs` until the neighbours took it, and stops. Others hide this node
   * at once. Idempotent: every call returns the same promise. Never rejects.
   */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown(true)
    return this.#closing
  }

  /** `await using tracker = await createTracker(…)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #start(): Promise<void> {
    const { transport, random, broadcastPeriodMs } = this.#options
    try {
      await transport.start(this.#events())
    } catch (error) {
      this.#state = 'closed'
      this.#closing = transport.stop()
      await this.#closing
      throw error
    }
    this.#state = 'running'
    this.#introduce()
    // A random part of the period, so that nodes started together do not beat together.
    this.#ticker.start(random.next() * broadcastPeriodMs)
    // Those met during the start had nothing to be told yet.
    for (const peer of transport.neighbours()) this.#connected(peer)
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
    try {
      const said = decodeGossip(message, this.#limits)
      if (author === via) this.#prober.heard(via)
      if (said.kind === 'beat') this.#exchange.hear(author, via, said)
      else if (said.node !== this.id) this.#lookout.hinted(said)
      else if (said.incarnation === this.#writer.incarnation) this.#beater.speak()
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
    const { change, refs } = this.#writer.write([
      { kind: 'put', ref: this.#ownRef, topic: NODE_TOPIC, key: name, meta },
    ])
    this.#ownRef = refs[0]
    this.#wrote(change)
  }

  #remove(refs: readonly number[]): void {
    if (refs.length === 0) return
    this.#wrote(this.#writer.write(refs.map((ref) => ({ kind: 'remove', ref }))).change)
  }

  #wrote(change: Change<Json>): void {
    this.#roster.reportOwn(change)
    this.#beater.wrote()
  }

  /** A peer remembers a later life of this node than this one: go on in a later one still, unless someone lives it. */
  #metSelf(seen: number): void {
    if (this.#state !== 'running' || seen < this.#writer.incarnation) return
    const next = this.#identity.refute(seen)
    if (next === undefined) {
      this.#yield()
      return
    }
    this.#roster.reportReborn(this.#writer.reincarnate(next))
    this.#beater.reborn()
  }

  /** Another process lives under this id. Closes without a goodbye: it would be the other one's too. */
  #yield(): void {
    if (this.#state !== 'running') return
    this.#closing ??= this.#shutDown(false)
    const message = `another live process is ${this.id}; this one has closed`
    this.dispatch('error', new RollcallError('ROLLCALL_IDENTITY_CONFLICT', message))
  }

  async #shutDown(goodbye: boolean): Promise<void> {
    this.#state = 'closed'
    this.#ticker.stop()
    this.#ledger.clear()
    this.#beater.stop()
    if (goodbye) await this.#within(this.#beater.leave(), this.#options.leaveTimeoutMs)
    this.#syncer.close()
    this.#prober.close()
    this.#lookout.close()
    await this.#options.transport.stop()
    this.dispatch('close')
  }

  async #within(work: Promise<void>, ms: number): Promise<void> {
    let done: () => void = () => undefined
    const timedOut = new Promise<void>((resolve) => (done = resolve))
    const timer = this.#options.clock.setTimer(done, ms)
    await Promise.race([work, timedOut])
    timer.cancel()
  }

  #report<Event extends keyof TrackerEvents>(event: Event, ...payload: TrackerEvents[Event]): void {
    if (this.#state === 'closed') return
    if (event === 'rejected') this.#count(payload[1] as RollcallErrorCode)
    this.#facts.push(() => this.dispatch(event, ...payload))
  }

  #count(code: RollcallErrorCode): void {
    this.#rejected.set(code, (this.#rejected.get(code) ?? 0) + 1)
  }

  #checkOpen(): void {
    if (this.#state === 'closed') throw new RollcallError('ROLLCALL_CLOSED')
  }
}

/**
 * Starts a tracker on a transport. Resolves once it listens; others appear as they are met.
 *
 * Rejects with `ROLLCALL_INVALID_OPTION`, or with what the transport's start rejects with.
 */
export const createTracker = (options: TrackerOptions): Promise<Tracker> => Tracker.create(options)
