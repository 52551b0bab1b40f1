import { createRegistry } from '../../src/index.ts'
import type { MeshOptions, Profile, Registry, TrackerOptions, Transport } from '../../src/index.ts'
import { loadIdentity } from '../../src/transports/libp2p/identity-file.ts'
import { fromLibp2p, libp2pTransport } from '../../src/transports/libp2p/index.ts'
import { swarmKey } from '../../src/transports/libp2p/swarm-key.ts'
import { providePromiseWithResolvers } from '../../src/transports/libp2p/polyfill.ts'

/** A node, of either line of libp2p, described in plain data. */
export interface Setup {
  readonly line: 2 | 3
  readonly name: string
  /** Multiaddr. Default: any free port of loopback. */
  readonly listen?: string
  readonly join?: readonly string[]
  /** Ids of the only peers it speaks to. */
  readonly allow?: readonly string[]
  readonly identityFile?: string
  readonly profile?: Profile
  /** The pre-shared key of the cluster. */
  readonly secret?: string
  readonly mesh?: Omit<MeshOptions, 'join'>
  readonly tracker?: Omit<TrackerOptions, 'transport' | 'clock' | 'random' | 'name'>
  /** Line 2: on a transport at hand, not the one that the registry makes, so that neighbours can be asked for. */
  readonly atHand?: boolean
}

export interface Node {
  readonly registry: Registry
  /** Line 3, or `atHand`. */
  readonly transport: Transport | undefined
}

/** @param tap - stands between the registry and its transport, where that is at hand */
export async function openNode(setup: Setup, tap: (transport: Transport) => Transport): Promise<Node> {
  const {
    line,
    name,
    listen = ANY_PORT,
    join = [],
    allow,
    identityFile,
    profile,
    secret,
    mesh,
    tracker,
    atHand,
  } = setup
  const network = {
    ...mesh,
    listen,
    join,
    ...(allow === undefined ? {} : { allow }),
    ...(identityFile === undefined ? {} : { identityFile }),
    ...(secret === undefined ? {} : { secret }),
  }
  if (line === 2 && atHand !== true) {
    return { registry: await createRegistry({ name, profile, ...tracker, ...network }), transport: undefined }
  }
  const transport =
    line === 2
      ? await libp2pTransport(network)
      : await fromLibp2p(await nodeOfLine3({ ...network, turnsAway: strangersTo(allow) }), { ...mesh, join })
  return { registry: await createRegistry({ name, ...tracker, transport: tap(transport) }), transport }
}

export const ANY_PORT = '/ip4/127.0.0.1/tcp/0'

const strangersTo =
  (allow: readonly string[] | undefined) =>
  (peer: string): boolean =>
    allow !== undefined && !allow.includes(peer)

/** A node as a user of line 3 builds it, with the settings of our own. */
export async function nodeOfLine3({
  listen = ANY_PORT,
  identityFile,
  secret,
  turnsAway,
}: Pick<Setup, 'listen' | 'identityFile' | 'secret'> & {
  /** Whom it does not speak to. */
  readonly turnsAway: (peer: string) => boolean
}) {
  providePromiseWithResolvers()
  const [{ createLibp2p }, { tcp }, { noise }, { yamux }, { identify }, { gossipsub }, { preSharedKey }] =
    await Promise.all([
      import('libp2p3'),
      import('tcp3'),
      import('noise3'),
      import('yamux3'),
      import('identify3'),
      import('gossipsub3'),
      import('pnet3'),
    ])
  const isStranger = (peer: { toString(): string }): boolean => turnsAway(peer.toString())
  const privateKey = identityFile === undefined ? undefined : await keyOfLine3(identityFile)
  return createLibp2p({
    start: false,
    ...(privateKey === undefined ? {} : { privateKey }),
    addresses: { listen: [listen] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    ...(secret === undefined ? {} : { connectionProtector: preSharedKey({ psk: swarmKey(secret) }) }),
    connectionGater: {
      denyDialMultiaddr: () => false,
      denyInboundEncryptedConnection: isStranger,
      denyOutboundEncryptedConnection: isStranger,
    },
    connectionManager: {
      inboundConnectionThreshold: 10_000,
      maxIncomingPendingConnections: 200,
      dialTimeout: 5_000,
      inboundUpgradeTimeout: 5_000,
      reconnectRetries: 0,
    },
    connectionMonitor: { enabled: false },
    services: {
      identify: identify(),
      pubsub: gossipsub({
        ...{ D: 3, Dlo: 2, Dhi: 4, Dout: 1, Dscore: 1, Dlazy: 3, floodPublish: true },
        allowPublishToZeroTopicPeers: true,
        scoreParams: { IPColocationFactorWeight: 0, behaviourPenaltyWeight: 0 },
        tagMeshPeers: false,
      }),
    },
  })
}

/** The key of an identity file, as line 3 has it: the same bytes. */
async function keyOfLine3(identityFile: string) {
  const { privateKeyFromProtobuf } = await import('crypto3/keys')
  const { privateKeyToProtobuf } = await import('@libp2p/crypto/keys')
  return privateKeyFromProtobuf(privateKeyToProtobuf(await loadIdentity(identityFile)))
}
