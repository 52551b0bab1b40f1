import { generateKeyPair as generateKeyPair3 } from 'crypto3/keys'
import { gossipsub as gossipsub3, type GossipsubOpts as Gossipsub3Opts } from 'gossipsub3'
import { identify as identify3 } from 'identify3'
import { createLibp2p as createLibp2p3 } from 'libp2p3'
import { noise as noise3 } from 'noise3'
import { tcp as tcp3 } from 'tcp3'
import { yamux as yamux3 } from 'yamux3'
import type { NodeId } from '../../src/core/frame.ts'
import type { RollcallError } from '../../src/errors.ts'
import type { Channel, ChannelPurpose, Transport, TransportEvents } from '../../src/tracker/ports.ts'
import { createDefaultNode } from '../../src/transports/libp2p/default-node.ts'
import type { NodeLike, PubsubLike } from '../../src/transports/libp2p/libp2p-like.ts'
import {
  resolveMeshOptions,
  resolveNodeOptions,
  type FromLibp2pOptions,
  type Libp2pTransportOptions,
} from '../../src/transports/libp2p/options.ts'
import { fromLibp2p } from '../../src/transports/libp2p/index.ts'
import { providePromiseWithResolvers } from '../../src/transports/libp2p/polyfill.ts'
import { checkStack } from '../../src/transports/libp2p/stack-check.ts'
import type { Door } from '../../src/transports/libp2p/reports.ts'
import { Libp2pTransport } from '../../src/transports/libp2p/transport.ts'

/** A transport with the node under it, which tests break. */
export interface Made {
  readonly transport: Transport
  readonly node: NodeLike
}

type Key3 = Awaited<ReturnType<typeof generateKeyPair3>>

/** The default node, as `libp2pTransport` makes it, with its libp2p at hand. */
export async function makeLine2(options: Libp2pTransportOptions = {}): Promise<Made> {
  providePromiseWithResolvers()
  const mesh = resolveMeshOptions(options)
  const door: Door = { turnedAway: () => undefined }
  const node = await createDefaultNode(resolveNodeOptions(options), mesh, door)
  const transport = new Libp2pTransport(checkStack(node, 'pubsub'), mesh, { own: true, door })
  return { transport, node: node as NodeLike }
}

export const SMALL_GOSSIP: Partial<Gossipsub3Opts> = {
  D: 3,
  Dlo: 2,
  Dhi: 4,
  Dout: 1,
  Dscore: 1,
  Dlazy: 3,
  allowPublishToZeroTopicPeers: true,
  scoreParams: { IPColocationFactorWeight: 0, behaviourPenaltyWeight: 0 },
}

/** A node as a user of line 3 builds it. */
export async function nodeOfLine3(privateKey?: Key3) {
  return createLibp2p3({
    start: false,
    privateKey: privateKey ?? (await generateKeyPair3('Ed25519')),
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp3()],
    connectionEncrypters: [noise3()],
    streamMuxers: [yamux3()],
    connectionManager: { inboundConnectionThreshold: 10_000 },
    services: { identify: identify3(), pubsub: gossipsub3(SMALL_GOSSIP) },
  })
}

export async function makeLine3(options: FromLibp2pOptions = {}, key?: Key3): Promise<Made> {
  const node = await nodeOfLine3(key)
  return { transport: await fromLibp2p(node, options), node: node as unknown as NodeLike }
}

export { generateKeyPair3 }

export function pubsubOf(node: NodeLike): PubsubLike {
  return (node.services as { pubsub: PubsubLike }).pubsub
}

/** Drops every connection between two nodes, as a reset does. */
export function sever(a: NodeLike, b: NodeLike): void {
  for (const connection of a.getConnections()) {
    if (connection.remotePeer.toString() === b.peerId.toString()) connection.abort(new Error('severed'))
  }
}

/** As far as one process can die of kill -9 in part: connections drop, nothing listens, no goodbye. */
export async function destroy(node: NodeLike): Promise<void> {
  Object.assign(node, { dial: () => Promise.reject(new Error('dead')) })
  for (const connection of node.getConnections()) connection.abort(new Error('killed'))
  await node.stop()
}

/** Records what a transport says. */
export class Recorder implements TransportEvents {
  readonly heard: { readonly author: NodeId; readonly via: NodeId; readonly text: string }[] = []
  readonly links: string[] = []
  readonly refusals: NodeId[] = []
  readonly problems: { readonly where: string; readonly error: RollcallError }[] = []
  readonly channels: { readonly peer: NodeId; readonly channel: Channel }[] = []
  onRefused: () => void = () => undefined
  onConnected: (peer: NodeId) => void = () => undefined

  gossip(author: NodeId, via: NodeId, message: Uint8Array): boolean {
    this.heard.push({ author, via, text: new TextDecoder().decode(message) })
    return true
  }

  mute(): Promise<void> {
    return Promise.resolve()
  }

  opened(peer: NodeId, _purpose: ChannelPurpose, channel: Channel): void {
    this.channels.push({ peer, channel })
  }

  connected(peer: NodeId): void {
    this.links.push(`+${peer}`)
    this.onConnected(peer)
  }

  disconnected(peer: NodeId): void {
    this.links.push(`-${peer}`)
  }

  unreachable(): void {
    return undefined
  }

  refused(peer: NodeId): void {
    this.refusals.push(peer)
    this.onRefused()
  }

  problem(where: string, error: RollcallError): void {
    this.problems.push({ where, error })
  }

  codes(): string[] {
    return this.problems.map(({ error }) => error.code)
  }
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const turn = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 10_000,
): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    await turn(2)
  }
}
