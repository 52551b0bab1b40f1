import type { Frame, NodeId, Put, Remove, Write } from './frame.ts'
import type { Change } from './owner-state.ts'
import type { Replica } from './replica.ts'

/** A write before it has its version: a put without `ref` is a new entry. */
export type Draft<V> =
  (Omit<Put<V>, 'version' | 'ref'> & { readonly ref: number | undefined }) | Omit<Remove, 'version'>

/**
 * The only hand that changes an owner's entries. Its writes join its own replica as any other owner's do, so
 * there is one path for all; a version is given to a write exactly once (J6).
 */
export class Writer<V> {
  readonly #replica: Replica<V>
  readonly #node: NodeId
  #incarnation: number
  #version = 0
  /** Head up to which writes were handed out for publishing. */
  #taken = 0

  constructor(replica: Replica<V>, node: NodeId, incarnation: number) {
    this.#replica = replica
    this.#node = node
    this.#incarnation = incarnation
    replica.receive(node, { incarnation, from: 0, to: 0, writes: [] })
    replica.show(node)
  }

  get incarnation(): number {
    return this.#incarnation
  }

  get version(): number {
    return this.#version
  }

  /** There are writes that `take` has not handed out. */
  get pending(): boolean {
    return this.#version > this.#taken
  }

  /** Applies writes as one step. Returns the change and the refs, in the order of the drafts. Costs the drafts. */
  write(drafts: readonly Draft<V>[]): { readonly change: Change<V>; readonly refs: readonly number[] } {
    const from = this.#version
    const writes = drafts.map((draft, index): Write<V> => {
      const version = from + index + 1
      return draft.kind === 'put' ? { ...draft, version, ref: draft.ref ?? version } : { ...draft, version }
    })
    const change = this.#join({ incarnation: this.#incarnation, from, to: from + writes.length, writes })
    this.#version = from + writes.length
    return { change, refs: writes.map((write) => write.ref) }
  }

  /** The frame of all writes not handed out before; a heartbeat when there are none. Costs the frame. */
  take(): Frame<V> {
    const frame = this.#state().since({ incarnation: this.#incarnation, version: this.#taken })
    this.#taken = this.#version
    return frame
  }

  /**
   * Goes on in a higher incarnation with the same entries and refs (refute). Versions go on too: readers start
   * from a snapshot all the same (J4), and a handle's ref stays what it was.
   */
  reincarnate(incarnation: number): Change<V> {
    const { writes } = this.#state().since({ incarnation: 0, version: 0 })
    this.#incarnation = incarnation
    this.#taken = 0
    return this.#join({ incarnation, from: 0, to: this.#version, writes })
  }

  #state() {
    const state = this.#replica.state(this.#node)
    if (state === undefined) throw new Error(`the replica has lost its own owner ${this.#node}`)
    return state
  }

  #join(frame: Frame<V>): Change<V> {
    const received = this.#replica.receive(this.#node, frame)
    // J6: nobody else writes here, so our own next write always follows on what is held.
    if (received.kind !== 'applied')
      throw new Error(`own writes up to ${frame.to} did not apply: ${received.kind}`)
    return received.change
  }
}
