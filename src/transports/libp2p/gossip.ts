import { setImmediate, setTimeout } from 'node:timers/promises'
import type { NodeId } from '../../core/frame.ts'
import type { GossipMessage, PeerIdLike, PubsubLike, StreamLike } from './libp2p-like.ts'

export interface GossipEvents {
  /** Returns false for a message that must not be passed on. */
  message(author: NodeId, via: NodeId, data: Uint8Array): boolean
  /** A message above the limit came in, or was about to go out (then `via` is this node). */
  oversized(via: NodeId, bytes: number): void
  /** A peer subscribed to the topic, or left it. */
  subscription(peer: NodeId): void
}

interface SubscriptionChange {
  readonly peerId: PeerIdLike
  readonly subscriptions: readonly { readonly topic: string }[]
}

function isOpen(stream: StreamLike | undefined, side: 'readStatus' | 'writeStatus'): boolean {
  return stream?.status === 'open' && stream[side] !== 'closed' && stream[side] !== 'closing'
}

/** One topic on a node's gossipsub. */
export class Gossip {
  readonly #pubsub: PubsubLike
  readonly #topic: string
  readonly #self: NodeId
  readonly #maxBytes: number
  readonly #events: GossipEvents
  #subscribed = false

  constructor(pubsub: PubsubLike, topic: string, self: NodeId, maxBytes: number, events: GossipEvents) {
    this.#pubsub = pubsub
    this.#topic = topic
    this.#self = self
    this.#maxBytes = maxBytes
    this.#events = events
  }

  /** The node must be started: gossipsub refuses subscriptions before. */
  start(): void {
    this.#pubsub.topicValidators.set(this.#topic, this.#validate)
    this.#pubsub.addEventListener('subscription-change', this.#onSubscription)
    this.#pubsub.subscribe(this.#topic)
    this.#subscribed = true
  }

  /**
   * @param unsubscribe - true on a node that lives on. A node about to stop must not unsubscribe: the others would
   *   prune it, and refuse to mesh with it for 10 to 60 s when it is back.
   */
  stop(unsubscribe: boolean): void {
    this.#pubsub.topicValidators.delete(this.#topic)
    this.#pubsub.removeEventListener('subscription-change', this.#onSubscription)
    if (unsubscribe && this.#subscribed) this.#pubsub.unsubscribe(this.#topic)
    // Gossipsub forgets this timer when it stops; it would keep the process for up to a second.
    if (!unsubscribe) clearTimeout(this.#pubsub.status?.heartbeatTimeout)
  }

  async publish(data: Uint8Array): Promise<void> {
    if (data.length > this.#maxBytes) {
      this.#events.oversized(this.#self, data.length)
      return
    }
    try {
      await this.#pubsub.publish(this.#topic, data, { allowPublishToZeroTopicPeers: true })
    } catch {
      // Stopped, or a duplicate: gossip promises nothing, and the next beat carries what this one did.
    }
  }

  /**
   * Waits until what was published has left for the sockets, a frozen peer excepted: what still lies in a stream
   * when it is closed is lost.
   */
  async flush(atMostMs: number): Promise<void> {
    const until = performance.now() + atMostMs
    while (this.#isPending() && performance.now() < until) await setTimeout(1)
    // From the stream through encryption to the socket it is a matter of microtasks.
    await setImmediate()
  }

  #isPending(): boolean {
    const streams = [...(this.#pubsub.streamsOutbound?.values() ?? [])]
    return streams.some(({ rawStream, pushable }) => {
      const { writeBufferLength = 0, sendingData } = rawStream
      const waits = (pushable?.readableLength ?? 0) + writeBufferLength > 0 || Boolean(sendingData)
      return waits && isOpen(rawStream, 'writeStatus')
    })
  }

  isSubscribed(peer: NodeId): boolean {
    return this.#pubsub.getSubscribers(this.#topic).some((subscriber) => subscriber.toString() === peer)
  }

  /** Whether messages reach the peer now: our stream to it is open. */
  reaches(peer: NodeId): boolean {
    const { peers, streamsOutbound } = this.#pubsub
    if (peers === undefined || streamsOutbound === undefined) return true
    return peers.has(peer) && isOpen(streamsOutbound.get(peer)?.rawStream, 'writeStatus')
  }

  /** Whether messages flow both ways. Once false it stays false: libp2p does not open a lost gossip stream again. */
  isHealthy(peer: NodeId): boolean {
    const { streamsInbound } = this.#pubsub
    const heard = streamsInbound === undefined || isOpen(streamsInbound.get(peer)?.rawStream, 'readStatus')
    return heard && this.reaches(peer) && this.isSubscribed(peer)
  }

  /**
   * Runs once per message, before it is passed on. 'ignore' stops a message as 'reject' does, but blames nobody:
   * the neighbour that passed it on may know no better.
   */
  readonly #validate = (via: PeerIdLike, message: GossipMessage): string => {
    const author = message.from?.toString()
    if (author === undefined) return 'ignore'
    if (message.data.length > this.#maxBytes) {
      this.#events.oversized(via.toString(), message.data.length)
      return 'ignore'
    }
    if (author === this.#self) return 'accept'
    return this.#events.message(author, via.toString(), message.data) ? 'accept' : 'ignore'
  }

  readonly #onSubscription = ({ detail }: { readonly detail: unknown }): void => {
    const { peerId, subscriptions } = detail as SubscriptionChange
    if (subscriptions.some(({ topic }) => topic === this.#topic)) this.#events.subscription(peerId.toString())
  }
}
