import { expect, test } from 'vitest'
import { SeededRandom } from '../../src/testing/random.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { resolveTrackerOptions } from '../../src/tracker/options.ts'
import { Prober } from '../../src/tracker/prober.ts'
import { Answering } from './answering.ts'
import { StubTransport } from './stub-transport.ts'

/** A prober with neighbours that answer while they are willing. */
function prober(...peers: string[]) {
  const clock = new VirtualClock()
  const channels = new Map(peers.map((peer) => [peer, new Answering()]))
  const transport = Object.assign(new StubTransport('a'), {
    open: (peer: string) => Promise.resolve(channels.get(peer) ?? new Answering()),
    hangUp: (peer: string) => told.push(`hang up ${peer}`),
  })
  const told: string[] = []
  const made = new Prober(resolveTrackerOptions({ transport, clock, random: new SeededRandom(1) }), {
    alive: () => undefined,
    vouched: (peer) => told.push(`vouched ${peer}`),
    hung: (peer) => told.push(`hung ${peer}`),
    report: () => undefined,
  })
  for (const peer of peers) made.connected(peer)
  return { clock, channels, told, prober: made }
}

test('only probes in a row count: two without an answer, and one with, for ever, is no suspicion', async () => {
  const { clock, channels, told } = prober('b', 'c')
  const b = channels.get('b')!
  for (let n = 0; n < 50; n++) {
    b.willing = false
    await clock.advance(1_800)
    b.willing = true
    await clock.advance(1_200)
  }
  expect(told).toEqual([])
  b.willing = false
  await clock.advance(4_000)
  expect(told).toEqual(['hung b'])
})
