import type { NodeId } from '../../src/core/frame.ts'
import {
  cluster,
  SimNode,
  simAddress,
  type SimNodeOptions,
  type SimulatedNetwork,
} from '../../src/testing/index.ts'
import { decodeSyncMessage } from '../../src/wire/sync-message.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { Monitor } from '../../src/tracker/monitor.ts'
import { PERIODS } from './phoenix-roster.ts'

export const TOPIC = 'lobby'

/** Whoever forgets an open monitor loses its entries to the garbage collector. */
const kept: Monitor[] = []

/** A monitor that stays open until it is closed. */
export function open(): Monitor {
  const monitor = new Monitor()
  kept.push(monitor)
  return monitor
}

/** Their three nodes; whoever starts later joins the primary. */
export const NAMES = ['primary', 'node1', 'node2'] as const

export const start = (net: SimulatedNetwork, name: string, options: SimNodeOptions = {}): Promise<SimNode> =>
  SimNode.start({
    net,
    name,
    join: [simAddress('primary'), simAddress('node1')],
    options: { ...PERIODS, ...options },
  })

/** Nodes that all see each other up. */
export async function started(
  net: SimulatedNetwork,
  count: 1 | 2 | 3,
  options: SimNodeOptions = {},
): Promise<[SimNode, SimNode, SimNode]> {
  const nodes = await cluster(count, { net, names: NAMES, ...PERIODS, ...options })
  return nodes as [SimNode, SimNode, SimNode]
}

/** Keys that a node shows under the topic of these tests. */
export const list = (node: SimNode, topic = TOPIC): string[] =>
  node.tracker
    .list(topic)
    .map(({ key }) => key)
    .sort()

/** What a node has reported of entries, in order: `+key`, `-key (reason)`, `~key`. */
export const changes = (node: SimNode): string[] =>
  node
    .events('diff')
    .flatMap(({ payload: [{ joins, leaves, updates, reason }] }) => [
      ...leaves.map((entry) => ({
        entry,
        text: `-${entry.key}${reason === undefined ? '' : ` (${reason})`}`,
      })),
      ...joins.map((entry) => ({ entry, text: `+${entry.key}` })),
      ...updates.map(({ entry }) => ({ entry, text: `~${entry.key}` })),
    ])
    .filter(({ entry }) => entry.topic !== '$node')
    .map(({ text }) => text)

/** What a node knows of another one's life; undefined when it has never heard of it, or forgotten it. */
export const lifeOf = (observer: SimNode, id: NodeId) => {
  const info = observer.tracker.nodes().find((node) => node.id === id)
  return (
    info && { status: info.status, reason: info.reason, incarnation: info.incarnation, entries: info.entries }
  )
}

/** Counts the frames that syncs carry from now on, as `owner to receiver`. */
export function countFrames(net: SimulatedNetwork): string[] {
  const frames: string[] = []
  net.tap(({ kind, payload, to, delaysMs }) => {
    if (kind !== 'sync' || payload === undefined || delaysMs.length === 0) return
    const message = decodeSyncMessage(payload, WIRE_LIMITS)
    if (message.kind === 'chunk' && message.last) frames.push(`${message.owner} to ${to}`)
  })
  return frames
}
