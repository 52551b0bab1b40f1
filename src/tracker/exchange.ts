import type { Beat, Frame, Head, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Membership } from '../core/membership.ts'
import { NO_HEAD } from '../core/owner-state.ts'
import type { Replica } from '../core/replica.ts'
import type { HeadInfo, Left, Want } from '../wire/sync-message.ts'
import { HeardOf } from './heard-of.ts'
import type { ResolvedTrackerOptions } from './options.ts'
import type { Roster } from './roster.ts'

/** Entries that are settled in one turn of the event loop: 1 ms or so. */
const SETTLE_ENTRIES = 4_000

/** What a node says of itself to those that it syncs with, and what it does when they know better. */
export interface SelfPorts {
  /** Its own pulse. */
  readonly pulse: () => { readonly beat: number; readonly promiseMs: number }
  /** A peer has met its id in this life or a later one, as over or as lived by another (refute). */
  readonly met: (incarnation: number) => void
  /** Another life of its id than this one was heard so many ms ago. */
  readonly lived: (silentMs: number) => void
}

/** Takes in what others say, by gossip and in syncs, and tells them in turn what this node can tell of. */
export class Exchange {
  /** What peers told of this node. */
  readonly heardOf: HeardOf
  readonly #options: ResolvedTrackerOptions
  readonly #replica: Replica<Json>
  readonly #membership: Membership
  readonly #roster: Roster
  readonly #self: SelfPorts

  constructor(
    options: ResolvedTrackerOptions,
    replica: Replica<Json>,
    membership: Membership,
    roster: Roster,
    self: SelfPorts,
  ) {
    this.heardOf = new HeardOf(options.maxNodes)
    this.#options = options
    this.#replica = replica
    this.#membership = membership
    this.#roster = roster
    this.#self = self
  }

  get #selfId(): NodeId {
    return this.#options.transport.id
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  /** Takes in a beat that `owner` signed and `via` delivered. */
  hear(owner: NodeId, via: NodeId, beat: Beat<Json>): void {
    if (owner === this.#selfId) return
    const { incarnation, promiseMs } = beat
    if (beat.left) {
      this.#roster.leave(owner, incarnation)
      return
    }
    const sign = { incarnation, beat: beat.beat, promiseMs, heardAt: this.#now, direct: owner === via }
    if (!this.#roster.sense(owner, sign)) return
    this.#membership.claim(owner, incarnation, beat.to)
    this.#roster.join(owner, via, beat)
    this.#roster.raiseOnBeat(owner, via)
  }

  /** Takes in a frame that a peer sent in a sync. The heads that came before it told of its owner's life. */
  learn(owner: NodeId, via: NodeId, frame: Frame<Json>): void {
    if (this.#membership.get(owner)?.pulse.incarnation !== frame.incarnation) return
    this.#roster.join(owner, via, frame)
    this.#roster.raise(owner)
  }

  /** Does a turn's worth of what frames have left to do. True while there is more. */
  settle(): boolean {
    return this.#replica.settle(SETTLE_ENTRIES)
  }

  /**
   * What this node can tell a peer of: itself and every owner that is up and whole here. The dead do not count; and who was
   * heard to have written more than is held would come back elsewhere as it was before.
   */
  heads(): HeadInfo[] {
    const heads = [{ owner: this.#selfId, ...this.#headOf(this.#selfId), ...this.#self.pulse(), silentMs: 0 }]
    for (const { node, status, pulse } of this.#membership.all()) {
      if (status !== 'up' || this.#roster.isBehind(node)) continue
      const { beat, promiseMs, heardAt } = pulse
      heads.push({ owner: node, ...this.#headOf(node), beat, promiseMs, silentMs: this.#now - heardAt })
    }
    return heads
  }

  /** Takes in what `peer` can tell of. Returns what is wanted of it, and what it does not know to be over. */
  compare(peer: NodeId, heads: readonly HeadInfo[]): { readonly wants: Want[]; readonly left: Left[] } {
    const wants: Want[] = []
    const left: Left[] = []
    let own: Head | undefined
    for (const { owner, incarnation, version, beat, promiseMs, silentMs } of heads) {
      if (owner === this.#selfId) {
        own = { incarnation, version }
        if (incarnation > this.#headOf(owner).incarnation) this.#self.met(incarnation)
        continue
      }
      const direct = owner === peer
      const past = this.#membership.lifePast(owner, incarnation)
      // Also to a node whose clock was set back: told the life that it comes after, it goes on in a later one.
      if (past !== undefined && (direct || this.#membership.hasLeft(owner, incarnation))) {
        left.push({ owner, incarnation: past })
        continue
      }
      const sign = { incarnation, beat, promiseMs, heardAt: this.#now - silentMs, direct }
      if (!this.#roster.sense(owner, sign)) continue
      if (direct) this.#membership.claim(owner, incarnation, version)
      const held = this.#headOf(owner)
      // What is known to be behind is shown once it has come, so that nobody sees again what is removed by then.
      if (held.incarnation !== incarnation || held.version < version) wants.push({ owner, ...held })
      else this.#roster.raise(owner)
    }
    this.heardOf.note(peer, { head: own, at: this.#now })
    return { wants, left }
  }

  /** Takes in what a peer that does not gossip with this node says of it, and nothing else. */
  overhear(heads: readonly HeadInfo[]): void {
    const said = heads.find(({ owner }) => owner === this.#selfId)
    if (said !== undefined && said.incarnation !== this.#headOf(this.#selfId).incarnation) {
      this.#self.lived(said.silentMs)
    }
  }

  /** A peer knows that these incarnations left. */
  meetLeft(left: readonly Left[]): void {
    for (const { owner, incarnation } of left) {
      if (owner !== this.#selfId) this.#roster.leave(owner, incarnation)
      else if (incarnation >= this.#headOf(owner).incarnation) this.#self.met(incarnation)
    }
  }

  /** The frame a peer wants, if its owner is up here; undefined otherwise. */
  answer({ owner, incarnation, version }: Want): Frame<Json> | undefined {
    if (owner !== this.#selfId && this.#membership.get(owner)?.status !== 'up') return undefined
    return this.#replica.state(owner)?.since({ incarnation, version })
  }

  #headOf(owner: NodeId): Head {
    return this.#replica.head(owner) ?? NO_HEAD
  }
}
