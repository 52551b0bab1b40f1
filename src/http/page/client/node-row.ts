import type { NodeInfo } from '../../../tracker/types.ts'
import type { Cell, Tag } from './cell.ts'
import { span } from './moment.ts'
import { nodeLabel } from './node-name.ts'

export const NODE_COLUMNS = [
  'Node',
  'Status',
  'Last heard',
  'Zone',
  'Entries',
  'Addresses',
  'Library',
] as const

export function nodeCells(node: NodeInfo): Cell[] {
  const { id, name, self, silentMs, zone, entries, addresses, library } = node
  return [
    { text: nodeLabel(id, name), note: id },
    { tags: statusTags(node), note: node.reason },
    { text: self ? 'this node' : `${span(silentMs)} ago` },
    { text: zone },
    { text: String(entries) },
    // Which node they lead to is said already.
    { text: addresses.map((address) => address.replace(`/p2p/${id}`, '')).join('\n') },
    { text: library },
  ]
}

function statusTags({ status, suspect, flapping }: NodeInfo): Tag[] {
  if (status === 'down') return [{ text: 'down', tone: 'bad' }]
  const tags: Tag[] = [{ text: 'up', tone: 'good' }]
  if (suspect !== undefined) tags.push({ text: suspect, tone: 'warn' })
  if (flapping) tags.push({ text: 'flapping', tone: 'warn' })
  return tags
}

/** Whether lookups prefer others. */
export const isDoubted = ({ status, suspect, flapping }: NodeInfo): boolean =>
  status === 'up' && (suspect !== undefined || flapping)
