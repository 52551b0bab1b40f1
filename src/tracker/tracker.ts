import { MAX_REASON_BYTES, type Entry, type NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { nameFault } from '../core/name.ts'
import { RollcallError, type RollcallErrorCode } from '../errors.ts'
import type { TrackerDiagnostics } from './diagnostics.ts'
import { Emitter } from './emitter.ts'
import { Engine } from './engine.ts'
import { InTurn } from './in-turn.ts'
import { Ledger } from './ledger.ts'
import { checkName, copyMeta } from './meta.ts'
import type { Monitor } from './monitor.ts'
import { resolveTrackerOptions, type ResolvedTrackerOptions, type TrackerOptions } from './options.ts'
import { at, checkMonitor, checkPlace, checkString } from './place.ts'
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
  readonly #engine: Engine
  readonly #ledger = new Ledger((refs, reason) => {
    const said = nameFault(reason, MAX_REASON_BYTES) === undefined ? String(reason) : undefined
    this.#remove(refs, said)
  })
  readonly #facts = new InTurn()
  #foreseen: Foreseen = () => undefined
  #closing: Promise<void> | undefined

  private constructor(options: ResolvedTrackerOptions) {
    super()
    this.#options = options
    this.#engine = new Engine(options, {
      report: (event, ...payload) => this.#facts.push(() => this.dispatch(event, ...payload)),
      foreseen: (part, first) => this.#foreseen(part, first),
      yielded: () => this.#yield(),
    })
  }

  /** @internal Construction and start are one: a tracker that has not started is of no use to anyone. */
  static async create(options: TrackerOptions): Promise<Tracker> {
    const tracker = new Tracker(resolveTrackerOptions(options))
    await tracker.#engine.start()
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
    return this.#closing !== undefined
  }

  /** How many frames and messages of peers were dropped, by code. */
  get rejected(): Readonly<Partial<Record<RollcallErrorCode, number>>> {
    return Object.fromEntries(this.#engine.rejected)
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
    const [ref = 0] = this.#engine.write(
      [{ kind: 'put', ref: undefined, topic, key, meta: copy }],
      ([made = 0]) => this.#ledger.add(monitor, topic, key, made),
    )
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
    const entry = ref === undefined ? undefined : this.#engine.replica.state(this.id)?.entries.get(ref)
    if (ref === undefined || entry === undefined) {
      throw new RollcallError('ROLLCALL_NOT_TRACKED', `the monitor does not track ${at(topic, key)}`)
    }
    const next = typeof meta === 'function' ? meta(entry.meta) : meta
    const copy = copyMeta(next, this.#options.maxMetaBytes)
    // The function may have closed the monitor or the tracker.
    if (this.#ledger.get(monitor, topic, key) !== ref) return this.update(monitor, topic, key, copy)
    this.#engine.write([{ kind: 'put', ref, topic, key, meta: copy }])
    return ref
  }

  /**
   * Removes what the monitor tracks: under a topic and key, under a topic, or all of it, in one batch. What is not
   * tracked is no error. A `reason` of at most 64 bytes travels with the removal (`diff.reasons`), as does a text that a
   * monitor is closed with. Throws `ROLLCALL_INVALID_ARGUMENT`, `ROLLCALL_LIMIT_EXCEEDED`.
   */
  untrack(monitor: Monitor, topic?: string, key?: string, reason?: string): void {
    checkMonitor(monitor)
    if (topic === undefined && key !== undefined) {
      throw new RollcallError('ROLLCALL_INVALID_ARGUMENT', 'untrack takes a key only with its topic')
    }
    if (topic !== undefined) checkName('topic', topic, this.#options.maxKeyBytes)
    if (key !== undefined) checkName('key', key, this.#options.maxKeyBytes)
    if (reason !== undefined) checkName('reason', reason, MAX_REASON_BYTES)
    this.#remove(this.#ledger.take(monitor, topic, key), reason)
  }

  /** Sends pending writes now, whatever the option `flush` says: for news that must not wait for the period. */
  flush(): void {
    this.#engine.flush()
  }

  /**
   * Visible entries of a topic, of every node that is up. A new array at every call. Costs the answer.
   * Throws `ROLLCALL_INVALID_ARGUMENT` for what is no string; under any string there may just be nothing.
   */
  list(topic: string): Entry<Json>[] {
    checkString('topic', topic)
    return this.#engine.replica.list(topic)
  }

  /** Visible entries under a topic and key. A new array at every call. Costs the answer. Throws as `list`. */
  getByKey(topic: string, key: string): Entry<Json>[] {
    checkString('topic', topic)
    checkString('key', key)
    return this.#engine.replica.getByKey(topic, key)
  }

  /**
   * Entries under a topic and key of nodes that are not up here: kept, not found by `getByKey`. For diagnosis: costs all
   * entries of those nodes. Throws as `list`.
   */
  hidden(topic: string, key: string): Entry<Json>[] {
    checkString('topic', topic)
    checkString('key', key)
    return this.#engine.replica.hidden(topic, key)
  }

  /** Topics with at least one visible entry, the reserved `$node` among them. */
  topics(): string[] {
    return this.#engine.replica.topics()
  }

  /**
   * Why others should be preferred to a node while there are any; undefined when nothing speaks against it. Costs O(1);
   * `node_suspected`, `node_flapping`, `node_trusted` and `node_down` tell when the answer changes.
   */
  doubtOf(node: NodeId): Doubt | undefined {
    return this.#engine.doubts.of(node)
  }

  /** Ms since a node was last heard; 0 for this one, and for one that is not known. Costs O(1). */
  silenceOf(node: NodeId): number {
    return this.#engine.directory.silenceOf(node)
  }

  /** Whether more than half of the known nodes are silent, and fell so together: the fault is likely here. */
  get isolated(): boolean {
    return this.#engine.isolated
  }

  /** How often any node began to be suspected, and to be flapping, since the start. */
  get doubted(): { readonly suspected: number; readonly flapping: number } {
    return this.#engine.doubts.counts
  }

  /** Visible entries of a node. A new array at every call. Costs the answer. */
  entriesOf(node: NodeId): Entry<Json>[] {
    return this.#engine.replica.entriesOf(node)
  }

  /** This node first, then every other that is known: up, or down and not yet purged. */
  nodes(): NodeInfo[] {
    return this.#engine.directory.all()
  }

  /** What this node knows of its own work, at this moment. For diagnosis: costs the number of known nodes. */
  diagnostics(): TrackerDiagnostics {
    return this.#engine.diagnose()
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

  #remove(refs: readonly number[], reason: string | undefined): void {
    if (refs.length > 0) this.#engine.write(refs.map((ref) => ({ kind: 'remove', ref, reason })))
  }

  /** Closes without a goodbye: it would be the other one's too. */
  #yield(): void {
    this.#closing ??= this.#shutDown(false)
    const message = `another live process is ${this.id}; this one has closed`
    this.dispatch('error', new RollcallError('ROLLCALL_IDENTITY_CONFLICT', message))
  }

  async #shutDown(goodbye: boolean): Promise<void> {
    const stopping = this.#engine.stop(goodbye)
    this.#ledger.clear()
    await stopping
    this.dispatch('close')
  }

  #checkOpen(): void {
    if (this.closed) throw new RollcallError('ROLLCALL_CLOSED')
  }
}

/**
 * Starts a tracker on a transport. Resolves once it listens; others appear as they are met.
 *
 * Rejects with `ROLLCALL_INVALID_OPTION`, or with what the transport's start rejects with.
 */
export const createTracker = (options: TrackerOptions): Promise<Tracker> => Tracker.create(options)
