import type { Transport } from '../../tracker/ports.ts'
import type { Libp2pNode } from './libp2p-like.ts'
import {
  checkStateFile,
  resolveMeshOptions,
  resolveNodeOptions,
  type FromLibp2pOptions,
  type Libp2pTransportOptions,
} from './options.ts'
import { providePromiseWithResolvers } from './polyfill.ts'
import { checkStack } from './stack-check.ts'
import type { Door } from './reports.ts'
import { Libp2pTransport } from './transport.ts'

/**
 * The default transport: a libp2p node of its own, over TCP, encrypted, authenticated, with signed gossip.
 *
 * Throws `ROLLCALL_INVALID_OPTION`, `ROLLCALL_INVALID_ADDRESS` or `ROLLCALL_IDENTITY_FILE`.
 */
export async function libp2pTransport(options: Libp2pTransportOptions = {}): Promise<Transport> {
  const mesh = resolveMeshOptions(options)
  const own = resolveNodeOptions(options)
  await checkStateFile(mesh, own.identityFile)
  providePromiseWithResolvers()
  // Loaded only now: libp2p needs what the line above provides, and who brings a node need not load it at all.
  const { createDefaultNode } = await import('./default-node.ts')
  const door: Door = { turnedAway: () => undefined }
  const node = await createDefaultNode(own, mesh, door)
  return new Libp2pTransport(checkStack(node, 'pubsub'), mesh, { own: true, door })
}

/**
 * Runs on a libp2p node that the caller brings, started or not: libp2p 2 with @chainsafe/libp2p-gossipsub 14, or
 * libp2p 3 with @libp2p/gossipsub 17. The node is stopped with the transport only if the transport started it.
 *
 * What the default node sets, the caller has to set; above ten nodes on one host that is at least
 * `scoreParams: { IPColocationFactorWeight: 0 }`, without which gossipsub delivers nothing and says nothing.
 *
 * Throws `ROLLCALL_INVALID_OPTION`, `ROLLCALL_INVALID_ADDRESS`, or `ROLLCALL_STACK_MISMATCH` for parts that do not
 * work together.
 */
export async function fromLibp2p(node: Libp2pNode, options: FromLibp2pOptions = {}): Promise<Transport> {
  const mesh = resolveMeshOptions(options)
  const stack = checkStack(node, options.pubsub ?? 'pubsub')
  await checkStateFile(mesh)
  providePromiseWithResolvers()
  return new Libp2pTransport(stack, mesh, { own: false })
}
