/** Identity of a node: its libp2p PeerId as a string. Authenticated by the transport, never chosen. */
export type NodeId = string

/** How far one life of an owner has come. Heads of one owner are totally ordered (`compareHeads`). */
export interface Head {
  /** One life of a node id. A restart with the same identity has a higher one. Safe integer, from 1. */
  readonly incarnation: number
  /** Count of the owner's writes in its history, from 1, without holes. 0: nothing written yet. */
  readonly version: number
}

/** An entry was added, or its meta changed: an update is one write under the same `ref` (J6). */
export interface Put<V> {
  readonly kind: 'put'
  readonly version: number
  /** Unique in the incarnation: the version of the entry's first write. */
  readonly ref: number
  readonly topic: string
  readonly key: string
  readonly meta: V
}

/** An entry is gone. */
export interface Remove {
  readonly kind: 'remove'
  readonly version: number
  readonly ref: number
  /** Why, in a word; undefined when its owner does not say. */
  readonly reason?: string | undefined
}

/** Of a reason for a removal, in UTF-8: a word or two, not a message. */
export const MAX_REASON_BYTES = 64

export type Write<V> = Put<V> | Remove

/**
 * The range `(from, to]` of one owner's writes, in rising order of version.
 *
 * `from === to`: heartbeat, no writes. `from === 0`: snapshot, holds every live entry and nothing else.
 * Otherwise a delta: of the writes to one ref in the range only the last is there, removals included, so
 * a delta is right for a reader at any version inside the range.
 */
export interface Frame<V> {
  readonly incarnation: number
  readonly from: number
  readonly to: number
  readonly writes: readonly Write<V>[]
  /** Of a snapshot: the entries that its writes make, if they were made as it came (`Intake`). Who applies it keeps the map. */
  readonly entries?: Map<number, Entry<V>>
}

/** A frame as its owner publishes it. The signer of the message is the owner, so it is not repeated here. */
export interface Beat<V> extends Frame<V> {
  /** Rises with every frame of one incarnation, from 1. Tells a new frame from an old one delivered again. */
  readonly beat: number
  /** The owner's promise: its next beat comes within this many ms. */
  readonly promiseMs: number
  /** The owner's last word: this incarnation is over. */
  readonly left: boolean
}

/** One presence as a replica holds it, tied to one monitor at its owner. Immutable. */
export interface Entry<V> {
  readonly node: NodeId
  readonly incarnation: number
  readonly ref: number
  readonly version: number
  readonly topic: string
  readonly key: string
  readonly meta: V
}

export const compareHeads = (a: Head, b: Head): number =>
  a.incarnation === b.incarnation ? a.version - b.version : a.incarnation - b.incarnation
