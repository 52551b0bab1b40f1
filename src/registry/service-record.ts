import type { NodeId } from '../core/frame.ts'
import type { ServiceEntry } from './instance.ts'
import type { Instance, LookupHit } from './types.ts'
import { compareVersions } from './version.ts'

/** Instances of one node that change or go (`next` undefined), by ref, and instances that come. */
export interface RecordEdit {
  readonly replaced: Map<number, { readonly entry: ServiceEntry; readonly next: ServiceEntry | undefined }>
  readonly added: ServiceEntry[]
}

/** Arrays below this size are cut to it: `push` reserves 17 slots, which would triple the cost of a small service. */
const TRIM_BELOW = 64

/**
 * The instances of one service: highest version first; within a version, the longest known first. Versions
 * that differ in build metadata only are one version.
 */
export class ServiceRecord {
  readonly name: string
  readonly #toInstance: (entry: ServiceEntry) => Instance
  #entries: readonly ServiceEntry[] = []
  /** Answers made so far, at the place of their entry. */
  #hits: (LookupHit | undefined)[] | undefined
  #revision = 0

  constructor(name: string, toInstance: (entry: ServiceEntry) => Instance) {
    this.name = name
    this.#toInstance = toInstance
  }

  /** Rises with every change, so that what was prepared from the record knows when it is old. */
  get revision(): number {
    return this.#revision
  }

  get size(): number {
    return this.#entries.length
  }

  get entries(): readonly ServiceEntry[] {
    return this.#entries
  }

  /** The answer that names the instance at a place. Made once and then shared until the instance changes. */
  hit(at: number): LookupHit {
    const hits = (this.#hits ??= [])
    let hit = hits[at]
    if (hit === undefined) {
      hit = Object.freeze<LookupHit>({ ok: true, service: this.instance(at) })
      hits[at] = hit
    }
    return hit
  }

  /** The instance at a place, without keeping it for the next who asks. */
  instance(at: number): Instance {
    const entry = this.#entries[at]
    if (entry === undefined) throw new RangeError(`no instance ${at} of ${this.name}`)
    return this.#hits?.[at]?.service ?? this.#toInstance(entry)
  }

  /** Makes old what was prepared from it, because it is no longer the record of its name. */
  retire(): void {
    this.#revision++
  }

  /** Costs one copy of the list, however much changes. */
  edit(node: NodeId, { replaced, added }: RecordEdit): void {
    this.#revision++
    const moved = replaced.size === 0 ? [] : this.#replace(node, replaced)
    const arrivals = [...added, ...moved]
    if (arrivals.length > 0) this.#insert(arrivals)
  }

  /** Returns the entries that changed their version, so that they have to move. */
  #replace(node: NodeId, replaced: RecordEdit['replaced']): ServiceEntry[] {
    const entries: ServiceEntry[] = []
    const hits: (LookupHit | undefined)[] = []
    const moved: ServiceEntry[] = []
    for (const [at, entry] of this.#entries.entries()) {
      const change = entry.node === node ? replaced.get(entry.ref) : undefined
      if (change?.entry.incarnation !== entry.incarnation) {
        entries.push(entry)
        hits.push(this.#hits?.[at])
      } else if (change.next !== undefined) {
        if (byVersion(change.next, entry) !== 0) moved.push(change.next)
        else {
          entries.push(change.next)
          hits.push(undefined)
        }
      }
    }
    this.#set(entries, hits)
    return moved
  }

  #insert(arrivals: ServiceEntry[]): void {
    const entries: ServiceEntry[] = []
    const hits: (LookupHit | undefined)[] = []
    let from = 0
    const copyTo = (end: number): void => {
      for (; from < end; from++) {
        const entry = this.#entries[from]
        if (entry !== undefined) entries.push(entry)
        hits.push(this.#hits?.[from])
      }
    }
    for (const arrival of arrivals.sort(byVersion)) {
      copyTo(this.#endOf(arrival))
      entries.push(arrival)
      hits.push(undefined)
    }
    copyTo(this.#entries.length)
    this.#set(entries, hits)
  }

  /** The place behind the last entry of an equal or a higher version. */
  #endOf(arrival: ServiceEntry): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const entry = this.#entries[middle]
      if (entry !== undefined && byVersion(entry, arrival) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #set(entries: ServiceEntry[], hits: (LookupHit | undefined)[]): void {
    this.#entries = entries.length < TRIM_BELOW ? entries.slice() : entries
    if (this.#hits !== undefined) this.#hits = hits
  }
}

/** Highest first. */
const byVersion = (a: ServiceEntry, b: ServiceEntry): number =>
  compareVersions(b.meta.version, a.meta.version)
