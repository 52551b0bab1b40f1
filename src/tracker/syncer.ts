import type { NodeId } from '../core/frame.ts'
import { RollcallError, type RollcallErrorCode } from '../errors.ts'
import type { HeadInfo, Want } from '../wire/sync-message.ts'
import { wireLimits, type ResolvedTrackerOptions } from './options.ts'
import type { Channel, Timer } from './ports.ts'
import type { Exchange } from './exchange.ts'
import type { Report, Roster } from './roster.ts'
import { sleep } from './sleep.ts'
import { SyncSession, type SyncSource } from './sync-session.ts'
import { SyncTally, type SyncCause } from './sync-tally.ts'
import { WatchedChannel } from './watched-channel.ts'

/** Longest wait before a gap is pulled, ms: a random part of it keeps all who saw the gap from asking at once. */
const PULL_DELAY_MS = 50
/** Most time between two tries to close the same gap, ms. */
const MAX_PULL_BACKOFF_MS = 30_000
/** The node with the higher id begins a sync only if the other has not done so for this long after they connected, ms. */
const CONNECT_PATIENCE_MS = 1_000
/** A sync that has not moved for so long no longer keeps others from fetching the same owner, and one is begun, ms. */
const FETCH_PATIENCE_MS = 500
/** Peers' syncs that wait for a place; more are hung up, and try again. */
const MAX_WAITING = 256

/** What a peer did, not the network: its message is reported as rejected. */
const PEER_FAULTS: readonly RollcallErrorCode[] = ['ROLLCALL_FRAME_INVALID', 'ROLLCALL_FRAME_LIMIT']

interface Gap {
  readonly since: number
  via: NodeId
  tries: number
  triedAt: number
  dueAt: number
}

interface Fetch {
  readonly by: WatchedChannel
  readonly version: number
  readonly incarnation: number
}

/**
 * When to sync and with whom: at connect, on a gap, and now and then with a random neighbour. At most one
 * sync per peer and `maxConcurrentSyncs` in all are begun here; no owner is fetched from two peers at once.
 */
export class Syncer {
  readonly tally = new SyncTally()
  readonly #options: ResolvedTrackerOptions
  readonly #roster: Roster
  readonly #exchange: Exchange
  readonly #report: Report
  readonly #coming: SyncSource['coming']
  readonly #abort = new AbortController()
  /** Peers to sync with when there is a place, and why. */
  readonly #due = new Map<NodeId, SyncCause>()
  readonly #gaps = new Map<NodeId, Gap>()
  readonly #fetching = new Map<NodeId, Fetch>()
  readonly #outgoing = new Set<NodeId>()
  readonly #waiting: (() => void)[] = []
  readonly #patience = new Map<NodeId, Timer>()
  #incoming = 0
  #lastTurn = Promise.resolve()
  #pullTimer: Timer | undefined
  #retryTimer: Timer | undefined
  #nextSyncAt: number

  constructor(
    options: ResolvedTrackerOptions,
    roster: Roster,
    exchange: Exchange,
    report: Report,
    coming: SyncSource['coming'],
  ) {
    this.#options = options
    this.#roster = roster
    this.#exchange = exchange
    this.#report = report
    this.#coming = coming
    this.#nextSyncAt = this.#now + options.random.next() * options.syncPeriodMs
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  /** A newcomer has the full registry at once, not after a heartbeat. The lower id begins, so that only one does. */
  connected(peer: NodeId): void {
    if (this.#options.transport.id < peer) this.#begin(peer, 'connect')
    else {
      const timer = this.#options.clock.setTimer(() => {
        this.#patience.delete(peer)
        this.#begin(peer, 'connect')
      }, CONNECT_PATIENCE_MS)
      this.#patience.set(peer, timer)
    }
  }

  disconnected(peer: NodeId): void {
    this.#due.delete(peer)
    this.#relax(peer)
  }

  /**
   * An owner's state is behind what the owner claims, and `via` knows more. Every beat that tells so brings a try
   * forward, at most one a period: after a split the waits between tries may have grown long.
   */
  behind(owner: NodeId, via: NodeId): void {
    const gap = this.#gaps.get(owner) ?? {
      since: this.#now,
      via,
      tries: 0,
      triedAt: -Infinity,
      dueAt: Infinity,
    }
    this.#gaps.set(owner, gap)
    gap.via = via
    const soon = this.#now + this.#options.random.next() * PULL_DELAY_MS
    gap.dueAt = Math.min(gap.dueAt, Math.max(soon, gap.triedAt + this.#options.broadcastPeriodMs))
    this.#schedulePull()
  }

  /** Hears what a peer can tell of, and tells nothing. For one that does not gossip with this node. */
  async overhear(peer: NodeId): Promise<void> {
    this.tally.counts.overheard.begun++
    try {
      const channel = await this.#open(peer)
      await this.#run(peer, channel, 'overheard', (source) => ({
        ...source,
        heads: () => [],
        compare: (heads) => {
          this.#exchange.overhear(heads)
          return { wants: [], left: [] }
        },
      }))
    } catch (error) {
      this.#failed(peer, 'overheard', error)
    }
  }

  /** Since when it has been known that an owner's state here is behind; undefined when it is not. */
  behindSince(owner: NodeId): number | undefined {
    return this.#roster.isBehind(owner) ? this.#gaps.get(owner)?.since : undefined
  }

  /** Forgets gaps that are closed, and begins the regular sync, if it is time. */
  tick(): void {
    for (const owner of this.#gaps.keys()) if (!this.#roster.isBehind(owner)) this.#gaps.delete(owner)
    if (this.#now < this.#nextSyncAt) return
    this.#nextSyncAt = this.#now + this.#options.syncPeriodMs
    const peer = this.#anyNeighbour()
    if (peer !== undefined) this.#begin(peer, 'regular')
  }

  /** A peer began a sync. */
  async incoming(peer: NodeId, channel: Channel): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) {
      channel.abort(new RollcallError('ROLLCALL_SYNC_FAILED', 'too many syncs wait already'))
      return
    }
    while (this.#incoming >= this.#options.maxConcurrentSyncs) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#incoming++
    this.tally.counts.answered.begun++
    await this.#run(peer, channel, 'answered')
    this.#incoming--
    this.#waiting.shift()?.()
  }

  close(): void {
    this.#abort.abort(closing())
    for (const timer of [this.#pullTimer, this.#retryTimer, ...this.#patience.values()]) timer?.cancel()
    this.#due.clear()
    this.#gaps.clear()
  }

  #begin(peer: NodeId, cause: SyncCause): void {
    if (!this.#due.has(peer)) this.#due.set(peer, cause)
    this.#pump()
  }

  #pump(): void {
    if (this.#abort.signal.aborted) return
    for (const [peer, cause] of this.#due) {
      if (this.#outgoing.size >= this.#options.maxConcurrentSyncs) return
      if (this.#outgoing.has(peer)) continue
      this.#due.delete(peer)
      this.#relax(peer)
      void this.#outward(peer, cause)
    }
  }

  async #outward(peer: NodeId, cause: SyncCause): Promise<void> {
    this.#outgoing.add(peer)
    this.tally.counts[cause].begun++
    try {
      const channel = await this.#open(peer)
      await this.#run(peer, channel, cause)
    } catch (error) {
      this.#failed(peer, cause, error)
    }
    this.#outgoing.delete(peer)
    this.#pump()
  }

  /** Opens a channel, in the time that a sync may stand still: a connection that broke without a word answers nothing. */
  async #open(peer: NodeId): Promise<Channel> {
    const { clock, transport, syncTimeoutMs } = this.#options
    const { signal } = this.#abort
    const opening = new AbortController()
    const abort = (): void => opening.abort(signal.reason)
    const timer = clock.setTimer(() => {
      opening.abort(new RollcallError('ROLLCALL_SYNC_FAILED', `no channel within ${syncTimeoutMs} ms`))
    }, syncTimeoutMs)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    try {
      return await transport.open(peer, 'sync', opening.signal)
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', abort)
    }
  }

  /** Runs one sync to its end, watched for progress. Never rejects. */
  async #run(
    peer: NodeId,
    channel: Channel,
    cause: SyncCause,
    adapt = (source: SyncSource): SyncSource => source,
  ): Promise<void> {
    const { signal } = this.#abort
    if (signal.aborted) {
      channel.abort(closing())
      return
    }
    this.#relax(peer)
    const { clock, syncTimeoutMs, maxNodes } = this.#options
    const watched = new WatchedChannel(channel, clock, syncTimeoutMs, signal, this.tally.traffic)
    // Who knows as many nodes as it may tells of itself as well.
    const session = new SyncSession(
      watched,
      adapt(this.#source(peer, watched, cause)),
      wireLimits(this.#options),
      maxNodes + 1,
    )
    try {
      await session.run()
    } catch (error) {
      this.#failed(peer, cause, error)
    }
    watched.stop()
    for (const [owner, fetch] of this.#fetching) if (fetch.by === watched) this.#fetching.delete(owner)
  }

  /** The exchange as a sync with `peer` sees it. */
  #source(peer: NodeId, channel: WatchedChannel, cause: SyncCause): SyncSource {
    const exchange = this.#exchange
    return {
      heads: () => exchange.heads(),
      compare: (heads) => {
        const { wants, left } = exchange.compare(peer, heads)
        const claimed = this.#claim(channel, wants, heads)
        if (claimed.length > 0) this.#hedge(peer, channel, FETCH_PATIENCE_MS)
        return { wants: claimed, left }
      },
      meetLeft: (left) => exchange.meetLeft(left),
      answer: (want) => exchange.answer(want),
      coming: this.#coming,
      learn: (owner, frame) => {
        this.#fetching.delete(owner)
        this.tally.counts[cause].frames++
        exchange.learn(owner, peer, frame)
      },
      settle: () => exchange.settle(),
      unknown: (error) => this.#report('rejected', peer, error.code, error.message),
      turn: () => this.#turn(),
    }
  }

  /** One turn for one sync: those that go on at once would block the event loop for the sum of them. */
  #turn(): Promise<void> {
    const turn = this.#lastTurn.then(() => sleep(this.#options.clock, 0, this.#abort.signal))
    this.#lastTurn = turn
    return turn
  }

  /** Keeps of the wants those that no other sync that moves is fetching already, at least as new. */
  #claim(by: WatchedChannel, wants: readonly Want[], heads: readonly HeadInfo[]): Want[] {
    const offers = new Map(heads.map((head) => [head.owner, head]))
    return wants.filter(({ owner }) => {
      const { incarnation, version } = offers.get(owner) ?? { incarnation: 0, version: 0 }
      const under = this.#fetching.get(owner)
      const moves = under !== undefined && this.#now - under.by.movedAt < FETCH_PATIENCE_MS
      if (moves && under.incarnation === incarnation && under.version >= version) return false
      this.#fetching.set(owner, { by, incarnation, version })
      return true
    })
  }

  /**
   * When a sync stands still, what it was to bring is asked of another neighbour: lost packets may hold it up for seconds.
   * Of one at a time, since it may also be the link of this node that is slow.
   */
  #hedge(peer: NodeId, channel: WatchedChannel, patienceMs: number): void {
    channel.onStill(patienceMs, () => {
      if (![...this.#fetching.values()].some(({ by }) => by === channel)) return
      const other = this.#anyNeighbour(peer)
      const alone = [...this.#outgoing].every((each) => each === peer)
      if (alone && other !== undefined && other !== peer) this.#begin(other, 'hedge')
      this.#hedge(peer, channel, 2 * patienceMs)
    })
  }

  #failed(peer: NodeId, cause: SyncCause, error: unknown): void {
    if (this.#abort.signal.aborted) return
    this.tally.failed(peer, cause, error, this.#now)
    if (error instanceof RollcallError && PEER_FAULTS.includes(error.code)) {
      this.#report('rejected', peer, error.code, error.message)
      return
    }
    const message = error instanceof Error ? error.message : String(error)
    this.#report('problem', peer, new RollcallError('ROLLCALL_SYNC_FAILED', message, { cause: error }))
    // What it was to bring is missing now, and nobody may speak of it for a while: ask someone soon.
    this.#retryTimer ??= this.#options.clock.setTimer(() => {
      this.#retryTimer = undefined
      const other = this.#anyNeighbour()
      if (other !== undefined) this.#begin(other, 'retry')
    }, this.#options.broadcastPeriodMs)
  }

  #schedulePull(): void {
    this.#pullTimer?.cancel()
    this.#pullTimer = undefined
    if (this.#gaps.size === 0 || this.#abort.signal.aborted) return
    let dueAt = Infinity
    for (const gap of this.#gaps.values()) dueAt = Math.min(dueAt, gap.dueAt)
    this.#pullTimer = this.#options.clock.setTimer(
      () => {
        this.#pull()
        this.#schedulePull()
      },
      Math.max(0, dueAt - this.#now),
    )
  }

  /** Syncs for every gap that is due: first with who delivered the frame, then by turns with anyone. */
  #pull(): void {
    const neighbours = this.#options.transport.neighbours()
    for (const [owner, gap] of this.#gaps) {
      if (!this.#roster.isBehind(owner)) {
        this.#gaps.delete(owner)
        continue
      }
      if (gap.dueAt > this.#now) continue
      const first = gap.tries % 2 === 0 && neighbours.includes(gap.via)
      const peer = first ? gap.via : this.#anyNeighbour()
      gap.dueAt = this.#now + Math.min(MAX_PULL_BACKOFF_MS, this.#options.broadcastPeriodMs * 2 ** gap.tries)
      gap.triedAt = this.#now
      gap.tries++
      if (peer !== undefined) this.#begin(peer, 'gap')
    }
  }

  /** A random one; if there is a choice, one that no sync of ours waits for already, and another than `except`. */
  #anyNeighbour(except?: NodeId): NodeId | undefined {
    const neighbours = this.#options.transport.neighbours()
    const free = neighbours.filter((peer) => peer !== except && !this.#outgoing.has(peer))
    const choice = free.length > 0 ? free : neighbours
    return choice[Math.floor(this.#options.random.next() * choice.length)]
  }

  #relax(peer: NodeId): void {
    this.#patience.get(peer)?.cancel()
    this.#patience.delete(peer)
  }
}

const closing = (): RollcallError => new RollcallError('ROLLCALL_CLOSED', 'the node is closing')
