import { expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { Channel } from '../../src/tracker/ports.ts'
import { ProbeLine } from '../../src/tracker/probe-line.ts'
import { decodeProbeMessage, encodeProbeMessage } from '../../src/wire/probe-message.ts'

/** The near end of a channel to a peer that answers every ping until it is broken. */
class Answering implements Channel {
  #inbox: Uint8Array[] = []
  #rouse: () => void = () => undefined
  #broken: Error | undefined

  send(message: Uint8Array): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    this.#inbox.push(encodeProbeMessage({ kind: 'pong', number: decodeProbeMessage(message).number }))
    this.#rouse()
    return Promise.resolve()
  }

  readonly messages = this.#read()

  close(): Promise<void> {
    return Promise.resolve()
  }

  abort(reason: Error): void {
    this.#broken = reason
    this.#rouse()
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const message = this.#inbox.shift()
      if (this.#broken !== undefined) throw this.#broken
      if (message !== undefined) yield message
      else await new Promise<void>((resolve) => (this.#rouse = resolve))
    }
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the channel stays open from one question to the next, and is opened anew when it broke or did not open', async () => {
  const clock = new VirtualClock()
  const channels: Channel[] = []
  let reachable = false
  const line = new ProbeLine(clock, {
    open: () => {
      if (!reachable) return Promise.reject(new Error('not now'))
      const channel = new Answering()
      channels.push(channel)
      return Promise.resolve(channel)
    },
    heard: () => undefined,
    late: () => undefined,
    rejected: () => undefined,
  })
  const first = line.ping(1_000)
  await settled()
  await clock.advance(1_000)
  expect(await first).toBe(false)
  reachable = true
  expect(await line.ping(1_000)).toBe(true)
  expect(await line.ping(1_000)).toBe(true)
  expect(channels).toHaveLength(1)
  channels[0]?.abort(new Error('it broke'))
  await settled()
  expect(await line.ping(1_000)).toBe(true)
  expect(channels).toHaveLength(2)
  const last = line.ping(1_000)
  line.stop(new Error('over'))
  expect(await last).toBe(false)
})
