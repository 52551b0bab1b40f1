import type { Head, NodeId } from './frame.ts'
import { feel, judge, type LivenessLimits, type Pulse, type Sign } from './liveness.ts'
import { RetiredTable, revives } from './retired.ts'

/** Why an owner is down here. */
export type DownReason = 'silent' | 'refused' | 'left' | 'replaced'

export interface MembershipLimits extends LivenessLimits {
  /** Members held at once, and as many retired ones remembered. */
  readonly maxNodes: number
}

/** One owner as seen here. `joining`: heard of, but its state is not here yet, so nothing of it is shown. */
export interface Member {
  readonly node: NodeId
  readonly pulse: Pulse
  readonly status: 'joining' | 'up' | 'down'
  readonly reason: DownReason | undefined
  /** Highest version known of this incarnation, by the owner's own claim or held once; the replica may be behind. */
  readonly latest: number
  /** When it last came up here; -Infinity when it never did. */
  readonly upAt: number
  /** When there was last proof of its death; -Infinity when never in this incarnation. */
  readonly refusedAt: number
  /** False after that proof, until it itself speaks over a connection, a dial is not refused, or it is heard past `downPeriodMs`. */
  readonly credible: boolean
}

/** What a sign of life did: `restarted` says that the member begins a new incarnation, `was` the old one. */
export type Sensed =
  /** A former incarnation, one that left, or a purged one heard again late (J4). */
  | { readonly kind: 'over' }
  /** There are `maxNodes` members already. */
  | { readonly kind: 'full' }
  | { readonly kind: 'same' | 'fresh' | 'new' }
  | { readonly kind: 'restarted'; readonly was: Member }

/** A verdict that a tick formed. Events follow in this order. */
export interface Verdicts {
  readonly down: readonly NodeId[]
  readonly purged: readonly Member[]
}

/**
 * Who is alive, as a table of owners: each call is told the time and returns what changed, so that the caller
 * can act. `sense`, `refuse`, `leave` and `raise` cost O(1), `judge` the number of members.
 */
export class Membership {
  readonly #limits: MembershipLimits
  readonly #members = new Map<NodeId, Member>()
  readonly #retired: RetiredTable
  #up = 0

  constructor(limits: MembershipLimits) {
    this.#limits = limits
    this.#retired = new RetiredTable(limits.maxNodes)
  }

  get(node: NodeId): Member | undefined {
    return this.#members.get(node)
  }

  all(): IterableIterator<Member> {
    return this.#members.values()
  }

  get size(): number {
    return this.#members.size
  }

  get upCount(): number {
    return this.#up
  }

  /** Owners remembered after they left or were purged. */
  get retiredCount(): number {
    return this.#retired.size
  }

  hasLeft(node: NodeId, incarnation: number): boolean {
    return this.#retired.hasLeft(node, { incarnation })
  }

  /** The life known here that `incarnation` cannot follow: a later one that is down or retired, or one that left. */
  lifePast(node: NodeId, incarnation: number): number | undefined {
    if (this.hasLeft(node, incarnation)) return this.#retired.get(node)?.incarnation
    const member = this.#members.get(node)
    if (member !== undefined && member.status !== 'down') return undefined
    const last = (member?.pulse ?? this.#retired.get(node))?.incarnation ?? 0
    return last > incarnation ? last : undefined
  }

  /** Takes in a sign of life. It alone shows nobody: `raise` does, once the state is here. */
  sense(node: NodeId, sign: Sign, now: number): Sensed {
    const member = this.#members.get(node)
    if (member === undefined) return this.#meet(node, sign, now)

    const { pulse } = member
    if (sign.incarnation < pulse.incarnation) return { kind: 'over' }
    const felt = feel(pulse, sign, now)
    if (felt === pulse) return { kind: 'same' }
    if (sign.incarnation === pulse.incarnation) {
      const credible =
        member.credible || sign.direct || felt.heardAt > member.refusedAt + this.#limits.downPeriodMs
      this.#set({ ...member, pulse: felt, credible })
      return { kind: 'fresh' }
    }
    this.#set(newcomer(node, felt, 0))
    return { kind: 'restarted', was: member }
  }

  /** An owner showed over a connection that its process lives. That keeps it up; it brings nobody back. */
  touch(node: NodeId, now: number): void {
    const member = this.#members.get(node)
    if (member?.status === 'up') this.#set({ ...member, pulse: { ...member.pulse, heardAt: now } })
  }

  /** Notes a version that the owner itself claimed, or that is held here. */
  claim(node: NodeId, incarnation: number, version: number): void {
    const member = this.#members.get(node)
    if (member?.pulse.incarnation === incarnation && version > member.latest)
      this.#set({ ...member, latest: version })
  }

  /**
   * Whether an owner that is not up may be: it is heard lately, not only by beats that may have been under way when
   * there was proof of its death, and `held`, what the replica has of it, is all that it claims.
   */
  mayRaise(node: NodeId, held: Head | undefined, now: number): boolean {
    const member = this.#members.get(node)
    if (member === undefined || member.status === 'up' || !member.credible) return false
    if (held?.incarnation !== member.pulse.incarnation || held.version < member.latest) return false
    return this.#verdict(member, now) === 'up'
  }

  /** Brings an owner up if it may be. */
  raise(node: NodeId, held: Head | undefined, now: number): boolean {
    const member = this.#members.get(node)
    if (member === undefined || !this.mayRaise(node, held, now)) return false
    this.#set({ ...member, status: 'up', reason: undefined, upAt: now, refusedAt: -Infinity })
    return true
  }

  /** A dial after the proof of its death was not refused: the proof no longer holds. */
  trust(node: NodeId): void {
    const member = this.#members.get(node)
    if (member !== undefined) this.#set({ ...member, credible: true })
  }

  /** A dial to it was refused: proof of death, also of one that was silent. Returns true when it was up. */
  refuse(node: NodeId, now: number): boolean {
    return this.#lower(node, 'refused', now)
  }

  /** Another node now lives at its address. Returns true when it was up. */
  replace(node: NodeId, now: number): boolean {
    return this.#lower(node, 'replaced', now)
  }

  /** The owner said goodbye: forgotten, and that incarnation is over. Returns what it was, unless it was over already. */
  leave(node: NodeId, incarnation: number): Member | undefined {
    const member = this.#members.get(node)
    if (member !== undefined && member.pulse.incarnation > incarnation) return undefined
    if (!this.hasLeft(node, incarnation))
      this.#retired.add(node, { incarnation, version: Infinity, beat: Infinity })
    this.#delete(node)
    return member
  }

  /** Forms the verdicts of a tick. */
  judge(now: number): Verdicts {
    const down: NodeId[] = []
    const purged: Member[] = []
    for (const member of this.#members.values()) {
      const verdict = this.#verdict(member, now)
      if (verdict === 'up') continue
      if (member.status === 'up') {
        down.push(member.node)
        this.#set({ ...member, status: 'down', reason: 'silent' })
      }
      if (verdict === 'purge') {
        const { incarnation, beat } = member.pulse
        purged.push(member)
        this.#retired.add(member.node, { incarnation, version: member.latest, beat })
        this.#delete(member.node)
      }
    }
    return { down, purged }
  }

  /** We were away for `lateMs`: nobody's silence counts for that time. `Infinity`: it counts from now. */
  forgive(lateMs: number, now: number): void {
    for (const member of this.#members.values()) {
      const heardAt = Math.min(now, member.pulse.heardAt + lateMs)
      if (member.status !== 'down') this.#set({ ...member, pulse: { ...member.pulse, heardAt } })
    }
  }

  /** How many members are down by silence, and how many of those began it within the last two down periods. */
  silence(now: number): { readonly silent: number; readonly together: number } {
    let silent = 0
    let together = 0
    for (const { status, reason, pulse } of this.#members.values()) {
      if (status !== 'down' || reason !== 'silent') continue
      silent++
      if (now - pulse.heardAt <= 2 * Math.max(this.#limits.downPeriodMs, 2 * pulse.promiseMs)) together++
    }
    return { silent, together }
  }

  #meet(node: NodeId, sign: Sign, now: number): Sensed {
    const retired = this.#retired.get(node)
    // A sign as old as the purge is one that a node with the same limits would have forgotten: it starts nothing.
    if (!revives(retired, sign) || judge(now - sign.heardAt, sign.promiseMs, this.#limits) === 'purge') {
      return { kind: 'over' }
    }
    if (this.#members.size >= this.#limits.maxNodes) return { kind: 'full' }
    this.#retired.delete(node)
    const pulse = feel(undefined, sign, now)
    this.#set(newcomer(node, pulse, retired?.incarnation === sign.incarnation ? retired.version : 0))
    return { kind: 'new' }
  }

  #lower(node: NodeId, reason: DownReason, now: number): boolean {
    const member = this.#members.get(node)
    if (member === undefined) return false
    const status = member.status === 'joining' ? 'joining' : 'down'
    const isNews = member.reason === undefined || member.reason === 'silent'
    this.#set({
      ...member,
      status,
      reason: isNews ? reason : member.reason,
      refusedAt: now,
      credible: false,
    })
    return member.status === 'up'
  }

  #verdict({ pulse }: Member, now: number) {
    return judge(now - pulse.heardAt, pulse.promiseMs, this.#limits)
  }

  #set(member: Member): void {
    if (this.#members.get(member.node)?.status === 'up') this.#up--
    if (member.status === 'up') this.#up++
    this.#members.set(member.node, member)
  }

  #delete(node: NodeId): void {
    if (this.#members.get(node)?.status === 'up') this.#up--
    this.#members.delete(node)
  }
}

const newcomer = (node: NodeId, pulse: Pulse, latest: number): Member => ({
  node,
  pulse,
  status: 'joining',
  reason: undefined,
  latest,
  upAt: -Infinity,
  refusedAt: -Infinity,
  credible: true,
})
