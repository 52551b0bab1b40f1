import { expect, test } from 'vitest'
import type { NodeId } from '../../src/core/frame.ts'
import type { Channel, ChannelPurpose } from '../../src/tracker/ports.ts'
import { createTracker } from '../../src/tracker/tracker.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { SeededRandom } from '../../src/testing/random.ts'
import { StubTransport } from './stub-transport.ts'

/** A connection that broke without a word: what is opened over it waits for ever. */
class HangingTransport extends StubTransport {
  readonly opening: AbortSignal[] = []

  override open(_peer?: NodeId, purpose?: ChannelPurpose, signal?: AbortSignal): Promise<Channel> {
    if (purpose === 'sync' && signal !== undefined) this.opening.push(signal)
    return new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error))
    })
  }
}

async function hanging() {
  const transport = new HangingTransport('a')
  const clock = new VirtualClock()
  const random = new SeededRandom(1)
  const tracker = await createTracker({ transport, clock, random, syncTimeoutMs: 2_000 })
  const problems: string[] = []
  tracker.on('problem', (node, { code, message }) => problems.push(`${node} ${code} ${message}`))
  return { transport, clock, tracker, problems }
}

test('a sync whose channel does not open is given up in time', async () => {
  const { transport, clock, tracker, problems } = await hanging()
  transport.events?.connected('b')
  await clock.advance(1_999)
  expect(transport.opening.map(({ aborted }) => aborted)).toEqual([false])
  expect(problems).toEqual([])
  await clock.advance(1)
  expect(problems).toEqual(['b ROLLCALL_SYNC_FAILED no channel within 2000 ms'])
  await tracker.close()
})

test('a peer that does not gossip, and does not open a channel either, is waited for no longer', async () => {
  const { transport, clock, tracker } = await hanging()
  let heard = false
  void transport.events?.mute('b').then(() => (heard = true))
  await clock.advance(1_999)
  expect(heard).toBe(false)
  await clock.advance(1)
  expect(heard).toBe(true)
  await tracker.close()
})

test('a close ends what is being opened', async () => {
  const { transport, tracker, problems } = await hanging()
  transport.events?.connected('b')
  await tracker.close()
  expect(transport.opening.map(({ aborted }) => aborted)).toEqual([true])
  expect(problems).toEqual([])
})
