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

  /** Makes the node the holder of its addresses. Returns the nodes that held them. */
  claimAddresses(node: NodeId): NodeId[] {
    const former: NodeId[] = []
    for (const address of this.get(node).addresses) {
      const holder = this.#holders.get(address)
      if (holder !== undefined && holder !== node) former.push(holder)
      this.#holders.set(address, node)
    }
    return former
  }

  delete(node: NodeId): void {
    for (const address of this.get(node).addresses) {
      if (this.#holders.get(address) === node) this.#holders.delete(address)
    }
    this.#facts.delete(node)
  }
}
