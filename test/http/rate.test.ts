import { describe, expect, test } from 'vitest'
import { networkOf, Rate } from '../../src/http/rate.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { codeIn, onNode } from './ask.ts'

/** How many of so many requests at once pass. */
const passes = (rate: Rate, count: number, address = '10.0.0.1'): number =>
  Array.from({ length: count }, () => rate.take(address)).filter((waitMs) => waitMs === 0).length

describe('the rate', () => {
  test('twice as many at once, then as many a second, whatever was refused', async () => {
    const clock = new VirtualClock()
    const rate = new Rate(10, clock)
    expect(passes(rate, 50)).toBe(20)
    await clock.advance(1_000)
    expect(passes(rate, 50)).toBe(10)
    await clock.advance(100)
    expect(passes(rate, 50)).toBe(1)
    await clock.advance(60_000)
    expect(passes(rate, 50)).toBe(20)
  })

  test('says when the next may pass', async () => {
    const clock = new VirtualClock()
    const rate = new Rate(0.5, clock)
    expect(rate.take('a')).toBe(0)
    expect(rate.take('a')).toBe(2_000)
    await clock.advance(500)
    expect(rate.take('a')).toBe(1_500)
    await clock.advance(1_500)
    expect(rate.take('a')).toBe(0)
  })

  test('each address has its own', () => {
    const rate = new Rate(1, new VirtualClock())
    expect(passes(rate, 5, '10.0.0.1')).toBe(2)
    expect(passes(rate, 5, '10.0.0.2')).toBe(2)
    expect(passes(rate, 5, '2001:db8::1')).toBe(2)
    expect(passes(rate, 5, '2001:db8::2')).toBe(0)
  })

  test('remembers 10,000 addresses, and forgets the quietest first', () => {
    const rate = new Rate(1, new VirtualClock())
    const spend = (address: string): number => passes(rate, 2, address)
    spend('busy')
    spend('quiet')
    for (let n = 0; n < 9_998; n++) spend(`10.0.${n >> 8}.${n & 255}`)
    spend('busy')
    expect(rate.size).toBe(10_000)
    spend('new')
    expect(rate.size).toBe(10_000)
    expect(passes(rate, 1, 'busy')).toBe(0)
    expect(passes(rate, 1, 'quiet')).toBe(1)
  })

  test('Infinity is none', () => {
    const rate = new Rate(Infinity, new VirtualClock())
    expect(passes(rate, 10_000)).toBe(10_000)
    expect(rate.size).toBe(0)
  })
})

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['2001:db8:1:2::', '2001:db8:1:2'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['', ''],
])('%s is counted as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('who asks too often is told when to come back, and others are not kept from it', async () => {
  await onNode(
    async ({ ask, net }) => {
      const from = '10.0.0.1'
      expect((await ask('GET /v1/nodes', { from })).status).toBe(200)
      const reply = await ask('GET /v1/nodes', { from })
      expect([reply.status, codeIn(reply), reply.headers['retry-after']]).toEqual([
        429,
        'ROLLCALL_HTTP_RATE',
        '4',
      ])
      expect((await ask('GET /nowhere', { from })).status).toBe(429)
      expect((await ask('GET /healthz', { from })).status).toBe(200)
      expect((await ask('GET /v1/nodes', { from: '10.0.0.2' })).status).toBe(200)
      await net.run(4_000)
      expect((await ask('GET /v1/nodes', { from })).status).toBe(200)
    },
    { requestsPerSecond: 0.25 },
  )
})
