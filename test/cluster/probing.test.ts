import { describe, expect, test } from 'vitest'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import { decodeProbeMessage, encodeProbeMessage } from '../../src/wire/probe-message.ts'
import { onSeeds, PERIOD_MS, ROUGH, service, told } from './scenario.ts'
import type { Three, Two } from './scenario.ts'

/** Longest silence of each other node that this one saw within the time. */
async function longestSilence(net: SimulatedNetwork, node: SimNode, ms: number): Promise<number> {
  let longest = 0
  for (let passed = 0; passed < ms; passed += 50) {
    await net.run(50)
    for (const { self, silentMs } of node.tracker.nodes()) if (!self) longest = Math.max(longest, silentMs)
  }
  return longest
}

const never = (): AbortSignal => new AbortController().signal

describe('idle neighbours', () => {
  test('are heard at least every probePeriodMs, however seldom they beat', async () => {
    for (const probePeriodMs of [1_000, 3_000]) {
      await onSeeds(4, {}, async (net) => {
        const [a] = (await cluster(3, { net, probePeriodMs })) as Three
        await net.run(60_000)
        expect(await longestSilence(net, a, 60_000)).toBeLessThan(probePeriodMs + 20)
      })
    }
  })

  test('are heard every few seconds though a fifth of all packets is lost', async () => {
    await onSeeds(4, ROUGH, async (net) => {
      const [a] = (await cluster(3, { net })) as Three
      await net.run(60_000)
      // A beat gets through every 15 s at best.
      expect(await longestSilence(net, a, 120_000)).toBeLessThan(5_000)
    })
  })

  test('cost one question and one answer a period for both of a pair, not for each', async () => {
    await onSeeds(4, {}, async (net) => {
      await cluster(2, { net })
      await net.run(60_000)
      const before = net.traffic.probe.messages
      await net.run(100_000)
      const pairs = (net.traffic.probe.messages - before) / 2
      // Asked after 0.7 to 0.9 of a period, by the first of the two: 0.77 on average.
      expect(pairs).toBeGreaterThan(100)
      expect(pairs).toBeLessThan(145)
    })
  })

  test('are not asked while they beat', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const nodes = (await cluster(2, { net, flush: 'eager' })) as Two
      const own = nodes.map((node) => node.registry.register(service(node.name, { n: 0 })))
      const before = net.traffic.probe.messages
      for (let n = 1; n <= 100; n++) {
        for (const each of own) each.update({ metadata: { n } })
        await net.run(500)
      }
      expect(net.traffic.probe.messages).toBe(before)
    })
  })
})

describe('a probe channel', () => {
  test('that says what is broken is given up and reported; a kind of a later protocol is counted and passed over', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      const channel = await net.settle(b.transport.open(a.id, 'probe', never()))
      const answers = channel.messages[Symbol.asyncIterator]()
      const say = (bytes: Uint8Array): Promise<void> => net.settle(channel.send(bytes))
      await say(Uint8Array.of(0x7a, 0))
      await say(encodeProbeMessage({ kind: 'ping', number: 7 }))
      const answer = await net.settle(answers.next())
      expect(answer.done === true || decodeProbeMessage(answer.value)).toEqual({ kind: 'pong', number: 7 })
      expect(a.tracker.rejected).toEqual({ ROLLCALL_MESSAGE_UNKNOWN: 1 })
      await say(Uint8Array.of(0xff))
      await expect(net.settle(answers.next())).rejects.toThrow('aborted')
      expect(a.tracker.rejected).toEqual({ ROLLCALL_MESSAGE_UNKNOWN: 1, ROLLCALL_FRAME_INVALID: 1 })
      expect(told(a, b.id)).toEqual(['node_up', 'rejected', 'rejected'])
      await net.run(2 * PERIOD_MS)
      expect(a.transport.neighbours()).toEqual([b.id])
    })
  })

  test('that asks much about others is answered no to most of it at once', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b, c] = (await cluster(3, { net })) as Three
      await net.run(5_000)
      c.stall(5_000)
      const channel = await net.settle(b.transport.open(a.id, 'probe', never()))
      const answers: number[] = []
      void (async () => {
        for await (const bytes of channel.messages) answers.push(decodeProbeMessage(bytes).number)
      })().catch(() => undefined)
      for (let number = 1; number <= 20; number++) {
        await net.settle(channel.send(encodeProbeMessage({ kind: 'ask', number, node: c.id })))
      }
      await net.run(100)
      expect(answers).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
      await net.run(2_000)
      expect(answers).toHaveLength(20)
      await net.settle(channel.send(encodeProbeMessage({ kind: 'ask', number: 21, node: a.id })))
      await net.run(100)
      expect(answers.at(-1)).toBe(21)
    })
  })

  test('is opened anew after it broke', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net })) as Two
      await net.run(60_000)
      a.transport.sever(b.id)
      await net.run(30_000)
      expect(await longestSilence(net, a, 30_000)).toBeLessThan(1_020)
      expect(told(a, b.id)).not.toContain('node_down')
    })
  })
})

test('a neighbour that answers nothing for long is hung up and dialled again', async () => {
  await simulate({ seed: 1, partitionNoticeMs: 1e9 }, async (net) => {
    const [a, b] = (await cluster(2, { net })) as Two
    await net.run(10_000)
    net.isolate(b)
    const begin = net.clock.now()
    await net.until('a hangs up', 10_000, () => a.transport.neighbours().length === 0)
    expect(net.clock.now() - begin).toBeGreaterThan(5_000)
    net.heal()
    await net.until('they meet again', 5_000, () => a.transport.neighbours().length === 1)
    await net.run(60_000)
    expect(told(a, b.id)).not.toContain('node_down')
  })
})
