import { gossipsub } from '@chainsafe/libp2p-gossipsub'
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { identify } from '@libp2p/identify'
import { tcp } from '@libp2p/tcp'
import { createLibp2p } from 'libp2p'
import { createRegistry, type Registry } from 'rollcall'
import { fromLibp2p, type FromLibp2pOptions } from 'rollcall/libp2p'

// A registry on a libp2p node of your own: one that speaks your protocols too, or is set up in a way that no option
// of rollcall offers. Most of what is set here has a default that harms a cluster, and none of them says so.
// The versions go together: libp2p 2 with gossipsub 14, noise 16, yamux 7, tcp 10 and identify 3.

/** Not started: rollcall starts it, and stops what it has started. A node that you start yourself stays yours. */
function createNode() {
  return createLibp2p({
    start: false,
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    connectionManager: {
      // 5 a second from one host by default, so of a cluster on one host most dials are reset.
      inboundConnectionThreshold: 10_000,
      maxIncomingPendingConnections: 200,
      maxConnections: 2_000,
      // 10 s by default. Who does not answer within a few seconds is dialled again anyway, by rollcall.
      dialTimeout: 4_000,
      inboundUpgradeTimeout: 3_000,
      // Rollcall dials again by itself; libp2p's own queue gives up within a second.
      reconnectRetries: 0,
    },
    // A frozen peer is hung up after some 6 s instead of 12.
    connectionMonitor: { pingInterval: 3_000, pingTimeout: { minTimeout: 3_000, maxTimeout: 6_000 } },
    services: {
      identify: identify(),
      // Found under this name; another one is told as the option `pubsub` of fromLibp2p.
      pubsub: gossipsub({
        // Up to some 32 nodes a small mesh and flood publishing: one hop, few duplicates.
        ...{ D: 3, Dlo: 2, Dhi: 4, Dout: 1, Dscore: 1, Dlazy: 3, floodPublish: true },
        // Scores are for strangers. Above ten nodes on one host, they silence all of them, without an error.
        scoreParams: { IPColocationFactorWeight: 0, behaviourPenaltyWeight: 0 },
        // The first node of a cluster has nobody to publish to.
        allowPublishToZeroTopicPeers: true,
        // Knows a duplicate before it verifies its signature, which costs 130 µs.
        fastMsgIdFn: ({ from, seqno }) =>
          Buffer.concat([from ?? new Uint8Array(), seqno ?? new Uint8Array()]).toString('latin1'),
        // Else libp2p's reconnect queue keeps the mesh as well.
        tagMeshPeers: false,
        // Unlimited by default: 150 MB within 8 s for a peer that stands still.
        maxOutboundBufferSize: 4 * 1024 * 1024,
        maxInboundDataLength: 16 * 1024 * 1024,
      }),
    },
  })
}

async function createRegistryOnOwnNode(name: string, options: FromLibp2pOptions = {}): Promise<Registry> {
  const node = await createNode()
  // Who the cluster is and where to join it is told to the transport; the rest to the registry, as always.
  const transport = await fromLibp2p(node, options)
  return createRegistry({ name, transport, flush: 'eager' })
}

const provider = await createRegistryOnOwnNode('provider')
provider.register({ name: 'Billing', version: '1.0.0', address: 'http://127.0.0.1:8080' })

const consumer = await createRegistryOnOwnNode('consumer', { join: provider.nodes()[0]?.addresses ?? [] })
const billing = await consumer.waitFor('Billing', '1.0.0', { timeoutMs: 10_000 })
console.log(`${billing.name} ${billing.version} is on ${billing.nodeName}, at ${billing.address ?? ''}`)

await Promise.all([provider.close(), consumer.close()])
