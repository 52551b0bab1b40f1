import type { SimulatedNetwork } from './network.ts'
import { SimNode, simAddress } from './sim-node.ts'
import type { SimNodeOptions } from './sim-node.ts'

export interface ClusterOptions extends SimNodeOptions {
  readonly net: SimulatedNetwork
  /** How many of the first nodes all join. More survive the loss of some. Default 2. */
  readonly seeds?: number
  /** Names in order. Default: a, b, c, … */
  readonly names?: readonly string[]
  /** Options of single nodes, by their place in the cluster, over the common ones. */
  readonly each?: (index: number) => SimNodeOptions
  /**
   * Virtual ms in which all must have met; the cluster is returned as soon as they have. 0: returned at once, before
   * anybody met. Default 10,000: ten tries of a dial, and a sync.
   */
  readonly formWithinMs?: number
}

const letters = (index: number): string =>
  index < 26 ? String.fromCharCode('a'.charCodeAt(0) + index) : `n${index + 1}`

/**
 * Starts a cluster of whole nodes on a simulated network. By default named a, b, c, …, at `simAddress(name)`, and
 * all have met when it resolves. Rejects with the seed when they do not meet in time.
 */
export async function cluster(count: number, options: ClusterOptions): Promise<SimNode[]> {
  const { net, seeds = 2, names, each, formWithinMs = 10_000, ...common } = options
  const named = Array.from({ length: count }, (_, index) => names?.[index] ?? letters(index))
  const join = named.slice(0, seeds).map(simAddress)
  const nodes: SimNode[] = []
  for (const [index, name] of named.entries()) {
    nodes.push(await SimNode.start({ net, name, join, options: { ...common, ...each?.(index) } }))
  }
  if (formWithinMs > 0) await net.until('all nodes have met', formWithinMs, () => haveMet(nodes))
  return nodes
}

/** Every one of these nodes sees every other one up. */
export function haveMet(nodes: readonly SimNode[]): boolean {
  return nodes.every((node) => {
    const up = new Set(
      node.tracker
        .nodes()
        .filter(({ status }) => status === 'up')
        .map(({ id }) => id),
    )
    return nodes.every(({ id }) => up.has(id))
  })
}
