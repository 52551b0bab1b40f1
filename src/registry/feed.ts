import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { RollcallError } from '../errors.ts'
import { NODE_TOPIC } from '../tracker/node-entry.ts'
import { surfaceError } from '../tracker/surface.ts'
import type { Tracker } from '../tracker/tracker.ts'
import type { Diff, NodeInfo } from '../tracker/types.ts'
import { SERVICE_TOPIC } from './instance.ts'

export interface FeedSink {
  /** A part of a snapshot is here, which a diff may show when it is whole. `first` is the first entry of the whole. */
  coming(part: readonly Entry<Json>[], first: Entry<Json>): void
  applied(diff: Diff): void
  /** Doubt about a node came or went. */
  doubted(node: NodeId): void
  /** The tracker has closed, and why. */
  failed(error: RollcallError): void
}

const DOUBTS = ['node_suspected', 'node_flapping', 'node_trusted'] as const

/** What a registry hears of its tracker: diffs, and with them the names of nodes. */
export class Feed {
  readonly #tracker: Tracker
  readonly #sink: FeedSink
  readonly #names = new Map<NodeId, string>()
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

  /** Passes on what the tracker holds already, and then what changes. */
  start(): void {
    const tracker = this.#tracker
    const onDiff = (diff: Diff): void => {
      this.#learn(diff)
      this.#sink.applied(diff)
    }
    const onUp = ({ id, name }: NodeInfo): void => {
      this.#names.set(id, name)
    }
    const onPurged = ({ id }: NodeInfo): void => {
      this.#names.delete(id)
    }
    const onDoubt = ({ id }: NodeInfo): void => this.#sink.doubted(id)
    const onError = (error: RollcallError): void => {
      // An error that nobody listens to surfaces; that we listen must not hide it.
      if (tracker.listenerCount('error') === 1) surfaceError(error)
      this.#sink.failed(error)
    }
    const onClose = (): void => this.#sink.failed(new RollcallError('ROLLCALL_CLOSED'))
    tracker.on('diff', onDiff).on('node_up', onUp).on('node_purged', onPurged)
    for (const event of DOUBTS) tracker.on(event, onDoubt)
    tracker.on('error', onError).on('close', onClose)
    this.#detach = () => {
      tracker.off('diff', onDiff).off('node_up', onUp).off('node_purged', onPurged)
      for (const event of DOUBTS) tracker.off(event, onDoubt)
      tracker.off('error', onError).off('close', onClose)
    }
    tracker.foresee((part, first) => this.#sink.coming(part, first))
    this.#replay()
  }

  stop(): void {
    this.#detach()
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

  #learn({ node, joins, updates }: Diff): void {
    for (const entry of joins) this.#read(node, entry)
    for (const { entry } of updates) this.#read(node, entry)
  }

  #read(node: NodeId, { topic, key, incarnation }: Entry<Json>): void {
    if (topic === NODE_TOPIC) this.#names.set(node, key)
    if (node === this.#tracker.id) this.#incarnation = incarnation
  }
}
