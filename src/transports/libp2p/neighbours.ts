import type { NodeId } from '../../core/frame.ts'

/**
 * What is known of a connected peer that is no neighbour: nothing, that it speaks our sync protocol but does not gossip with
 * us, or that it does not speak it.
 */
export type Standing = 'unidentified' | 'mute' | 'foreign'

export interface NeighbourEvents {
  connected(peer: NodeId): void
  disconnected(peer: NodeId): void
  /** The peer has been connected for the whole grace, or one more, and is no neighbour. */
  stranger(peer: NodeId, standing: Standing): void
  /** The peer is subscribed, but what identify said of it does not list our protocol: ask again. */
  outdated(peer: NodeId): void
}

export interface NeighbourRules {
  readonly syncProtocol: string
  readonly graceMs: number
  isSubscribed(peer: NodeId): boolean
  reaches(peer: NodeId): boolean
}

interface Candidate {
  protocols: readonly string[] | undefined
  neighbour: boolean
  asked: boolean
  readonly grace: NodeJS.Timeout
  poll: NodeJS.Timeout | undefined
}

/** Gossipsub opens its stream without saying so; first looks are close because it takes a round trip. */
const FIRST_POLL_MS = 1
const LAST_POLL_MS = 64

/**
 * Which connected peers are neighbours: subscribed to our topic, reached by our gossip stream, and speaking our
 * sync protocol. Told what happens, tells what follows.
 */
export class Neighbours {
  readonly #candidates = new Map<NodeId, Candidate>()
  readonly #rules: NeighbourRules
  readonly #events: NeighbourEvents

  constructor(rules: NeighbourRules, events: NeighbourEvents) {
    this.#rules = rules
    this.#events = events
  }

  list(): readonly NodeId[] {
    return [...this.#candidates].flatMap(([peer, { neighbour }]) => (neighbour ? [peer] : []))
  }

  has(peer: NodeId): boolean {
    return this.#candidates.get(peer)?.neighbour === true
  }

  isConnected(peer: NodeId): boolean {
    return this.#candidates.has(peer)
  }

  get connections(): number {
    return this.#candidates.size
  }

  opened(peer: NodeId): void {
    if (this.#candidates.has(peer)) return
    // Again and again while it stays: a brought node hangs nobody up, and what one look does not show the next may.
    const grace = setInterval(() => {
      if (!this.has(peer)) this.#events.stranger(peer, this.#standing(peer))
    }, this.#rules.graceMs)
    grace.unref()
    this.#candidates.set(peer, {
      protocols: undefined,
      neighbour: false,
      asked: false,
      grace,
      poll: undefined,
    })
    this.look(peer)
  }

  identified(peer: NodeId, protocols: readonly string[]): void {
    this.opened(peer)
    const candidate = this.#candidates.get(peer)
    if (candidate === undefined) return
    candidate.protocols = protocols
    this.look(peer)
  }

  /** @returns whether the peer was a neighbour */
  closed(peer: NodeId): boolean {
    const candidate = this.#candidates.get(peer)
    if (candidate === undefined) return false
    this.#candidates.delete(peer)
    clearInterval(candidate.grace)
    clearTimeout(candidate.poll)
    if (candidate.neighbour) this.#events.disconnected(peer)
    return candidate.neighbour
  }

  stop(): void {
    for (const { grace, poll } of this.#candidates.values()) {
      clearInterval(grace)
      clearTimeout(poll)
    }
    this.#candidates.clear()
  }

  /** Something about the peer changed: decides anew. */
  look(peer: NodeId, pollMs = FIRST_POLL_MS): void {
    const candidate = this.#candidates.get(peer)
    if (candidate === undefined) return
    clearTimeout(candidate.poll)
    const subscribed = this.#rules.isSubscribed(peer)
    if (candidate.neighbour) {
      if (subscribed) return
      candidate.neighbour = false
      this.#events.disconnected(peer)
      return
    }
    if (!subscribed || candidate.protocols === undefined) return
    if (!this.#speaks(peer)) {
      if (!candidate.asked) this.#events.outdated(peer)
      candidate.asked = true
      return
    }
    if (this.#rules.reaches(peer)) {
      candidate.neighbour = true
      this.#events.connected(peer)
      return
    }
    candidate.poll = setTimeout(() => this.look(peer, Math.min(2 * pollMs, LAST_POLL_MS)), pollMs)
    candidate.poll.unref()
  }

  #standing(peer: NodeId): Standing {
    if (this.#candidates.get(peer)?.protocols === undefined) return 'unidentified'
    return this.#speaks(peer) ? 'mute' : 'foreign'
  }

  #speaks(peer: NodeId): boolean {
    return this.#candidates.get(peer)?.protocols?.includes(this.#rules.syncProtocol) === true
  }
}
