import type { NodeId } from '../core/frame.ts'
import type { ServiceEntry } from './instance.ts'
import type { Instance, LookupHit } from './types.ts'
import { compareVersions } from './version.ts'

/** What one node changed of a service. */
export interface RecordEdit {
  /**
   * By ref, what stands in the place of an instance from now on; undefined: nothing, it is gone. A ref is enough: at
   * no time are there entries of two lives of one node.
   */
  replaced: Map<number, ServiceEntry | undefined> | undefined
  readonly added: ServiceEntry[]
}

/** Arrays below this size are cut to it: growing one reserves 17 places more, which would triple the cost of a small service. */
const TRIM_BELOW = 64

/**
 * The instances of one service: highest version first; within a version, the longest known first. Versions
 * that differ in build metadata only are one version.
 */
export class ServiceRecord {
  readonly #toInstance: (entry: ServiceEntry) => Instance
  #entries: ServiceEntry[] = []
  /** Answers made so far, each at the place of its entry. */
  #hits: (LookupHit | undefined)[] | undefined
  #revision = 0
  #changedAt = 0

  constructor(toInstance: (entry: ServiceEntry) => Instance) {
    this.#toInstance = toInstance
  }

  /** Rises with every change, so that what was prepared from the record knows when it is old. */
  get revision(): number {
    return this.#revision
  }

  /** The revision of its registry at which an instance last came, changed or went. */
  get changedAt(): number {
    return this.#changedAt
  }

  get size(): number {
    return this.#entries.length
  }

  /** To be read at once: the next change is made in place. */
  get entries(): readonly ServiceEntry[] {
    return this.#entries
  }

  /** The answer that names the instance at a place. Made once and then shared until the instance, or `degraded`, changes. */
  hit(at: number, degraded: boolean): LookupHit {
    // Of full length from the start: an array that is written far beyond its end turns into a hash table.
    this.#hits ??= new Array<LookupHit | undefined>(this.#entries.length)
    let hit = this.#hits[at]
    if (hit?.degraded !== degraded) {
      hit = Object.freeze<LookupHit>({ ok: true, service: this.instance(at), stale: false, degraded })
      this.#hits[at] = hit
    }
    return hit
  }

  /** The instance at a place, without keeping it for the next who asks. */
  instance(at: number): Instance {
    const entry = this.#entries[at]
    if (entry === undefined) throw new RangeError(`no instance at ${at} of ${this.#entries.length}`)
    return this.#hits?.[at]?.service ?? this.#toInstance(entry)
  }

  /** Takes the revision at which readers begin to find it. */
  show(revision: number): void {
    this.#changedAt = revision
  }

  /** Makes old what was prepared from it. */
  retire(): void {
    this.#revision++
  }

  /** Costs at most one pass over the list, however much changes. */
  edit(node: NodeId, { replaced, added }: RecordEdit, revision: number): void {
    this.#revision++
    this.#changedAt = revision
    const arrivals = replaced === undefined ? added : added.concat(this.#replace(node, replaced))
    const [only] = arrivals
    if (only === undefined) return
    if (arrivals.length === 1) this.#insert(only)
    else this.#merge(arrivals)
    if (this.#entries.length < TRIM_BELOW) this.#entries = this.#entries.slice()
  }

  /** Returns the entries that changed their version, so that they have to move. */
  #replace(node: NodeId, replaced: Map<number, ServiceEntry | undefined>): ServiceEntry[] {
    const entries = this.#entries
    const hits = this.#hits
    const moved: ServiceEntry[] = []
    let read = 0
    let kept = 0
    for (let left = replaced.size; left > 0; read++) {
      const entry = entries[read]
      if (entry === undefined) break
      let next: ServiceEntry | undefined = entry
      if (entry.node === node && replaced.has(entry.ref)) {
        left--
        next = replaced.get(entry.ref)
        if (hits !== undefined) hits[read] = undefined
        if (next !== undefined && byVersion(next, entry) !== 0) {
          moved.push(next)
          next = undefined
        }
      }
      if (next === undefined) continue
      if (next !== entry || kept !== read) entries[kept] = next
      if (hits !== undefined && kept !== read) hits[kept] = hits[read]
      kept++
    }
    // All behind the last change moves up as one block.
    if (kept < read) {
      entries.splice(kept, read - kept)
      hits?.splice(kept, read - kept)
    }
    return moved
  }

  #insert(arrival: ServiceEntry): void {
    const at = this.#endOf(arrival)
    this.#entries.splice(at, 0, arrival)
    this.#hits?.splice(at, 0, undefined)
  }

  #merge(arrivals: ServiceEntry[]): void {
    const before = this.#entries
    const hitsBefore = this.#hits
    const entries: ServiceEntry[] = []
    const hits: (LookupHit | undefined)[] | undefined = hitsBefore && []
    let from = 0
    const copyTo = (end: number): void => {
      for (; from < end; from++) {
        const entry = before[from]
        if (entry !== undefined) entries.push(entry)
        hits?.push(hitsBefore?.[from])
      }
    }
    for (const arrival of arrivals.sort(byVersion)) {
      copyTo(this.#endOf(arrival))
      entries.push(arrival)
      hits?.push(undefined)
    }
    copyTo(before.length)
    this.#entries = entries
    this.#hits = hits
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
}

/** Highest first. */
const byVersion = (a: ServiceEntry, b: ServiceEntry): number =>
  compareVersions(b.meta.version, a.meta.version)
