import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { RollcallError } from '../errors.ts'
import { NODE_TOPIC } from '../tracker/node-entry.ts'
import { surfaceError } from '../tracker/surface.ts'
import type { Tracker } from '../tracker/tracker.ts'
import type { Diff, Doubt, NodeInfo } from '../tracker/types.ts'
import { HeldDiffs } from './held-diffs.ts'
import { SERVICE_TOPIC } from './instance.ts'

export interface FeedSink {
  /** A part of a snapshot is here, which a diff may show when it is whole. `first` is the first entry of the whole. */
  coming(part: readonly Entry<Json>[], first: Entry<Json>): void
  applied(diff: Diff): void
  /** Doubt about a node came or went. */
  doubted(node: NodeId): void
  /** A node that is down is known to be dead, or forgotten. */
  lost(node: NodeId): void
  /** The feed was released: of a node that is not `silent` nothing stands in any more. */
  settled(isSilent: (node: NodeId) => boolean): void
  /** An isolation began or ended. Told also while the feed is held. */
  isolated(began: boolean): void
  /** The tracker has closed, and why. */
  failed(error: RollcallError): void
}

const DOUBTS = ['node_suspected', 'node_flapping', 'node_trusted'] as const
const LOSSES = ['node_dead', 'node_purged'] as const

/**
 * What a registry hears of its tracker: diffs, and with them the names of nodes and doubt about them. It can be held: then all
 * that it says of others stays as it is, and is told when it is released.
 */
export class Feed {
  readonly #tracker: Tracker
  readonly #sink: FeedSink
  readonly #names = new Map<NodeId, string>()
  readonly #pending = new HeldDiffs()
  /** While held: the doubts of that moment. */
  #doubts: ReadonlyMap<NodeId, Doubt | undefined> | undefined
  #releasing = false
  #incarnation = 0
  #detach: () => void = () => undefined

  constructor(tracker: Tracker, sink: FeedSink) {
    this.#tracker = tracker
    this.#sink = sink
  }

  /** The present life of this node. */
  get incarnation(): number {
    return this.#incarnation
  }

  /** The label of a node; '' until it has said it. */
  nodeName(node: NodeId): string {
    return this.#names.get(node) ?? ''
  }

  /** Why others are preferred to a node. */
  doubtOf(node: NodeId): Doubt | undefined {
    return this.#doubts === undefined ? this.#tracker.doubtOf(node) : this.#doubts.get(node)
  }

  get #isHeld(): boolean {
    return this.#doubts !== undefined
  }

  /** Passes on what the tracker holds already, and then what changes. */
  start(): void {
    const tracker = this.#tracker
    const onDiff = (diff: Diff): void => this.#heard(diff)
    const onUp = ({ id, name }: NodeInfo): void => {
      if (!this.#isHeld) this.#names.set(id, name)
    }
    const onLost = ({ id }: NodeInfo): void => {
      if (!this.#isHeld) this.#sink.lost(id)
    }
    const onPurged = ({ id }: NodeInfo): void => {
      if (!this.#isHeld) this.#names.delete(id)
    }
    const onDoubt = ({ id }: NodeInfo): void => {
      if (!this.#isHeld) this.#sink.doubted(id)
    }
    const onIsolated = (): void => this.#sink.isolated(true)
    const onIsolationEnded = (): void => this.#sink.isolated(false)
    const onError = (error: RollcallError): void => {
      // An error that nobody listens to surfaces; that we listen must not hide it.
      if (tracker.listenerCount('error') === 1) surfaceError(error)
      this.#sink.failed(error)
    }
    const onClose = (): void => this.#sink.failed(new RollcallError('ROLLCALL_CLOSED'))
    tracker.on('diff', onDiff).on('node_up', onUp).on('node_purged', onPurged)
    for (const event of LOSSES) tracker.on(event, onLost)
    for (const event of DOUBTS) tracker.on(event, onDoubt)
    tracker.on('isolated', onIsolated).on('isolation_ended', onIsolationEnded)
    tracker.on('error', onError).on('close', onClose)
    this.#detach = () => {
      tracker.off('diff', onDiff).off('node_up', onUp).off('node_purged', onPurged)
      for (const event of LOSSES) tracker.off(event, onLost)
      for (const event of DOUBTS) tracker.off(event, onDoubt)
      tracker.off('isolated', onIsolated).off('isolation_ended', onIsolationEnded)
      tracker.off('error', onError).off('close', onClose)
    }
    tracker.foresee((part, first) => this.#sink.coming(part, first))
    this.#replay()
  }

  stop(): void {
    this.#detach()
    this.#pending.clear()
  }

  /** Says nothing more of others until `release`. */
  hold(): void {
    this.#doubts = new Map(this.#tracker.nodes().map(({ id }) => [id, this.doubtOf(id)]))
  }

  /** Tells what has become of all that was held back. Held again meanwhile, by who is told, the rest is held back again. */
  release(): void {
    const doubts = this.#doubts
    this.#doubts = undefined
    this.#meet(doubts ?? new Map())
    // By who is told just now: then this is done where that is done.
    if (this.#releasing) return
    this.#releasing = true
    while (!this.#isHeld) {
      const diff = this.#pending.shift()
      if (diff === undefined) break
      this.#pass(diff)
    }
    this.#releasing = false
    if (!this.#isHeld) this.#part()
  }

  #heard(diff: Diff): void {
    if (diff.node === this.#tracker.id) this.#readIncarnation(diff)
    // What listeners bring about while they are told is told after the rest.
    if (this.#isHeld || this.#releasing) this.#pending.add(diff)
    else this.#pass(diff)
  }

  #pass(diff: Diff): void {
    for (const entry of diff.joins) this.#readName(entry)
    for (const { entry } of diff.updates) this.#readName(entry)
    this.#sink.applied(diff)
  }

  /** Knows the nodes of now, beside those that are gone since. */
  #meet(doubts: ReadonlyMap<NodeId, Doubt | undefined>): void {
    for (const { id, name } of this.#tracker.nodes()) {
      this.#names.set(id, name)
      if (doubts.get(id) !== this.#tracker.doubtOf(id)) this.#sink.doubted(id)
    }
  }

  /** Lets go of nodes that are gone since. */
  #part(): void {
    const known = new Map(this.#tracker.nodes().map(({ id, reason }) => [id, reason]))
    for (const id of this.#names.keys()) if (!known.has(id)) this.#names.delete(id)
    this.#sink.settled((id) => known.get(id) === 'silent')
  }

  #replay(): void {
    for (const { id, name, self, incarnation } of this.#tracker.nodes()) {
      this.#names.set(id, name)
      if (self) this.#incarnation = incarnation
    }
    const byNode = new Map<NodeId, Entry<Json>[]>()
    for (const entry of this.#tracker.list(SERVICE_TOPIC)) {
      const entries = byNode.get(entry.node)
      if (entries === undefined) byNode.set(entry.node, [entry])
      else entries.push(entry)
    }
    for (const [node, joins] of byNode) {
      this.#sink.applied({ node, joins, leaves: [], updates: [], reason: undefined })
    }
  }

  #readName({ node, topic, key }: Entry<Json>): void {
    if (topic === NODE_TOPIC) this.#names.set(node, key)
  }

  #readIncarnation({ joins, updates }: Diff): void {
    for (const { incarnation } of joins) this.#incarnation = incarnation
    for (const { entry } of updates) this.#incarnation = entry.incarnation
  }
}
