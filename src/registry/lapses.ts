import type { NodeId } from '../core/frame.ts'
import type { Diff } from '../tracker/types.ts'
import { instanceId, isCapable, stateOf } from './instance.ts'
import type { ServiceEntry } from './instance.ts'
import type { Query } from './query.ts'
import type { ServiceChange } from './service-changes.ts'

/** The instances of a node that went down by silence, as they were then. */
interface Hidden {
  /** Ms on the clock. */
  readonly at: number
  readonly changes: readonly ServiceChange[]
  /** Made when first asked for. */
  byName: Map<string, ServiceEntry[]> | undefined
}

/** When an instance that is there turned unready, and when it did for something it can do. Ms on the clock. */
interface Loss {
  readonly readyUntil: number | undefined
  readonly capableUntil: ReadonlyMap<string, number>
}

export interface LapsesPorts {
  /** Ms on the clock by which lapses grow old. */
  readonly now: () => number
  /** Somebody who asked for this service was given what was. Once, until it is better off or loses one of those for good. */
  readonly served: (service: string) => void
}

/**
 * Who was found lately, is not now, and may live all the same: instances of nodes that are down by silence alone, and
 * instances that have turned unready. Whatever is known to be gone is not among them.
 *
 * For lookups that keep the last (`findStandIns`). The others pay nothing for it, and a change little: a node that falls
 * silent a reference, an instance that turns unready some 200 B.
 */
export class Lapses {
  readonly #ports: LapsesPorts
  readonly #hidden = new Map<NodeId, Hidden>()
  /** By the id of the instance. */
  readonly #losses = new Map<string, Loss>()
  readonly #served = new Set<string>()
  #revision = 0

  constructor(ports: LapsesPorts) {
    this.#ports = ports
  }

  /** Ms on the clock by which lapses grow old. */
  get now(): number {
    return this.#ports.now()
  }

  /** Rises with every change, so that what was prepared from it knows when it is old. */
  get revision(): number {
    return this.#revision
  }

  /** Nodes of which instances are hidden. */
  nodes(): readonly NodeId[] {
    return [...this.#hidden.keys()]
  }

  /** Takes in what a diff changed. */
  apply({ node, reason }: Diff, changes: readonly ServiceChange[]): void {
    if (reason === 'silent') {
      if (changes.length === 0) return
      this.#hidden.set(node, { at: this.now, changes, byName: undefined })
      this.#revision++
      return
    }
    // It is here again, so that what it says now counts.
    this.forget(node)
    for (const change of changes) this.#follow(change)
  }

  /** Nothing that is hidden of a node may stand in any more. Returns what that was. */
  forget(node: NodeId): readonly ServiceChange[] {
    const hidden = this.#hidden.get(node)
    if (hidden === undefined) return NOTHING
    this.#hidden.delete(node)
    this.#revision++
    for (const { entry } of hidden.changes) {
      if (this.#losses.size > 0) this.#losses.delete(instanceId(entry))
      this.#served.delete(entry.key)
    }
    return hidden.changes
  }

  clear(): void {
    this.#hidden.clear()
    this.#losses.clear()
    this.#served.clear()
    this.#revision++
  }

  /** Notes that what was of a service is given to who asks for it. */
  serve(service: string): void {
    if (this.#served.has(service)) return
    this.#served.add(service)
    this.#ports.served(service)
  }

  /** The hidden instances of a name, and when each was hidden. The first call for a node costs its instances. */
  *hidden(name: string): Generator<readonly [ServiceEntry, at: number]> {
    for (const hidden of this.#hidden.values()) {
      hidden.byName ??= indexByName(hidden.changes)
      for (const entry of hidden.byName.get(name) ?? []) yield [entry, hidden.at]
    }
  }

  /**
   * When a query that admits the instance but for its state and capabilities last found it, where it is hidden since
   * `hiddenAt`, or not at all; undefined when it never did, or the instance is on its way out.
   */
  lastFoundAt(query: Query, entry: ServiceEntry, hiddenAt = Infinity): number | undefined {
    const state = stateOf(entry.meta)
    if (state === 'draining') return undefined
    const loss = this.#losses.size === 0 ? undefined : this.#losses.get(instanceId(entry))
    let at = hiddenAt
    if (query.state !== 'any' && query.state !== state) {
      if (query.state !== 'ready' || loss?.readyUntil === undefined) return undefined
      at = Math.min(at, loss.readyUntil)
    }
    if (query.capability !== undefined && !isCapable(entry.meta, query.capability)) {
      const until = loss?.capableUntil.get(query.capability)
      if (until === undefined) return undefined
      at = Math.min(at, until)
    }
    return at
  }

  #follow(change: ServiceChange): void {
    switch (change.kind) {
      case 'changed':
        this.#compare(change.entry, change.previous)
        if (stateOf(change.entry.meta) === 'ready') this.#served.delete(change.entry.key)
        return
      case 'down':
        if (this.#losses.size > 0 && this.#losses.delete(instanceId(change.entry))) this.#revision++
        if (this.#served.size > 0) this.#served.delete(change.entry.key)
        return
      case 'up':
        // One node may bring 10,000 of them at once.
        if (this.#served.size > 0) this.#served.delete(change.entry.key)
        return
      case 'rejected':
    }
  }

  #compare(entry: ServiceEntry, previous: ServiceEntry): void {
    const id = instanceId(entry)
    const loss = lossOf(entry, previous, this.#losses.get(id), this.now)
    if (loss !== undefined) this.#losses.set(id, loss)
    else if (!this.#losses.delete(id)) return
    this.#revision++
  }
}

/** What an instance had and has no more, once it has changed now, and had lost `before`. Undefined: nothing. Pure. */
function lossOf(
  { meta }: ServiceEntry,
  { meta: was }: ServiceEntry,
  before: Loss | undefined,
  now: number,
): Loss | undefined {
  const isUnready = stateOf(meta) === 'unready'
  const lastReady = stateOf(was) === 'ready' ? now : before?.readyUntil
  const capableUntil = new Map<string, number>()
  // What it does not list any more, it has taken back.
  for (const [name, state] of Object.entries(meta.capabilities ?? {})) {
    if (state !== 'unready') continue
    const until = isCapable(was, name) ? now : before?.capableUntil.get(name)
    if (until !== undefined) capableUntil.set(name, until)
  }
  const readyUntil = isUnready ? lastReady : undefined
  return readyUntil === undefined && capableUntil.size === 0 ? undefined : { readyUntil, capableUntil }
}

const NOTHING: readonly ServiceChange[] = []

function indexByName(changes: readonly ServiceChange[]): Map<string, ServiceEntry[]> {
  const byName = new Map<string, ServiceEntry[]>()
  for (const change of changes) {
    if (change.kind !== 'down') continue
    const entries = byName.get(change.entry.key)
    if (entries === undefined) byName.set(change.entry.key, [change.entry])
    else entries.push(change.entry)
  }
  return byName
}
