import type { NodeInfo } from '../../../tracker/types.ts'
import type { Api } from './api.ts'
import { serviceRows } from './service-row.ts'
import type { ServiceRow } from './service-row.ts'
import type { StandIns } from './stand-ins.ts'

/** All that the page shows of one moment, but for the events. */
export interface Picture {
  /** Of the node that answers. */
  readonly self: { readonly id: string; readonly name: string }
  readonly degraded: boolean
  readonly services: readonly ServiceRow[]
  readonly nodes: readonly NodeInfo[]
}

export async function readPicture(api: Api, standIns: StandIns): Promise<Picture> {
  const [{ node, degraded, services }, nodes, stale] = await Promise.all([
    api.services(),
    api.nodes(),
    standIns.read(),
  ])
  return { self: node, degraded, services: serviceRows(services, stale, nodes), nodes }
}
