import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Member, Membership } from '../core/membership.ts'
import { NO_HEAD } from '../core/owner-state.ts'
import type { Replica } from '../core/replica.ts'
import type { Doubts } from './doubts.ts'
import { NODE_TOPIC, readFacts, UNKNOWN_FACTS, type NodeFacts } from './node-entry.ts'
import type { Clock } from './ports.ts'
import type { NodeInfo } from './types.ts'

/**
 * A place is all the addresses of a node: single ones may be the same on many hosts, as those of a container bridge are.
 */
const placeOf = (addresses: readonly string[]): string => [...addresses].sort().join(' ')

type Doubted = Pick<NodeInfo, 'suspect' | 'flapping'>

/**
 * What can be told of every known node: what it last said of itself, its state here, and who was last shown at which
 * place. Every operation but `all` costs the node's addresses.
 */
export class Directory {
  readonly #self: NodeId
  readonly #clock: Clock
  readonly #replica: Replica<Json>
  readonly #membership: Membership
  readonly #doubts: Doubts
  readonly #facts = new Map<NodeId, NodeFacts>()
  /** The node that was last shown at a place. */
  readonly #holders = new Map<string, NodeId>()

  constructor(self: NodeId, clock: Clock, replica: Replica<Json>, membership: Membership, doubts: Doubts) {
    this.#self = self
    this.#clock = clock
    this.#replica = replica
    this.#membership = membership
    this.#doubts = doubts
  }

  /** This node first, then every other that is known here, joining ones excluded. */
  all(): NodeInfo[] {
    const infos = [this.#selfInfo()]
    for (const member of this.#membership.all())
      if (member.status !== 'joining') infos.push(this.info(member))
    return infos
  }

  infoOf(node: NodeId): NodeInfo | undefined {
    if (node === this.#self) return this.#selfInfo()
    const member = this.#membership.get(node)
    return member === undefined ? undefined : this.info(member)
  }

  info({ node, status, reason, pulse }: Member): NodeInfo {
    return this.#describe(node, {
      self: false,
      status: status === 'up' ? 'up' : 'down',
      reason,
      incarnation: pulse.incarnation,
      silentMs: this.#clock.now() - pulse.heardAt,
    })
  }

  /** Ms since a node was last heard; 0 for this one, and for one that is not known. */
  silenceOf(node: NodeId): number {
    const member = this.#membership.get(node)
    return member === undefined ? 0 : this.#clock.now() - member.pulse.heardAt
  }

  get(node: NodeId): NodeFacts {
    return this.#facts.get(node) ?? UNKNOWN_FACTS
  }

  /** Reads an entry if it is one about its owner. Returns the facts then. */
  read(entry: Entry<Json>): NodeFacts | undefined {
    if (entry.topic !== NODE_TOPIC) return undefined
    const facts = readFacts(entry)
    this.#leavePlace(entry.node)
    this.#facts.set(entry.node, facts)
    return facts
  }

  /** The other node that was last shown at the place of this one. */
  holderOfPlace(node: NodeId): NodeId | undefined {
    const holder = this.#holders.get(placeOf(this.get(node).addresses))
    return holder === node ? undefined : holder
  }

  /** Makes the node the holder of its place. */
  claimPlace(node: NodeId): void {
    const { addresses } = this.get(node)
    if (addresses.length > 0) this.#holders.set(placeOf(addresses), node)
  }

  /** Whether a node lives where these addresses lead. */
  isAt(node: NodeId, addresses: readonly string[]): boolean {
    const own = this.get(node).addresses
    return own.length > 0 && placeOf(own) === placeOf(addresses)
  }

  delete(node: NodeId): void {
    this.#leavePlace(node)
    this.#facts.delete(node)
  }

  #leavePlace(node: NodeId): void {
    const place = placeOf(this.get(node).addresses)
    if (this.#holders.get(place) === node) this.#holders.delete(place)
  }

  #selfInfo(): NodeInfo {
    const { incarnation } = this.#replica.head(this.#self) ?? NO_HEAD
    return this.#describe(this.#self, {
      self: true,
      status: 'up',
      reason: undefined,
      incarnation,
      silentMs: 0,
    })
  }

  #describe(id: NodeId, life: Omit<NodeInfo, 'id' | 'entries' | keyof NodeFacts | keyof Doubted>): NodeInfo {
    const entries = Math.max(0, (this.#replica.state(id)?.entries.size ?? 0) - 1)
    const doubted: Doubted = { suspect: this.#doubts.suspicionOf(id), flapping: this.#doubts.isFlapping(id) }
    return Object.freeze({ id, ...this.get(id), ...life, ...doubted, entries })
  }
}
