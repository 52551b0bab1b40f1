import type { ByteStream } from './byte-stream.ts'
import { FramedChannel, type ChannelLimits } from './framed-channel.ts'

/** The channels of a node that are not over yet. */
export class Channels {
  readonly #limits: ChannelLimits
  readonly #open = new Set<FramedChannel>()
  #stopped = false

  constructor(limits: ChannelLimits) {
    this.#limits = limits
  }

  /** A channel on a new stream; broken at once when the node is stopping. */
  open(stream: ByteStream): FramedChannel {
    const channel = new FramedChannel(stream, this.#limits)
    this.#open.add(channel)
    void channel.done.then(() => this.#open.delete(channel))
    if (this.#stopped) channel.abort(new Error('the node is stopping'))
    return channel
  }

  stop(): void {
    this.#stopped = true
    for (const channel of this.#open) channel.abort(new Error('the node is stopping'))
  }
}
