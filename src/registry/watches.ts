import type { NodeId } from '../core/frame.ts'
import type { Clock } from '../tracker/ports.ts'
import { Audience } from './audience.ts'
import type { Query } from './query.ts'
import type { ServiceChange } from './service-changes.ts'
import type { ServiceIndex } from './service-index.ts'
import { ServiceView } from './service-view.ts'
import { WatchTally } from './watch-tally.ts'

export interface WatchSources {
  readonly index: ServiceIndex
  readonly clock: Clock
  /** The life of the registry. */
  readonly epoch: () => string
  /** Ms since a node was last heard. */
  readonly silenceOf: (node: NodeId) => number
}

/** Who watches which service, by its name: a change wakes only those it concerns. */
export class Watches {
  readonly sources: WatchSources
  readonly tally = new WatchTally()
  readonly #byName = new Map<string, Map<string, Audience>>()
  #closed = false

  constructor(sources: WatchSources) {
    this.sources = sources
  }

  /** How many loops and listeners there are. */
  get size(): number {
    let size = 0
    for (const audiences of this.#byName.values())
      for (const audience of audiences.values()) size += audience.size
    return size
  }

  /** For how many ms the slowest reader has had something to take. */
  get lateMs(): number {
    const now = this.sources.clock.now()
    let since = now
    for (const audiences of this.#byName.values())
      for (const audience of audiences.values()) since = Math.min(since, audience.lateSince)
    return now - since
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Those who ask the same, to be entered at once: an audience is forgotten when the last one leaves it. */
  audienceOf(query: Query): Audience {
    const key = keyOf(query)
    let audiences = this.#byName.get(query.name)
    if (audiences === undefined) {
      audiences = new Map()
      this.#byName.set(query.name, audiences)
    }
    let audience = audiences.get(key)
    if (audience === undefined) {
      const emptied = (): void => this.#drop(query.name, key)
      audience = new Audience(this.#makeView(query), this.sources.clock, this.tally, emptied)
      audiences.set(key, audience)
    }
    return audience
  }

  /** The view of those who ask the same, or one to be used once. */
  viewOf(query: Query): ServiceView {
    return this.#byName.get(query.name)?.get(keyOf(query))?.view ?? this.#makeView(query)
  }

  /** Something about these services changed. Costs nothing while nobody watches. */
  wake(changes: readonly ServiceChange[]): void {
    if (this.#byName.size === 0) return
    for (const { entry } of changes) {
      for (const audience of this.#byName.get(entry.key)?.values() ?? []) audience.changed()
    }
  }

  /** Something about all services changed. */
  wakeAll(): void {
    for (const audiences of this.#byName.values())
      for (const audience of audiences.values()) audience.changed()
  }

  /** Everyone is told what is now, and then that it is over. */
  close(): void {
    this.#closed = true
    for (const audiences of [...this.#byName.values()]) {
      for (const audience of [...audiences.values()]) audience.close()
    }
  }

  #makeView(query: Query): ServiceView {
    return new ServiceView(query, this.sources.index, this.sources.epoch)
  }

  #drop(name: string, key: string): void {
    const audiences = this.#byName.get(name)
    audiences?.delete(key)
    if (audiences?.size === 0) this.#byName.delete(name)
  }
}

/** The same for queries that find the same of one service. */
const keyOf = ({ text, node, function: fn, state, capability, prerelease, maxStaleMs }: Query): string =>
  JSON.stringify([text, node, fn, state, capability, prerelease, maxStaleMs])
