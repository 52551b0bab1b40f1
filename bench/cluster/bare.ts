import { multiaddr } from '@multiformats/multiaddr'
import { createDefaultNode } from '../../src/transports/libp2p/default-node.ts'
import type { NodeLike, PubsubLike } from '../../src/transports/libp2p/libp2p-like.ts'
import { resolveMeshOptions, resolveNodeOptions } from '../../src/transports/libp2p/options.ts'
import { providePromiseWithResolvers } from '../../src/transports/libp2p/polyfill.ts'
import { serve } from '../../test/processes/served.ts'
import { collectGarbage } from '../services.ts'

// What an idle node is compared with: the same libp2p node, subscribed to a topic on which nobody says anything.

let node: NodeLike | undefined

const commands = {
  async open() {
    providePromiseWithResolvers()
    const made = await createDefaultNode(resolveNodeOptions({}), resolveMeshOptions({}), {
      turnedAway: () => undefined,
    })
    node = made as NodeLike
    await node.start()
    const { pubsub } = node.services as { pubsub: PubsubLike }
    pubsub.subscribe('idle')
    return { address: String(node.getMultiaddrs()[0]) }
  },

  async dial(address: string): Promise<void> {
    await node?.dial([multiaddr(address)], { signal: AbortSignal.timeout(10_000) })
  },

  connections: () => node?.getConnections().length ?? 0,

  collect(): void {
    collectGarbage()
  },
}

export type BareCommands = typeof commands

serve(commands)
