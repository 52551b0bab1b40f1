import { Intake } from './intake.ts'
import type { Entry, Frame, Head, NodeId, Put, Write } from './frame.ts'
import { join } from './join.ts'
import { WriteLog } from './write-log.ts'

/** How one step changed the entries of one owner. Lists are in the owner's write order. */
export interface Change<V> {
  readonly joins: readonly Entry<V>[]
  readonly leaves: readonly Entry<V>[]
  readonly updates: readonly { readonly entry: Entry<V>; readonly previous: Entry<V> }[]
  /** By ref, why entries left, where their owner said it. A snapshot does not. */
  readonly reasons?: ReadonlyMap<number, string> | undefined
}

/** What `receive` did. Where the frame began a new incarnation, `leaves` are of the old one. */
export type Received<V> =
  | { readonly kind: 'stale' }
  | { readonly kind: 'gap'; readonly have: number }
  | { readonly kind: 'applied'; readonly change: Change<V> }

/** Writes up to which a delta is given though a snapshot were shorter: only a delta says why entries went. */
const SHORT_DELTA = 128

/** The empty heads of owners never heard: below every real head. */
export const NO_HEAD: Head = Object.freeze({ incarnation: 0, version: 0 })

/**
 * One owner's entries at one replica: always a state that the owner was in, at the head it claims (J1).
 * The owner itself holds its own entries in one too, so both answer "since version v" alike.
 */
export class OwnerState<V> {
  readonly node: NodeId
  readonly #logLimit: number
  #head: Head | undefined
  /**
   * By ref. An update keeps its place: a Map that deletes and sets one key again and again walks over every
   * deleted one until it is rehashed.
   */
  #entries = new Map<number, Entry<V>>()
  #log: WriteLog
  #topic = ''

  constructor(node: NodeId, logLimit: number) {
    this.node = node
    this.#logLimit = logLimit
    this.#log = new WriteLog(logLimit, 0)
  }

  /** Undefined until a frame was applied. */
  get head(): Head | undefined {
    return this.#head
  }

  get entries(): ReadonlyMap<number, Entry<V>> {
    return this.#entries
  }

  /** Oldest version of this incarnation since which `since` answers with a delta. */
  get horizon(): number {
    return this.#log.horizon
  }

  /** Writes that are remembered; bounded by twice the limit of the log. */
  get logLength(): number {
    return this.#log.length
  }

  /** Joins a frame. Costs the frame; a replacement costs what is held as well. */
  receive(frame: Frame<V>): Received<V> {
    const joined = join(this.#head, frame)
    switch (joined.kind) {
      case 'stale':
      case 'gap':
        return joined
      case 'extend':
        return { kind: 'applied', change: this.#extend(joined.head, joined.writes) }
      case 'replace':
        return { kind: 'applied', change: this.#replace(joined.head, this.#entriesOf(frame)) }
    }
  }

  /** Entries there would be after `frame`, so that a limit is checked before anything is applied. */
  sizeAfter(frame: Frame<V>): number {
    if (frame.from === 0 || frame.incarnation !== this.#head?.incarnation) return frame.writes.length
    let size = this.#entries.size
    for (const write of frame.writes) {
      const held = this.#entries.has(write.ref)
      if (write.kind === 'put' && !held) size++
      else if (write.kind === 'remove' && held) size--
    }
    return size
  }

  /**
   * What a reader at `have` lacks: nothing, a delta, or (another incarnation, past the log's horizon, or when
   * it is the shorter answer) a snapshot. Costs the answer.
   */
  since(have: Head): Frame<V> {
    const { incarnation, version: to } = this.#head ?? NO_HEAD
    const from = have.incarnation === incarnation ? have.version : 0
    if (from >= to) return { incarnation, from: to, to, writes: [] }
    const isShort = this.#log.countSince(from) <= Math.max(SHORT_DELTA, this.#entries.size)
    if (from === 0 || from < this.#log.horizon || !isShort) {
      return { incarnation, from: 0, to, writes: Array.from(this.#entries.values(), toPut).sort(byVersion) }
    }
    return { incarnation, from, to, writes: this.#writesSince(from) }
  }

  #writesSince(from: number): Write<V>[] {
    const writes: Write<V>[] = []
    this.#log.forEachSince(from, (logged) => {
      if (logged.kind === 'remove') {
        writes.push(logged)
        return
      }
      const entry = this.#entries.get(logged.ref)
      // Otherwise a later write to the ref superseded this one, and follows in the log.
      if (entry?.version === logged.version) writes.push(toPut(entry))
    })
    return writes
  }

  #extend(head: Head, writes: readonly Write<V>[]): Change<V> {
    const joins: Entry<V>[] = []
    const leaves: Entry<V>[] = []
    const updates: { entry: Entry<V>; previous: Entry<V> }[] = []
    let reasons: Map<number, string> | undefined
    for (const write of writes) {
      const previous = this.#entries.get(write.ref)
      if (write.kind === 'put') {
        const entry = this.#entry(head.incarnation, write)
        this.#entries.set(write.ref, entry)
        if (previous === undefined) joins.push(entry)
        else updates.push({ entry, previous })
      } else if (previous !== undefined) {
        this.#entries.delete(write.ref)
        leaves.push(previous)
        if (write.reason !== undefined) (reasons ??= new Map()).set(write.ref, write.reason)
      }
      this.#log.append(write)
    }
    this.#head = head
    return { joins, leaves, updates, reasons }
  }

  #entriesOf({ incarnation, writes, entries }: Frame<V>): Map<number, Entry<V>> {
    if (entries !== undefined) return entries
    const intake = new Intake<V>(this.node, incarnation)
    intake.add(writes)
    return intake.entries
  }

  #replace(head: Head, after: Map<number, Entry<V>>): Change<V> {
    const sameLife = this.#head?.incarnation === head.incarnation
    const before = this.#entries
    const joins: Entry<V>[] = []
    const updates: { entry: Entry<V>; previous: Entry<V> }[] = []
    for (const [ref, entry] of after) {
      const previous = sameLife ? before.get(ref) : undefined
      if (previous === undefined) joins.push(entry)
      // J6: the same ref at the same version is the same write, so readers keep the object they have.
      else if (previous.version === entry.version) after.set(ref, previous)
      else updates.push({ entry, previous })
    }
    const leaves: Entry<V>[] = []
    for (const entry of before.values()) if (!sameLife || !after.has(entry.ref)) leaves.push(entry)

    this.#head = head
    this.#entries = after
    this.#log = new WriteLog(this.#logLimit, head.version)
    return { joins, leaves, updates }
  }

  #entry(incarnation: number, { ref, version, topic, key, meta }: Put<V>): Entry<V> {
    // An owner's entries mostly share a topic: one string for all of them instead of one from every decoded write.
    if (topic !== this.#topic) this.#topic = topic
    return { node: this.node, incarnation, ref, version, topic: this.#topic, key, meta }
  }
}

const toPut = <V>({ version, ref, topic, key, meta }: Entry<V>): Put<V> => ({
  kind: 'put',
  version,
  ref,
  topic,
  key,
  meta,
})

const byVersion = (a: Write<unknown>, b: Write<unknown>): number => a.version - b.version
