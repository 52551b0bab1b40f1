import { createLibp2p } from 'libp2p'
import { createRegistry } from '../../src/index.ts'
import type { Registry, Transport } from '../../src/index.ts'
import { defaultNodeSettings } from '../../src/transports/libp2p/default-node.ts'
import { fromLibp2p } from '../../src/transports/libp2p/index.ts'
import type { NodeLike } from '../../src/transports/libp2p/libp2p-like.ts'
import { resolveMeshOptions, resolveNodeOptions } from '../../src/transports/libp2p/options.ts'
import { providePromiseWithResolvers } from '../../src/transports/libp2p/polyfill.ts'
import type { Door } from '../../src/transports/libp2p/reports.ts'
import { checkStack } from '../../src/transports/libp2p/stack-check.ts'
import { Libp2pTransport } from '../../src/transports/libp2p/transport.ts'
import { ANY_PORT, nodeOfLine3, type Setup } from '../processes/node.ts'

/** A node whose connections can be counted, dropped and cut. */
export interface OpenNode {
  readonly registry: Registry
  readonly transport: Transport
  readonly libp2p: NodeLike
}

/**
 * The node of a user of either line: the default one, or one of line 3 brought along. Only the gate is ours.
 *
 * @param cut - ids of peers that it cannot reach and that cannot reach it, as by a split
 * @param tap - overhears the transport before it starts
 */
export async function openNode(
  setup: Setup,
  cut: ReadonlySet<string>,
  tap: (transport: Transport) => void,
): Promise<OpenNode> {
  const { name, tracker } = setup
  const { libp2p, transport } = await (setup.line === 2 ? onLine2(setup, cut) : onLine3(setup, cut))
  tap(transport)
  return { registry: await createRegistry({ name, ...tracker, transport }), transport, libp2p }
}

type Parts = Omit<OpenNode, 'registry'>

async function onLine2(setup: Setup, cut: ReadonlySet<string>): Promise<Parts> {
  const { listen = ANY_PORT, join = [], identityFile } = setup
  const options = { ...setup.mesh, join, listen, ...(identityFile === undefined ? {} : { identityFile }) }
  const mesh = resolveMeshOptions(options)
  const door: Door = { turnedAway: () => undefined }
  providePromiseWithResolvers()
  const libp2p = await createLibp2p({
    ...(await defaultNodeSettings(resolveNodeOptions(options), mesh, door)),
    connectionGater: {
      denyDialMultiaddr: () => false,
      denyInboundEncryptedConnection: (peer) => cut.has(peer.toString()),
      denyOutboundEncryptedConnection: (peer) => cut.has(peer.toString()),
    },
  })
  const stack = checkStack(libp2p, 'pubsub')
  return { libp2p: stack.node, transport: new Libp2pTransport(stack, mesh, { own: true, door }) }
}

async function onLine3(setup: Setup, cut: ReadonlySet<string>): Promise<Parts> {
  const { listen = ANY_PORT, join = [], identityFile, mesh } = setup
  const libp2p = await nodeOfLine3({
    listen,
    turnsAway: (peer) => cut.has(peer),
    ...(identityFile === undefined ? {} : { identityFile }),
  })
  return {
    libp2p: checkStack(libp2p, 'pubsub').node,
    transport: await fromLibp2p(libp2p, { ...mesh, join }),
  }
}
