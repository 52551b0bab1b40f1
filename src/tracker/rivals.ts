import type { NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Member, Membership } from '../core/membership.ts'
import type { Replica } from '../core/replica.ts'
import type { Directory } from './directory.ts'
import { NODE_TOPIC } from './node-entry.ts'
import type { Transport } from './ports.ts'

/** Which nodes may be one another's former lives: those of one name, or at one place. Only tells; changes nothing. */
export class Rivals {
  readonly #transport: Transport
  readonly #replica: Replica<Json>
  readonly #membership: Membership
  readonly #directory: Directory

  constructor(transport: Transport, replica: Replica<Json>, membership: Membership, directory: Directory) {
    this.#transport = transport
    this.#replica = replica
    this.#membership = membership
    this.#directory = directory
  }

  /** Others that are up and bear its name, or are shown at its place. */
  of(owner: NodeId): NodeId[] {
    const holder = this.holderOf(owner)
    const rivals = new Set([...this.namesakes(owner), ...(holder === undefined ? [] : [holder.node])])
    return [...rivals].filter((node) => this.#membership.get(node)?.status === 'up')
  }

  /** Others that are shown under its name. */
  namesakes(owner: NodeId): NodeId[] {
    const { name } = this.#directory.get(owner)
    const shown = this.#replica.getByKey(NODE_TOPIC, name).map(({ node }) => node)
    return shown.filter((node) => node !== owner)
  }

  /** This node lives there, and has no connection to it: the owner is one that lived there before. */
  isAtOurPlace(owner: NodeId): boolean {
    return !this.isNeighbour(owner) && this.#directory.isAt(owner, this.#transport.addresses())
  }

  /** The other node that is up at its place. */
  holderOf(owner: NodeId): Member | undefined {
    const holder = this.#directory.holderOfPlace(owner)
    const member = holder === undefined ? undefined : this.#membership.get(holder)
    return member?.status === 'up' ? member : undefined
  }

  /** We are connected with it. */
  isNeighbour(node: NodeId): boolean {
    return this.#transport.neighbours().includes(node)
  }
}
