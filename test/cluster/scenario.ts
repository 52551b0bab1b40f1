import { expect } from 'vitest'
import type { NodeId } from '../../src/core/frame.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { simulate } from '../../src/testing/index.ts'
import type {
  NodeEventName,
  Passage,
  RecordedEvent,
  SimNode,
  SimulatedNetwork,
  SimulatedNetworkOptions,
} from '../../src/testing/index.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { decodeSyncMessage } from '../../src/wire/sync-message.ts'
import type { ChunkMessage } from '../../src/wire/sync-message.ts'

/** The default `broadcastPeriodMs`. */
export const PERIOD_MS = 1_500

export type Two = [SimNode, SimNode]
export type Three = [SimNode, SimNode, SimNode]
export type Four = [SimNode, SimNode, SimNode, SimNode]
export type Five = [SimNode, SimNode, SimNode, SimNode, SimNode]

export interface Offer {
  readonly name: string
  readonly version: string
  readonly metadata: JsonObject
}

export const service = (name: string, metadata: JsonObject = {}): Offer => ({
  name,
  version: '1.0.0',
  metadata,
})

/** Runs a scenario once for each seed, from 1. A failure names the seed that replays it. */
export async function onSeeds(
  count: number,
  faults: Omit<SimulatedNetworkOptions, 'seed'>,
  scenario: (net: SimulatedNetwork) => Promise<void>,
): Promise<void> {
  for (let seed = 1; seed <= count; seed++) await simulate({ ...faults, seed }, scenario)
}

/** The network that a case about loss is tried on: all that gossip can do to a message. */
export const ROUGH = { loss: 0.2, repeat: 0.1, reorder: 0.1, delayMs: [1, 50] } as const

const TOLD = [
  'service_up',
  'service_changed',
  'service_down',
  'node_up',
  'node_down',
  'node_purged',
  'isolated',
  'rejected',
  'service_rejected',
  'name_conflict',
  'error',
] as const satisfies readonly NodeEventName[]

/** Event names in which a node tells of coming and going, about these ids or about anyone, in order. */
export function told(node: SimNode, ...about: readonly NodeId[]): string[] {
  return node
    .events()
    .filter((event) => (TOLD as readonly string[]).includes(event.name))
    .filter((event) => about.length === 0 || (event.about !== undefined && about.includes(event.about)))
    .map(({ name }) => name)
}

type ServiceEventName = 'service_up' | 'service_changed' | 'service_down'

export const instanceOf = ({ payload: [{ instance }] }: RecordedEvent<ServiceEventName>) => instance

/** The life that an instance belongs to, out of its id. */
export const incarnationOf = (instanceId: string): number => Number(instanceId.split('/')[1])

/**
 * What listeners may rely on, over all that a node has told: per instance `up`, any `changed`, `down`, each once in a
 * turn; and of one owner nothing of an earlier life after anything of a later one.
 */
export function expectOrderly(node: SimNode): void {
  const shown = new Set<string>()
  const latest = new Map<NodeId, number>()
  for (const event of node.events()) {
    if (!isServiceEvent(event)) continue
    const { id, node: owner } = instanceOf(event)
    const incarnation = incarnationOf(id)
    if (event.name !== 'service_down') {
      expect(incarnation, `${node.name} shows ${id}, of a former life`).toBeGreaterThanOrEqual(
        latest.get(owner) ?? 0,
      )
      latest.set(owner, incarnation)
    }
    expect(shown.has(id), `${node.name}: ${event.name} of ${id}`).toBe(event.name !== 'service_up')
    if (event.name === 'service_up') shown.add(id)
    if (event.name === 'service_down') shown.delete(id)
  }
}

const isServiceEvent = (event: RecordedEvent): event is RecordedEvent<ServiceEventName> =>
  event.name === 'service_up' || event.name === 'service_changed' || event.name === 'service_down'

/** Collects the frames that syncs carry from now on. In step with the network, so clear it by `length = 0`. */
export function tapChunks(net: SimulatedNetwork): ChunkMessage[] {
  const chunks: ChunkMessage[] = []
  net.tap(({ kind, payload }: Passage) => {
    if (kind !== 'sync' || payload === undefined) return
    const message = decodeSyncMessage(payload, WIRE_LIMITS)
    if (message.kind === 'chunk') chunks.push(message)
  })
  return chunks
}

/** The metadata of every instance of a name that a node returns, lowest node first. */
export function metadataAt(node: SimNode, name: string): JsonObject[] {
  return [...node.registry.lookupAll(name)]
    .sort((a, b) => (a.node < b.node ? -1 : 1))
    .map(({ metadata }) => metadata)
}
