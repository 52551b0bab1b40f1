import { gossipsub } from '@chainsafe/libp2p-gossipsub'
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { generateKeyPair } from '@libp2p/crypto/keys'
import { identify } from '@libp2p/identify'
import { tcp } from '@libp2p/tcp'
import { createLibp2p, type Libp2pOptions } from 'libp2p'
import { loadIdentity } from './identity-file.ts'
import type { Libp2pNode } from './libp2p-like.ts'
import type { ResolvedMesh, ResolvedNode } from './options.ts'
import { sharedKey } from './pre-shared-key.ts'
import type { Door } from './reports.ts'

/** Up to this many nodes a publisher sends to every neighbour itself: one hop, few duplicates (measured at 16 nodes). */
const FLOOD_NODES = 32

function meshDegrees(expectedNodes: number): object {
  return expectedNodes <= FLOOD_NODES
    ? { D: 3, Dlo: 2, Dhi: 4, Dout: 1, Dscore: 1, Dlazy: 3, floodPublish: true }
    : { D: 5, Dlo: 4, Dhi: 8, Dout: 2, Dscore: 3, Dlazy: 5, floodPublish: false }
}

function gossip(expectedNodes: number): ReturnType<typeof gossipsub> {
  return gossipsub({
    ...meshDegrees(expectedNodes),
    emitSelf: false,
    fallbackToFloodsub: false,
    // Publishing alone is an ordinary thing for a node that starts first.
    allowPublishToZeroTopicPeers: true,
    // Repeats are told apart before their signature is verified, which costs 130 µs each.
    fastMsgIdFn: ({ from, seqno }) =>
      `${Buffer.from(from ?? []).toString('latin1')}${Buffer.from(seqno ?? []).toString('latin1')}`,
    // The reports of this package decide who is well; scores would silence nodes that share a host or were starved.
    scoreParams: { IPColocationFactorWeight: 0, behaviourPenaltyWeight: 0 },
    // The mesh keeps its own connections; a tag would make libp2p's reconnect queue dial as well.
    tagMeshPeers: false,
    // A frozen peer costs at most this much memory; without it, 150 MB in 8 s were measured.
    maxOutboundBufferSize: 4 * 1024 * 1024,
    // Above the default of 4 MiB, because one answer to IWANT may carry many messages of the largest size,
    // and a larger RPC ends gossip between the pair.
    maxInboundDataLength: 16 * 1024 * 1024,
  })
}

/** Builds the default node: libp2p 2 over TCP, noise and yamux, with identify and signed gossip. Not started. Throws as its settings. */
export async function createDefaultNode(
  options: ResolvedNode,
  mesh: ResolvedMesh,
  door: Door,
): Promise<Libp2pNode> {
  return createLibp2p(await defaultNodeSettings(options, mesh, door))
}

/** What the default node is made of. Throws `ROLLCALL_IDENTITY_FILE`. */
export async function defaultNodeSettings(
  options: ResolvedNode,
  mesh: ResolvedMesh,
  door: Door,
): Promise<Libp2pOptions> {
  const { listen, identityFile, secret, allow, expectedNodes } = options
  const stranger = (peer: string): boolean => {
    if (allow === undefined || allow.has(peer)) return false
    door.turnedAway(peer, 'the peer is not on the list of allowed peers')
    return true
  }
  const privateKey =
    identityFile === undefined ? await generateKeyPair('Ed25519') : await loadIdentity(identityFile)
  return {
    start: false,
    privateKey,
    addresses: { listen: [...listen], announce: [...mesh.advertise] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    ...(secret === undefined
      ? {}
      : {
          connectionProtector: sharedKey(secret, (at) =>
            door.turnedAway(at, 'the peer lacks the secret of this cluster'),
          ),
        }),
    connectionGater: {
      denyDialMultiaddr: () => false,
      denyInboundEncryptedConnection: (peer) => stranger(peer.toString()),
      denyOutboundEncryptedConnection: (peer) => stranger(peer.toString()),
    },
    connectionManager: {
      // The default of 5 per second and host resets most of the dials of a cluster on one host.
      inboundConnectionThreshold: 10_000,
      maxIncomingPendingConnections: 200,
      maxConnections: 2_000,
      maxParallelDials: 100,
      dialTimeout: mesh.dialTimeoutMs,
      inboundUpgradeTimeout: mesh.dialTimeoutMs,
      // The mesh dials again by itself; libp2p's own queue gives up within 0.6 s or exhausts its memory.
      reconnectRetries: 0,
    },
    // The tracker asks its neighbours itself, over a stream that stays open: libp2p's monitor opens one for each ping.
    connectionMonitor: { enabled: false },
    services: { identify: identify(), pubsub: gossip(expectedNodes) },
  }
}
