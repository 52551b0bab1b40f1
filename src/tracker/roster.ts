import type { Entry, Frame, Head, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Sign } from '../core/liveness.ts'
import type { DownReason, Member, Membership } from '../core/membership.ts'
import { NO_HEAD, type Change } from '../core/owner-state.ts'
import type { Replica } from '../core/replica.ts'
import type { RollcallErrorCode } from '../errors.ts'
import { Admission } from './admission.ts'
import type { Directory } from './directory.ts'
import type { Doubts } from './doubts.ts'
import type { ResolvedTrackerOptions } from './options.ts'
import { Rivals } from './rivals.ts'
import type { Suspicion, TrackerEvents } from './types.ts'

/** Nodes that fell silent and were purged of which the addresses are still tried: enough to meet again after a split. */
const MAX_LOST = 32

/** Tells listeners of a fact, after the state has changed. */
export type Report = <Event extends keyof TrackerEvents>(
  event: Event,
  ...payload: TrackerEvents[Event]
) => void

/** What the roster asks of the rest of its tracker. */
export interface RosterPorts {
  readonly report: Report
  /** The owner's state here is behind what the owner claims; `via` has just shown to know more. */
  readonly behind: (owner: NodeId, via: NodeId) => void
  /** There was proof of the death of a node that was up. */
  readonly dead: (node: NodeId) => void
}

/**
 * Who is shown and who is hidden, as seen from here: it draws the consequences of signs of life, frames, silence and
 * proof of death, by the decisions of `core`, and reports what readers see change.
 */
export class Roster {
  readonly #options: ResolvedTrackerOptions
  readonly #replica: Replica<Json>
  readonly #ports: RosterPorts
  readonly #membership: Membership
  readonly #directory: Directory
  readonly #doubts: Doubts
  readonly #verifying = new Map<NodeId, Promise<boolean>>()
  readonly #admission: Admission
  readonly #rivals: Rivals
  /** Purged for their silence, oldest first. The transport goes on dialling them (C28). */
  readonly #lost = new Set<NodeId>()
  /** Down, and heard again: a sync must tell whether what is held of them is all there is. */
  readonly #unconfirmed = new Set<NodeId>()
  #isolated = false
  #gaps = 0

  constructor(
    options: ResolvedTrackerOptions,
    replica: Replica<Json>,
    membership: Membership,
    directory: Directory,
    doubts: Doubts,
    ports: RosterPorts,
  ) {
    this.#options = options
    this.#replica = replica
    this.#membership = membership
    this.#directory = directory
    this.#doubts = doubts
    this.#ports = ports
    this.#rivals = new Rivals(options.transport, replica, membership, directory)
    this.#admission = new Admission(options.clock, (node) => this.#verify(node))
  }

  get #selfId(): NodeId {
    return this.#options.transport.id
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  /** Frames that did not follow what was held of their owner. */
  get gaps(): number {
    return this.#gaps
  }

  /** Whether more than half of the known nodes are silent, and fell so together. */
  get isolated(): boolean {
    return this.#isolated
  }

  /** True while the replica lacks writes that the owner itself has claimed, or may well lack some. */
  isBehind(owner: NodeId): boolean {
    const member = this.#membership.get(owner)
    if (member === undefined) return false
    if (this.#unconfirmed.has(owner)) return true
    const held = this.#headOf(owner)
    return held.incarnation !== member.pulse.incarnation || held.version < member.latest
  }

  /** A dial to the node was refused: it is dead. */
  refuse(node: NodeId): void {
    const member = this.#membership.get(node)
    if (member === undefined) this.#giveUp(node)
    else {
      const wasUp = this.#membership.refuse(node, this.#now)
      this.#bury(member, 'refused')
      if (wasUp) this.#ports.dead(node)
    }
  }

  /** A node showed over a connection of ours that it lives. */
  touch(node: NodeId): void {
    this.#membership.touch(node, this.#now)
    this.vouch(node)
  }

  /**
   * A node that is up does not answer. Returns true when that is news.
   *
   * @param askedAt - what it said since then, by whatever way, counts as an answer: others may hear sooner than we that it
   * goes on, and pass its beat on. A question from before it came back tells nothing new
   */
  suspect(node: NodeId, why: Suspicion, askedAt = Infinity): boolean {
    const member = this.#membership.get(node)
    if (member?.status !== 'up' || Math.max(member.pulse.heardAt, member.upAt) >= askedAt) return false
    if (!this.#doubts.suspect(node, why)) return false
    const info = this.#directory.infoOf(node)
    if (info !== undefined) this.#ports.report('node_suspected', info, why)
    return true
  }

  isSuspect(node: NodeId): boolean {
    return this.#doubts.suspicionOf(node) !== undefined
  }

  /** A node answers, us or another. */
  vouch(node: NodeId): void {
    if (this.#doubts.clear(node)) this.#reportTrusted(node)
  }

  /** Judges every silence. `lateMs`: how much of it was this node's own stall. */
  judge(lateMs: number): void {
    if (lateMs > 0) this.#membership.forgive(lateMs, this.#now)
    const { down, purged } = this.#membership.judge(this.#now)
    for (const node of down) {
      const member = this.#membership.get(node) ?? purged.find((gone) => gone.node === node)
      if (member !== undefined) this.#lower(member, 'silent')
    }
    for (const member of purged) this.#forget(member, member.reason ?? 'silent')
    for (const node of this.#doubts.tick()) this.#reportTrusted(node)
    this.#judgeIsolation()
  }

  /** Follows changes of this node's own entry and reports them with the rest. */
  reportOwn(change: Change<Json>): void {
    this.#readFacts(this.#selfId, change)
    this.#reportDiff(this.#selfId, change)
  }

  /** Reports a new life of this node: the same entries, gone and back. */
  reportReborn({ joins, leaves }: Change<Json>): void {
    this.#reportDiff(this.#selfId, { leaves, reason: 'replaced' })
    this.#reportDiff(this.#selfId, { joins })
  }

  /** False when the sign comes from a life that is over, or there is no room: nothing of its sender counts then. */
  sense(owner: NodeId, sign: Sign): boolean {
    const sensed = this.#membership.sense(owner, sign, this.#now)
    switch (sensed.kind) {
      case 'over':
        return false
      case 'full':
        this.#reject(owner, 'ROLLCALL_FRAME_LIMIT', `more than maxNodes (${this.#options.maxNodes}) nodes`)
        return false
      case 'restarted':
        // C12: all of the old life goes before anything of the new one comes.
        this.#bury(sensed.was, 'replaced')
        this.#replica.forget(owner)
        this.#directory.delete(owner)
        this.#admission.forget(owner)
        return true
      case 'fresh':
        // What another passes on may have been under way when its author came to hang.
        if (sign.direct || sign.heardAt > this.#doubts.suspectedSince(owner) + this.#options.probeTimeoutMs) {
          this.vouch(owner)
        }
        // Heard after proof of its death: the message may have been under way, or the proof was none.
        if (this.#membership.get(owner)?.credible === false) void this.#verify(owner)
        return true
      case 'new':
        this.#lost.delete(owner)
        return true
      case 'same':
        return true
    }
  }

  /** Joins a frame that `via` delivered. */
  join(owner: NodeId, via: NodeId, frame: Frame<Json>): void {
    const size = this.#replica.state(owner)?.sizeAfter(frame) ?? frame.writes.length
    const { maxEntriesPerNode } = this.#options
    // Its `$node` entry is not the application's, so it does not count.
    if (size > maxEntriesPerNode + 1) {
      this.#reject(owner, 'ROLLCALL_FRAME_LIMIT', `${size} entries, the limit is ${maxEntriesPerNode}`)
      return
    }
    const received = this.#replica.receive(owner, frame)
    if (received.kind === 'gap') {
      this.#gaps++
      this.#ports.behind(owner, via)
    }
    if (received.kind === 'applied') {
      this.#membership.claim(owner, frame.incarnation, frame.to)
      this.#readFacts(owner, received.change)
      if (this.#replica.isVisible(owner)) this.#reportDiff(owner, received.change)
    }
  }

  /**
   * Shows an owner of which `via` delivered a beat. Gossip calls in what it missed for some seconds, also from its author, so
   * of one that was away the beat may be older than its silence, and the state with it: a sync must confirm it.
   */
  raiseOnBeat(owner: NodeId, via: NodeId): void {
    const member = this.#membership.get(owner)
    if (member?.status !== 'down') this.raise(owner)
    else if (this.#membership.mayRaise(owner, this.#replica.head(owner), this.#now)) {
      this.#unconfirmed.add(owner)
      this.#ports.behind(owner, via)
    }
  }

  /** Shows an owner that is alive and whose state is whole: one up, with everything it has. */
  raise(owner: NodeId): void {
    const member = this.#membership.get(owner)
    if (member === undefined || member.status === 'up') return
    // One proof is enough: who is heard for `downPeriodMs` all the same lives behind an address that means another host there.
    if (member.refusedAt === -Infinity && this.#rivals.isAtOurPlace(owner)) {
      this.#replace(member)
    }
    const held = this.#replica.head(owner)
    if (!this.#membership.mayRaise(owner, held, this.#now)) return
    this.#replaceAtPlaceOf(owner)
    const admitted = (alive: ReadonlySet<NodeId>): void => {
      this.#settlePlaceOf(owner, alive)
      this.raise(owner)
    }
    if (!this.#admission.admits(owner, this.#rivals.of(owner), admitted)) return

    this.#membership.raise(owner, held, this.#now)
    this.#unconfirmed.delete(owner)
    this.#admission.forget(owner)
    this.#directory.claimPlace(owner)
    const joins = this.#replica.show(owner)
    const info = this.#directory.infoOf(owner)
    if (info !== undefined) this.#ports.report('node_up', info)
    this.#reportDiff(owner, { joins })
    this.#checkName(owner)
  }

  /** Hides an owner that was up. */
  #lower(member: Member, reason: DownReason): void {
    const leaves = this.#replica.hide(member.node)
    this.#reportDiff(member.node, { leaves, reason })
    const flaps = this.#doubts.down(member.node)
    const info = this.#directory.info({ ...member, status: 'down', reason })
    this.#ports.report('node_down', info, reason)
    if (flaps) this.#ports.report('node_flapping', info)
  }

  /** There is proof that what it was is dead: it is hidden, or does not come back from its silence. */
  #bury(was: Member, reason: 'refused' | 'replaced'): void {
    if (was.status === 'up') this.#lower(was, reason)
    else if (was.reason === 'silent') {
      this.#ports.report('node_dead', this.#directory.info({ ...was, reason }), reason)
    }
  }

  /** The owner has said goodbye. */
  leave(owner: NodeId, incarnation: number): void {
    const member = this.#membership.leave(owner, incarnation)
    if (member === undefined) {
      this.#giveUp(owner)
      return
    }
    if (member.status === 'up') this.#lower(member, 'left')
    this.#forget(member, 'left')
  }

  #forget(member: Member, reason: DownReason): void {
    const info = this.#directory.info({ ...member, status: 'down', reason })
    this.#replica.forget(member.node)
    this.#directory.delete(member.node)
    this.#unconfirmed.delete(member.node)
    this.#admission.forget(member.node)
    if (reason === 'silent') this.#lose(member.node)
    else this.#options.transport.forget(member.node)
    if (member.status !== 'joining') this.#ports.report('node_purged', info)
  }

  /** C28: the silence may be a split, and where no seed lives these are the only way back when it ends. */
  #lose(node: NodeId): void {
    this.#lost.add(node)
    for (const oldest of this.#lost) {
      if (this.#lost.size <= MAX_LOST) return
      this.#giveUp(oldest)
    }
  }

  /** Found dead, or too many: it is dialled no more. */
  #giveUp(node: NodeId): void {
    if (this.#lost.delete(node)) this.#options.transport.forget(node)
  }

  /** C12: two processes cannot listen at one place, so where one that we are connected to lives, no other does. */
  #replaceAtPlaceOf(owner: NodeId): void {
    if (this.#rivals.isNeighbour(owner)) this.#replaceHolder(this.#rivals.holderOf(owner))
  }

  /** The one that was shown at its place was looked at: of the two, one is old news. */
  #settlePlaceOf(owner: NodeId, alive: ReadonlySet<NodeId>): void {
    const holder = this.#rivals.holderOf(owner)
    if (holder === undefined || this.#rivals.isNeighbour(owner)) return
    const member = this.#membership.get(owner)
    if (!alive.has(holder.node)) this.#replaceHolder(holder)
    // One proof is enough: who is heard for `downPeriodMs` all the same has a place of its own.
    else if (member?.refusedAt === -Infinity) this.#replace(member)
  }

  #replaceHolder(holder: Member | undefined): void {
    if (holder !== undefined && !this.#rivals.isNeighbour(holder.node)) this.#replace(holder)
  }

  #replace(member: Member): void {
    this.#membership.replace(member.node, this.#now)
    this.#bury(member, 'replaced')
  }

  /** C40: both are kept. */
  #checkName(owner: NodeId): void {
    const newer = this.#directory.infoOf(owner)
    for (const node of this.#rivals.namesakes(owner)) {
      const older = this.#directory.infoOf(node)
      if (older !== undefined && newer !== undefined) this.#ports.report('name_conflict', older, newer)
    }
  }

  /** Dials a node about which there is doubt, once at a time. True when it was found alive. */
  #verify(node: NodeId): Promise<boolean> {
    const underWay = this.#verifying.get(node)
    if (underWay !== undefined) return underWay
    const verifying = this.#look(node).finally(() => this.#verifying.delete(node))
    this.#verifying.set(node, verifying)
    return verifying
  }

  async #look(node: NodeId): Promise<boolean> {
    if (this.#rivals.isAtOurPlace(node)) return false
    const verdict = await this.#options.transport.examine(node)
    if (verdict === 'refused') {
      this.refuse(node)
      return false
    }
    this.#membership.trust(node)
    this.raiseOnBeat(node, node)
    return verdict === 'alive' || this.#rivals.isNeighbour(node)
  }

  #judgeIsolation(): void {
    const known = this.#membership.size
    const { silent, together } = this.#membership.silence(this.#now)
    if (!this.#isolated && together > known / 2) {
      this.#isolated = true
      this.#ports.report('isolated', silent, known)
    } else if (this.#isolated && silent <= known / 2) {
      this.#isolated = false
      this.#ports.report('isolation_ended', silent, known)
    }
  }

  #readFacts(owner: NodeId, { joins, updates }: Change<Json>): void {
    for (const entry of joins) this.#readFactsOf(owner, entry)
    for (const { entry } of updates) this.#readFactsOf(owner, entry)
  }

  #readFactsOf(owner: NodeId, entry: Entry<Json>): void {
    const facts = this.#directory.read(entry)
    if (facts === undefined || owner === this.#selfId) return
    this.#options.transport.learn(owner, facts.addresses)
    if (!this.#replica.isVisible(owner)) return
    this.#replaceAtPlaceOf(owner)
    this.#directory.claimPlace(owner)
  }

  #reportTrusted(node: NodeId): void {
    const info = this.#directory.infoOf(node)
    if (info !== undefined) this.#ports.report('node_trusted', info)
  }

  #headOf(owner: NodeId): Head {
    return this.#replica.head(owner) ?? NO_HEAD
  }

  #reportDiff(
    node: NodeId,
    {
      joins = [],
      leaves = [],
      updates = [],
      reasons,
      reason,
    }: Partial<Change<Json>> & { readonly reason?: DownReason },
  ): void {
    if (joins.length === 0 && leaves.length === 0 && updates.length === 0) return
    this.#ports.report('diff', Object.freeze({ node, joins, leaves, updates, reasons, reason }))
  }

  #reject(from: NodeId, code: RollcallErrorCode, message: string): void {
    this.#ports.report('rejected', from, code, message)
  }
}
