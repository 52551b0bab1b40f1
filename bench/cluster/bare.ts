import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { defaultNodeSettings } from '../../src/transports/libp2p/default-node.ts'
import type { NodeLike, PubsubLike } from '../../src/transports/libp2p/libp2p-like.ts'
import { resolveMeshOptions, resolveNodeOptions } from '../../src/transports/libp2p/options.ts'
import { providePromiseWithResolvers } from '../../src/transports/libp2p/polyfill.ts'
import { serve } from '../../test/processes/served.ts'
import { collectGarbage } from '../services.ts'

// What an idle node is compared with: the same libp2p node, subscribed to a topic on which nobody says anything. In place of
// the tracker's probes, libp2p's own monitor looks after its connections, as often as it can without false alarms.
const MONITOR = { pingInterval: 3_000, pingTimeout: { minTimeout: 3_000, maxTimeout: 6_000 } }

let node: NodeLike | undefined

const commands = {
  async open() {
    providePromiseWithResolvers()
    const settings = await defaultNodeSettings(resolveNodeOptions({}), resolveMeshOptions({}), {
      turnedAway: () => undefined,
    })
    node = await createLibp2p({ ...settings, connectionMonitor: MONITOR })
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
