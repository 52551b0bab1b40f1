import type { NodeId } from '../core/frame.ts'
import type { Membership } from '../core/membership.ts'
import { encodeHint, type Hint } from '../wire/gossip.ts'
import type { TrafficTally } from './traffic-tally.ts'
import type { ResolvedTrackerOptions } from './options.ts'
import type { Timer } from './ports.ts'
import type { Prober } from './prober.ts'
import type { Roster } from './roster.ts'

/** A hint waits for a random part of this, ms, and is not given when another gives it first. */
const HINT_DELAY_MS = 100
/** Who is hinted at is looked at after a random part of this, ms, so that not all do at once. */
const LOOK_DELAY_MS = 200
/** A node is looked at on a hint at most once in this time, ms: more hints at it cost nothing. */
const LOOK_INTERVAL_MS = 5_000
/** Looks on hints at once; hints beyond that are passed over. */
const MAX_LOOKS = 16
/** Hints remembered, so that none is given twice. */
const MAX_HINTS = 256
/** A node that is looked for is dialled again after one probe period, two, four, … up to so many. */
const MOST_PERIODS = 8

/**
 * Looks after nodes that probes over a connection do not reach: those whose connection is gone, and those at which others
 * hint. Each node judges by what it finds itself; a hint only says where to look, and asks its subject to speak.
 */
export class Lookout {
  readonly #options: ResolvedTrackerOptions
  readonly #membership: Membership
  readonly #roster: Roster
  readonly #prober: Prober
  readonly #tally: TrafficTally
  /** When a life was last hinted at, by anyone. Oldest first. */
  readonly #hints = new Map<string, number>()
  /** When a node was last looked at on a hint. */
  readonly #looks = new Map<NodeId, number>()
  /** Nodes whose connection is gone. */
  readonly #lost = new Set<NodeId>()
  /** The searches for nodes, until they are found or down. */
  readonly #searches = new Map<NodeId, symbol>()
  readonly #timers = new Set<Timer>()
  #looking = 0
  #closed = false

  constructor(
    options: ResolvedTrackerOptions,
    membership: Membership,
    roster: Roster,
    prober: Prober,
    tally: TrafficTally,
  ) {
    this.#options = options
    this.#membership = membership
    this.#roster = roster
    this.#prober = prober
    this.#tally = tally
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  connected(node: NodeId): void {
    this.#lost.delete(node)
    // What waits to dial it again would not begin at once when it is lost again.
    this.#searches.delete(node)
  }

  disconnected(node: NodeId): void {
    if (this.#isUp(node)) this.#lost.add(node)
  }

  /** A node's connection is gone, and a new one is neither refused nor made. */
  unreachable(node: NodeId): void {
    if (!this.#lost.has(node) || this.#searches.has(node)) return
    // It was there until now, so what it answered before says nothing.
    void this.#ask(node, this.#now).then((isFound) => {
      if (!isFound) void this.#seek(node)
    })
  }

  /**
   * We have evidence of our own that a node is dead or hangs: tells those who are not connected to it.
   *
   * @param since - a hint that was given after it will do
   */
  hint(node: NodeId, since = this.#now - LOOK_INTERVAL_MS): void {
    const incarnation = this.#membership.get(node)?.pulse.incarnation
    const { transport, random } = this.#options
    if (incarnation === undefined) return
    const hint = { node, incarnation }
    void this.#after(HINT_DELAY_MS * random.next()).then(() => {
      if ((this.#hints.get(keyOf(hint)) ?? -Infinity) > since) return
      this.#remember(hint)
      const message = encodeHint(hint)
      this.#tally.send(message)
      void transport.publish(message)
    })
  }

  /** Another node hints at one. */
  hinted(hint: Hint): void {
    this.#remember(hint)
    const { node, incarnation } = hint
    if (!this.#isUp(node) || this.#membership.get(node)?.pulse.incarnation !== incarnation) return
    if (this.#isNeighbour(node) || this.#looking >= MAX_LOOKS) return
    if (this.#now - (this.#looks.get(node) ?? -Infinity) < LOOK_INTERVAL_MS) return
    this.#looking++
    this.#looks.set(node, this.#now)
    void this.#after(LOOK_DELAY_MS * this.#options.random.next())
      .then(() => this.#look(node))
      .then((isFound) => {
        this.#looking--
        if (!isFound) void this.#seek(node)
      })
  }

  tick(): void {
    for (const [node, at] of this.#looks) if (this.#now - at >= LOOK_INTERVAL_MS) this.#looks.delete(node)
    for (const node of this.#lost) if (!this.#isUp(node)) this.#lost.delete(node)
  }

  close(): void {
    this.#closed = true
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }

  /** Looks for a node, less and less often, until it is found or down. */
  async #seek(node: NodeId): Promise<void> {
    if (this.#searches.has(node)) return
    const search = Symbol(node)
    this.#searches.set(node, search)
    const { probePeriodMs, random } = this.#options
    const isOn = (): boolean => this.#searches.get(node) === search && this.#isMissing(node)
    for (let periods = 1; isOn(); periods = Math.min(2 * periods, MOST_PERIODS)) {
      await this.#after(probePeriodMs * periods * (0.75 + 0.25 * random.next()))
      if (!isOn() || (await this.#look(node))) break
    }
    if (this.#searches.get(node) === search) this.#searches.delete(node)
  }

  /** Dials it. Returns true when it was found, dead or alive. */
  async #look(node: NodeId): Promise<boolean> {
    if (!this.#isMissing(node)) return true
    const verdict = await this.#options.transport.examine(node)
    if (verdict === 'unknown') return await this.#ask(node)
    if (verdict === 'refused') this.#roster.refuse(node)
    else this.#roster.vouch(node)
    return true
  }

  /** Asks a few others, and the node itself by a hint; it is suspect when none answers. Returns true when it is found. */
  async #ask(node: NodeId, hintSince?: number): Promise<boolean> {
    const { probeTimeoutMs } = this.#options
    const askedAt = this.#now
    const isKnown = await this.#prober.consult(node)
    if (!isKnown) {
      this.hint(node, hintSince)
      await this.#after(HINT_DELAY_MS + probeTimeoutMs)
    }
    const member = this.#membership.get(node)
    if (member === undefined || !this.#isMissing(node)) return true
    const { heardAt, incarnation } = member.pulse
    // It answers the last hint, which may be another's and older than the question, unless it has just spoken.
    const hintedAt = this.#hints.get(keyOf({ node, incarnation })) ?? this.#now
    if (isKnown || heardAt >= hintedAt - probeTimeoutMs) this.#roster.vouch(node)
    else this.#roster.suspect(node, 'unreachable')
    return isKnown || heardAt >= askedAt
  }

  #isUp(node: NodeId): boolean {
    return this.#membership.get(node)?.status === 'up'
  }

  #isNeighbour(node: NodeId): boolean {
    return this.#options.transport.neighbours().includes(node)
  }

  /** It counts as up, and nothing connects us with it. */
  #isMissing(node: NodeId): boolean {
    return !this.#closed && this.#isUp(node) && !this.#isNeighbour(node)
  }

  #remember(hint: Hint): void {
    const key = keyOf(hint)
    this.#hints.delete(key)
    this.#hints.set(key, this.#now)
    const [oldest] = this.#hints.keys()
    if (this.#hints.size > MAX_HINTS && oldest !== undefined) this.#hints.delete(oldest)
  }

  /** Resolves after a while; never once this has closed. */
  #after(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(() => {
        this.#timers.delete(timer)
        resolve()
      }, ms)
      if (this.#closed) timer.cancel()
      else this.#timers.add(timer)
    })
  }
}

const keyOf = ({ node, incarnation }: Hint): string => `${node}/${incarnation}`
