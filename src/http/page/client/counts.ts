import type { NodeInfo } from '../../../tracker/types.ts'
import { isDoubted } from './node-row.ts'
import type { ServiceRow } from './service-row.ts'

/** How many there are of what. */
export interface Counts {
  /** Names. */
  readonly services: number
  readonly ready: number
  readonly notReady: number
  readonly up: number
  readonly doubted: number
  readonly down: number
}

/** Counts what is here: not the instances on nodes that are down, which only stand in. */
export function countsOf(rows: readonly ServiceRow[], nodes: readonly NodeInfo[]): Counts {
  const instances = rows.filter(({ doubt }) => doubt !== 'down').map(({ instance }) => instance)
  const ready = instances.filter(({ state }) => state === 'ready').length
  const up = nodes.filter(({ status }) => status === 'up').length
  return {
    services: new Set(instances.map(({ name }) => name)).size,
    ready,
    notReady: instances.length - ready,
    up,
    doubted: nodes.filter(isDoubted).length,
    down: nodes.length - up,
  }
}
