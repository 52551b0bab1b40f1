import type { Instance } from '../../../src/registry/types.ts'
import type { NodeInfo } from '../../../src/tracker/types.ts'

/** An instance as the server sends it, with these fields. */
export const instance = (fields: Partial<Instance> = {}): Instance => ({
  id: 'n1/1/1',
  name: 'Mail',
  version: '1.2.0',
  node: 'n1',
  nodeName: 'post-1',
  address: undefined,
  state: 'ready',
  reason: undefined,
  zone: undefined,
  weight: 1,
  since: 0,
  functions: {},
  timeoutMs: 5_000,
  retry: { limit: 0, afterMs: 0 },
  capabilities: {},
  metadata: {},
  ...fields,
})

export const node = (fields: Partial<NodeInfo> = {}): NodeInfo => ({
  id: 'n1',
  name: 'post-1',
  self: false,
  status: 'up',
  reason: undefined,
  incarnation: 1,
  addresses: [],
  zone: undefined,
  library: '0.1.0',
  entries: 1,
  silentMs: 0,
  suspect: undefined,
  flapping: false,
  ...fields,
})
