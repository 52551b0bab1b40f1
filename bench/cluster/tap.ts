import type { Channel, Transport, TransportEvents } from '../../src/tracker/ports.ts'

/** What a bench wants to know of a transport. */
export interface TapEvents {
  readonly connected: () => void
  /** A sync carried a part of a frame, this way or that. */
  readonly chunk: () => void
}

/** What a sync message begins with that is a chunk: field 3 of `SyncMessage`, of a length. To decode it would double the work of who receives it. */
const CHUNK_TAG = (3 << 3) | 2

/** The same transport, overheard. */
export function tap(inner: Transport, { connected, chunk }: TapEvents): Transport {
  const note = (message: Uint8Array): void => {
    if (message[0] === CHUNK_TAG) chunk()
  }
  const overhear = (channel: Channel): Channel => ({
    send: (message) => {
      note(message)
      return channel.send(message)
    },
    messages: (async function* () {
      for await (const message of channel.messages) {
        note(message)
        yield message
      }
    })(),
    close: () => channel.close(),
    abort: (reason) => channel.abort(reason),
  })
  return {
    id: inner.id,
    start: (events: TransportEvents) =>
      inner.start({
        gossip: (author, via, message) => events.gossip(author, via, message),
        opened: (peer, purpose, channel) =>
          events.opened(peer, purpose, purpose === 'sync' ? overhear(channel) : channel),
        connected: (peer) => {
          connected()
          events.connected(peer)
        },
        disconnected: (peer) => events.disconnected(peer),
        refused: (peer) => events.refused(peer),
        unreachable: (peer) => events.unreachable(peer),
        mute: (peer) => events.mute(peer),
        problem: (where, error) => events.problem(where, error),
      }),
    publish: (message) => inner.publish(message),
    open: async (peer, purpose, signal) => {
      const channel = await inner.open(peer, purpose, signal)
      return purpose === 'sync' ? overhear(channel) : channel
    },
    neighbours: () => inner.neighbours(),
    addresses: () => inner.addresses(),
    learn: (peer, addresses) => inner.learn(peer, addresses),
    forget: (peer) => inner.forget(peer),
    examine: (peer) => inner.examine(peer),
    hangUp: (peer, why) => inner.hangUp(peer, why),
    stop: () => inner.stop(),
  }
}
