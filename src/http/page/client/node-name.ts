import type { NodeInfo } from '../../../tracker/types.ts'

/** What to call a node: its name, or the end of its id as long as it has not said one. */
export const nodeLabel = (id: string, name: string): string => name || `…${id.slice(-8)}`

/** What finds this node and no other: its name, or its id when it shares the name. */
export const nodeKey = ({ id, name }: NodeInfo, nodes: readonly NodeInfo[]): string =>
  name !== '' && nodes.every((other) => other.id === id || other.name !== name) ? name : id
