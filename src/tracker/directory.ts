import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { NODE_TOPIC, readFacts, UNKNOWN_FACTS, type NodeFacts } from './node-entry.ts'

/** What every known node last said of itself, and who claims which address. Every operation costs the node's addresses. */
export class Directory {
  readonly #facts = new Map<NodeId, NodeFacts>()
  /** The node that was last shown with an address. */
  readonly #holders = new Map<string, NodeId>()

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
}
