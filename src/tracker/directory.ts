import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Member, Membership } from '../core/membership.ts'
import { NO_HEAD } from '../core/owner-state.ts'
import type { Replica } from '../core/replica.ts'
import type { Doubts } from './doubts.ts'
import { NODE_TOPIC, readFacts, UNKNOWN_FACTS, type NodeFacts } from './node-entry.ts'
import type { Clock } from './ports.ts'
import type { NodeInfo } from './types.ts'

type Doubted = Pick<NodeInfo, 'suspect' | 'flapping'>

/**
 * What can be told of every known node: what it last said of itself, its state here, and who was last shown with which
 * address. Every operation but `all` costs the node's addresses.
 */
export class Directory {
  readonly #self: NodeId
  readonly #clock: Clock
  readonly #replica: Replica<Json>
  readonly #membership: Membership
  readonly #doubts: Doubts
  readonly #facts = new Map<NodeId, NodeFacts>()
  /** The node that was last shown with an address. */
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

  get(node: NodeId): NodeFacts {
    return this.#facts.get(node) ?? UNKNOWN_FACTS
  }

  /** Reads an entry if it is one about its owner. Returns the facts then. */
  read(entry: Entry<Json>): NodeFacts | undefined {
    if (entry.topic !== NODE_TOPIC) return undefined
    const facts = readFacts(entry)
    this.#facts.set(entry.node, facts)
    return facts
  }

  /** The other nodes that were last shown with an address of this one. */
  holders(node: NodeId): NodeId[] {
    const holders = this.get(node).addresses.map((address) => this.#holders.get(address))
    return holders.filter((holder) => holder !== undefined && holder !== node).map(String)
  }

  /** Makes the node the holder of its addresses. */
  claimAddresses(node: NodeId): void {
    for (const address of this.get(node).addresses) this.#holders.set(address, node)
  }

  delete(node: NodeId): void {
    for (const address of this.get(node).addresses) {
      if (this.#holders.get(address) === node) this.#holders.delete(address)
    }
    this.#facts.delete(node)
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
