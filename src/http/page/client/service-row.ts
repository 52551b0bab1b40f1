import type { Instance } from '../../../registry/types.ts'
import type { Doubt, NodeInfo } from '../../../tracker/types.ts'
import type { Cell, Tag, Tone } from './cell.ts'
import { matches } from './filter.ts'
import { dayAndTime } from './moment.ts'
import { nodeLabel } from './node-name.ts'

/** An instance, and what speaks against it. */
export interface ServiceRow {
  readonly instance: Instance
  /** It is not found any more, and stands in for what was. */
  readonly stale: boolean
  /** Of its node. */
  readonly doubt: Doubt | 'down' | undefined
}

/** All instances by name, those that stand in among them. */
export function serviceRows(
  instances: readonly Instance[],
  standIns: readonly Instance[],
  nodes: readonly NodeInfo[],
): ServiceRow[] {
  const stale = new Set(standIns.map(({ id }) => id))
  const seen = new Set(instances.map(({ id }) => id))
  const hidden = standIns.filter(({ id }) => !seen.has(id))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  return [...instances, ...hidden]
    .sort((a, b) => compare(a.name, b.name))
    .map((instance) => ({
      instance,
      stale: stale.has(instance.id),
      doubt: doubtOf(byId.get(instance.node)),
    }))
}

export const SERVICE_COLUMNS = ['Service', 'Version', 'State', 'Node', 'Address', 'Zone', 'Since'] as const

export function serviceCells({ instance, stale, doubt }: ServiceRow): Cell[] {
  const { name, version, state, reason, node, nodeName, address, zone, since } = instance
  const tags: Tag[] = [{ text: state, tone: STATE_TONES.get(state) ?? 'warn' }]
  if (stale) tags.push({ text: 'stale', tone: 'bad' })
  return [
    { text: name },
    { text: version },
    { tags, note: reason === state ? undefined : reason },
    {
      text: nodeLabel(node, nodeName),
      tags: doubt === undefined ? [] : [{ text: doubt, tone: doubt === 'down' ? 'bad' : 'warn' }],
    },
    { text: address },
    { text: zone },
    { text: dayAndTime(since) },
  ]
}

/** Whether a row has every word of a filter in its name, version, state, node, address or zone. */
export function serviceMatches(filter: string, { instance, stale, doubt }: ServiceRow): boolean {
  const { name, version, state, node, nodeName, address, zone } = instance
  return matches(filter, [name, version, state, node, nodeName, address, zone, stale ? 'stale' : '', doubt])
}

const STATE_TONES: ReadonlyMap<string, Tone> = new Map<string, Tone>([
  ['ready', 'good'],
  ['starting', 'mild'],
  ['draining', 'mild'],
])

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function doubtOf(node: NodeInfo | undefined): ServiceRow['doubt'] {
  if (node?.status !== 'up') return node?.status
  return node.suspect ?? (node.flapping ? 'flapping' : undefined)
}
