import type { NodeId } from '../core/frame.ts'
import { RollcallError } from '../errors.ts'
import type { TrackerDiagnostics } from '../tracker/diagnostics.ts'
import { Emitter } from '../tracker/emitter.ts'
import type { Clock, Random } from '../tracker/ports.ts'
import { systemClock, systemRandom } from '../tracker/system.ts'
import { createTracker } from '../tracker/tracker.ts'
import type { Tracker } from '../tracker/tracker.ts'
import type { Diff, NodeInfo } from '../tracker/types.ts'
import { checkOption } from '../tracker/check.ts'
import { Announcer } from './announcer.ts'
import { CachedResolver } from './cached-resolver.ts'
import type { CachedResolverOptions } from './cached-resolver.ts'
import { CallBook } from './balance/call-book.ts'
import type { OutlierRules } from './balance/outlier.ts'
import { checkKeys, isRecord } from './check.ts'
import { Feed } from './feed.ts'
import { explainHidden, explainInstances, explainInvalid } from './explain.ts'
import { instanceId, readEntry, SERVICE_TOPIC } from './instance.ts'
import type { DrainOptions } from './drain.ts'
import { splitRegistryOptions } from './options.ts'
import type { RegistryOptions } from './options.ts'
import { checkName, FILTER_FIELDS, PRESENT_FIELDS, readQuery, STALE_FIELDS } from './query.ts'
import type { QueryContext } from './query.ts'
import { noLookups } from './lookup-tally.ts'
import type { LookupResult } from './lookup-tally.ts'
import { Offers } from './offers.ts'
import type { RegisterOptions } from './offers.ts'
import type { RegistrationHandle } from './registration.ts'
import { Requirements } from './requirement.ts'
import { ServiceLog } from './service-log.ts'
import { findEligible } from './candidates.ts'
import { SelectorPool } from './selector-pool.ts'
import { checkShutdown, shutDownAt } from './shutdown.ts'
import type { ShutdownOptions } from './shutdown.ts'
import { callOptionsOf } from './service.ts'
import { ServiceIndex } from './service-index.ts'
import { serviceList } from './service-list.ts'
import { ServiceView } from './service-view.ts'
import { standInIds } from './stand-ins.ts'
import type {
  CallOptions,
  DegradedReason,
  Explanation,
  FilterOptions,
  Instance,
  LookupAnswer,
  LookupOptions,
  RegistryEvents,
  ServiceSelector,
  ServiceSpec,
  WaitOptions,
} from './types.ts'
import { Waiters } from './waiters.ts'
import { Watch } from './watch.ts'
import type { ServiceWatch, WatchOptions } from './watch-types.ts'
import { Watches } from './watches.ts'

export interface RegistryDiagnostics extends TrackerDiagnostics {
  readonly services: {
    /** Registrations of this process. */
    readonly offered: number
    /** Entries of peers that were no service. */
    readonly rejected: number
    /** Instances that this process avoids now, because calls to them failed. */
    readonly avoided: number
  }
  /** Loops and listeners of watches. */
  readonly watches: {
    readonly readers: number
    /** Since the start, what they were given. */
    readonly snapshots: number
    /** Since the start, changes that a reader was shown together with a later one, because it was busy. Counted for each. */
    readonly coalesced: number
    /** For how many ms the slowest of them has had something to take, and has not. */
    readonly lateMs: number
  }
  /** What lookups came to since the start, those of selectors and of waits included. */
  readonly lookups: Readonly<Record<LookupResult, number>>
}

interface Parts {
  readonly tracker: Tracker
  readonly zone: string | undefined
  readonly clock: Clock
  readonly random: Random
  readonly queries: QueryContext
  readonly outliers: OutlierRules
  readonly log: ServiceLog
}

/**
 * Services of a cluster: what this process offers, and who else offers what. Every question is answered at once, from
 * this node's replica.
 */
export class Registry extends Emitter<RegistryEvents> {
  /** The tracker underneath, for topics of your own, its events and counters. */
  readonly tracker: Tracker
  readonly #parts: Parts
  readonly #index: ServiceIndex
  readonly #calls: CallBook
  readonly #lookups = noLookups()
  readonly #pool: SelectorPool
  readonly #waiters: Waiters
  readonly #watches: Watches
  readonly #feed: Feed
  readonly #offers: Offers
  readonly #announcer: Announcer
  readonly #epoch: string
  /** Ms on the clock. */
  #frozenAt: number | undefined
  #closing: Promise<void> | undefined

  private constructor(parts: Parts) {
    super()
    this.#parts = parts
    this.tracker = parts.tracker
    this.#feed = new Feed(parts.tracker, {
      coming: (part, first) => this.#index.prepare(part, first),
      applied: (diff) => this.#applied(diff),
      doubted: (node) => this.#index.reconsider(this.tracker.entriesOf(node)),
      lost: (node) => this.#forgetLapses(node),
      settled: (isSilent) => {
        for (const node of this.#index.lapses.nodes()) if (!isSilent(node)) this.#forgetLapses(node)
      },
      isolated: (began) => this.#regrade(began ? 'degraded' : 'restored', 'isolated'),
      failed: (error) => {
        this.#closing ??= this.#shutDown(error)
      },
    })
    this.#index = new ServiceIndex(
      {
        nameOf: (node) => this.#feed.nodeName(node),
        doubtOf: (node) => this.#feed.doubtOf(node),
        isDegraded: () => this.degraded,
      },
      {
        // While nothing changes, nothing grows old.
        now: () => this.#frozenAt ?? parts.clock.now(),
        // Not from within the lookup that finds it out.
        served: (name) => queueMicrotask(() => this.#tellStale(name)),
      },
    )
    this.#announcer = new Announcer({
      log: parts.log,
      instanceOf: (entry) => this.#index.instanceOf(entry),
      nodeName: (node) => this.#feed.nodeName(node),
      isHeard: (event) => this.listenerCount(event) > 0,
      dispatch: (event, ...payload) => void this.dispatch(event, ...payload),
    })
    this.#offers = new Offers({
      ...parts,
      incarnation: () => this.#feed.incarnation,
      probed: (instance, run) => this.dispatch('service_probed', { instance, run }),
      failed: (instance, run) => this.dispatch('service_unhealthy', { instance, run }),
    })
    this.#calls = new CallBook({
      clock: parts.clock,
      rules: parts.outliers,
      changed: (service) => this.#index.get(service)?.retire(),
    })
    this.#pool = new SelectorPool(this.#index, parts.queries, parts.random, this.#calls, this.#lookups)
    this.#waiters = new Waiters(parts.clock)
    this.#watches = new Watches({
      index: this.#index,
      clock: parts.clock,
      epoch: () => this.#epoch,
      silenceOf: (node) => this.tracker.silenceOf(node),
    })
    this.#feed.start()
    // No two lives of a node share an incarnation, and no two nodes an id.
    this.#epoch = `${parts.tracker.id}/${this.#feed.incarnation}`
  }

  /** @internal See `createRegistry`. */
  static async create(options: RegistryOptions): Promise<Registry> {
    checkOption(isRecord(options), 'options', options, 'must be an object')
    const { behaviour, trackerOptions } = splitRegistryOptions(options)
    const queries = {
      requirements: new Requirements(behaviour.compat),
      prerelease: behaviour.prerelease,
      stale: behaviour.stale,
      maxStaleMs: behaviour.maxStaleMs,
    }
    const tracker = await createTracker(trackerOptions)
    const { zone, clock = systemClock, random = systemRandom } = trackerOptions
    const log = new ServiceLog(behaviour.logger)
    return new Registry({ tracker, zone, clock, random, queries, outliers: behaviour.outliers, log })
  }

  /** How many entries of peers were no service. */
  get rejected(): number {
    return this.#announcer.rejected
  }

  /** Whether nothing changes for readers, from `freeze` until `unfreeze`. */
  get frozen(): boolean {
    return this.#frozenAt !== undefined
  }

  /**
   * Whether all that is said here of others may be old: this node is isolated (see `tracker.isolated`), or frozen. Every answer
   * bears it, and the events `degraded` and `restored` tell of it.
   */
  get degraded(): boolean {
    return this.frozen || this.tracker.isolated
  }

  /** Where other nodes can join this one. */
  get addresses(): readonly string[] {
    return this.tracker.addresses
  }

  /** True from the first call of `close` on, or when the tracker has closed itself. */
  get closed(): boolean {
    return this.#closing !== undefined || this.tracker.closed
  }

  /**
   * Offers a service until its monitor, or the registry, closes. The same service may be offered any number of times,
   * but only once by one monitor.
   *
   * Throws as `defineService` and `tracker.track`; then nothing is registered.
   */
  register(spec: ServiceSpec, options: RegisterOptions = {}): RegistrationHandle {
    return this.#offers.register(spec, options)
  }

  /** What this process offers now, in the order in which it was registered. */
  registrations(): readonly RegistrationHandle[] {
    return this.#offers.list()
  }

  /**
   * Ends this process's part without a lost call: says at once that all it offers is `draining`, waits as
   * `registration.drain` does, takes it all away, reason `drained`, and closes. Go on serving until it resolves. Never
   * rejects: what `until` throws is logged.
   *
   * With `signals` it waits for the first of them, and when all is done ends the process as that signal would have, unless
   * somebody else listens for it too: then that is theirs to do. A second signal is not waited out.
   *
   * Throws `ROLLCALL_INVALID_ARGUMENT`.
   */
  shutdown(options: ShutdownOptions = {}): Promise<void> {
    const drain = checkShutdown(options)
    const shutDown = (): Promise<void> => this.#drainAndClose(drain)
    if (options.signals === undefined) return shutDown()
    const closed = new Promise<void>((resolve) => this.tracker.once('close', resolve))
    return shutDownAt(options.signals, shutDown, closed)
  }

  /**
   * For an operator in an incident: from now on lookups, watches, `services` and `explain` go by what is known at this
   * moment, flagged `degraded`, whatever becomes of other nodes and of this one's own services, and no event tells of it.
   * Others are told of those as ever. Nothing ages: who stands in (`keep-last`) goes on to. Idempotent; nothing once closed.
   */
  freeze(): void {
    if (this.closed || this.frozen) return
    this.#frozenAt = this.#parts.clock.now()
    this.#feed.hold()
    this.#regrade('degraded', 'frozen')
  }

  /**
   * Ends `freeze`: readers see what is, and events tell the difference in their usual order, as if all of it happened now. What
   * came and went meanwhile is not told. Idempotent; nothing once closed.
   */
  unfreeze(): void {
    if (this.closed || !this.frozen) return
    this.#frozenAt = undefined
    this.#regrade('restored', 'frozen')
    this.#thaw()
  }

  /**
   * An instance of the highest version that meets the requirement and has one to return (see `LookupOptions`), or
   * why there is none (see `LookupError`). Without a requirement any version will do. How requirements are read: `Requirements`.
   *
   * A miss never throws. Throws `ROLLCALL_INVALID_REQUIREMENT`, `ROLLCALL_LIMIT_EXCEEDED` (a requirement above
   * 256 bytes) or `ROLLCALL_INVALID_ARGUMENT`, whether the service exists or not.
   */
  lookup(name: string, requirement?: string, options?: LookupOptions): LookupAnswer {
    return this.#pool.lookup(name, requirement, options)
  }

  /** A lookup to hold and ask again and again, with a turn of its own. Throws as `lookup`. */
  select(name: string, requirement?: string, options?: LookupOptions): ServiceSelector {
    return this.#pool.select(name, requirement, options)
  }

  /**
   * Every instance of every version that meets the requirement, the highest version first; none that only was, since a list
   * cannot say so: a watch can. Throws as `lookup`.
   */
  lookupAll(name: string, requirement?: string, options: FilterOptions = {}): readonly Instance[] {
    checkKeys('The options', options, FILTER_FIELDS)
    const query = readQuery(this.#parts.queries, name, requirement, options)
    const record = this.#index.get(name)
    return Object.freeze(record === undefined ? [] : findEligible(query, record, this.#index.nodes))
  }

  /**
   * What `lookup` finds, as soon as it finds anything that is there now: what was (`keep-last`) does not count. Rejects
   * with `ROLLCALL_WAIT_TIMEOUT` after `timeoutMs`, with the signal's reason when it aborts, with `ROLLCALL_CLOSED` when the registry closes, else as `lookup` throws.
   */
  async waitFor(name: string, requirement?: string, options: WaitOptions = {}): Promise<Instance> {
    if (this.closed) throw new RollcallError('ROLLCALL_CLOSED')
    checkKeys('The options', options, WAIT_FIELDS)
    const { signal, timeoutMs, ...lookup } = options
    const selector = this.#pool.select(name, requirement, { ...lookup, stale: 'fail-closed' })
    return await this.#waiters.wait(name, selector, { signal, timeoutMs })
  }

  /**
   * Follows what `lookupAll` answers, from now on, or with `keep-last` what it did: see `ServiceWatch`. Throws as `lookup`,
   * `ROLLCALL_CLOSED`, and the reason of a signal that has aborted.
   */
  watch(name: string, requirement?: string, options: WatchOptions = {}): ServiceWatch {
    if (this.closed) throw new RollcallError('ROLLCALL_CLOSED')
    checkKeys('The options', options, WATCH_FIELDS)
    const { signal, since, ...filters } = options
    const query = readQuery(this.#parts.queries, name, requirement, filters)
    return new Watch(this.#watches, query, { signal, since })
  }

  /** What `lookupAll` answers, held on to for a chosen time: see `CachedResolver`. Throws as `lookup`. */
  cachedResolver(name: string, options: CachedResolverOptions): CachedResolver {
    checkKeys('The options', options, RESOLVER_FIELDS)
    const { ttlMs, requirement, ...filters } = options
    const query = readQuery(this.#parts.queries, name, requirement, { ...filters, stale: 'fail-closed' })
    const view = new ServiceView(query, this.#index, () => this.#epoch)
    return new CachedResolver(view, this.#parts.clock, ttlMs)
  }

  /** How to call an instance, as its owner says: what it says of the function (`name/arity`), or else of all. */
  callOptions(instance: Instance, fn?: string): CallOptions {
    return callOptionsOf(instance, fn)
  }

  /** All instances in every state, or those on one node, by id or name. Sorted by name; `console.log` shows a table. */
  services(node?: string): readonly Instance[] {
    if (node !== undefined) checkName('The node', node)
    const instances: Instance[] = []
    for (const record of this.#index.records()) {
      for (const [at, entry] of record.entries.entries()) {
        const isHere = node === undefined || entry.node === node || this.#feed.nodeName(entry.node) === node
        if (isHere) instances.push(record.instance(at))
      }
    }
    return serviceList(instances)
  }

  /** This node first, then every other that is known: up, or down and not yet purged. */
  nodes(): readonly NodeInfo[] {
    return this.tracker.nodes()
  }

  /** What this node knows of its own work. As `tracker.diagnostics`, what is offered here, who watches, and what lookups came to. */
  diagnostics(): RegistryDiagnostics {
    const services = Object.freeze({
      offered: this.#offers.size,
      rejected: this.#announcer.rejected,
      avoided: this.#calls.avoided,
    })
    const { size: readers, lateMs } = this.#watches
    const { snapshots, coalesced } = this.#watches.tally
    const watches = Object.freeze({ readers, snapshots, coalesced, lateMs })
    const lookups = Object.freeze({ ...this.#lookups })
    return Object.freeze({ ...this.tracker.diagnostics(), services, watches, lookups })
  }

  /**
   * For every known instance of a name, those of nodes that are down included, why `lookup` would or would not return
   * it. For diagnosis: costs all entries of the nodes that are down. Throws as `lookup`.
   */
  explain(name: string, requirement?: string, options?: LookupOptions): readonly Explanation[] {
    const query = readQuery(this.#parts.queries, name, requirement, options)
    const record = this.#index.get(name)
    const standIns = standInIds(query, this.#index, this.#calls)
    const known =
      record === undefined ? [] : explainInstances(query, record, this.#index.nodes, this.#calls, standIns)
    // Held back by a freeze, what is hidden may still be found.
    const ids = new Set(known.map(({ instance }) => instance?.id))
    const hidden = this.tracker.hidden(SERVICE_TOPIC, name).flatMap((entry) => {
      const service = readEntry(entry)
      return typeof service === 'string' || ids.has(instanceId(service))
        ? []
        : [this.#index.instanceOf(service)]
    })
    const invalid = explainInvalid(this.tracker.getByKey(SERVICE_TOPIC, name))
    return [...known, ...explainHidden(hidden, standIns), ...invalid]
  }

  /** Leaves the cluster and ends every registration. Idempotent, never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown(new RollcallError('ROLLCALL_CLOSED'))
    return this.#closing
  }

  /** `await using registry = await createRegistry(…)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #drainAndClose(options: DrainOptions): Promise<void> {
    await this.#offers.drain(options).catch((error: unknown) => this.#parts.log.undrained(error))
    await this.close()
  }

  async #shutDown(reason: RollcallError): Promise<void> {
    this.#waiters.rejectAll(reason)
    this.#watches.close()
    await this.tracker.close()
    this.#feed.stop()
    this.#offers.end()
    this.#index.clear()
    this.#calls.clear()
  }

  /** What is hidden of a node does not come back. */
  #forgetLapses(node: NodeId): void {
    this.#watches.wake(this.#index.lapses.forget(node))
  }

  #tellStale(name: string): void {
    if (!this.closed) this.dispatch('service_stale', { name })
  }

  #thaw(): void {
    // Unless who was told of it froze it anew, or closed it.
    if (!this.closed && !this.frozen) this.#feed.release()
  }

  /** Every answer made so far says of `degraded` what it was. */
  #regrade(event: 'degraded' | 'restored', reason: DegradedReason): void {
    this.#index.retire()
    this.#watches.wakeAll()
    this.dispatch(event, { reason })
  }

  #applied(diff: Diff): void {
    const changes = this.#index.apply(diff)
    this.#pool.forget(changes)
    this.#waiters.wake(changes)
    this.#watches.wake(changes)
    // Events come last, so that a lookup inside a listener already agrees with them.
    for (const change of changes) this.#announcer.announce(change, diff)
  }
}

const WAIT_FIELDS = [...PRESENT_FIELDS, 'signal', 'timeoutMs'] as const
const WATCH_FIELDS = [...FILTER_FIELDS, ...STALE_FIELDS, 'signal', 'since'] as const
const RESOLVER_FIELDS = [...FILTER_FIELDS, 'ttlMs', 'requirement'] as const

/**
 * Starts a node: a tracker, and the registry on it. Resolves once it listens; services of others appear as they are met.
 *
 * Rejects with `ROLLCALL_INVALID_OPTION` before anything has started, or as `createTracker`.
 */
export const createRegistry = (options: RegistryOptions): Promise<Registry> => Registry.create(options)
