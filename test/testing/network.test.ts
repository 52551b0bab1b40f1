import { describe, expect, test } from 'vitest'
import type { NodeId } from '../../src/core/frame.ts'
import { SimulatedNetwork, SimulationFailure, simulate } from '../../src/testing/network.ts'
import type { SimulatedNetworkOptions } from '../../src/testing/network.ts'
import type { NodeClock } from '../../src/testing/virtual-clock.ts'
import type { MemoryTransport } from '../../src/transports/memory/transport.ts'
import type { Channel, TransportEvents } from '../../src/tracker/ports.ts'

interface Host {
  readonly id: NodeId
  readonly address: string
  readonly transport: MemoryTransport
  readonly clock: NodeClock
  /** What it was told, with times: `12.5 +b`, `-b`, `refused b`, `b via c: text`. */
  readonly told: string[]
  readonly channels: Channel[]
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const never = (): AbortSignal => new AbortController().signal

async function host(
  net: SimulatedNetwork,
  name: string,
  join: readonly string[] = [],
  address = `/memory/${name}`,
): Promise<Host> {
  const clock = net.clock.node()
  const random = net.random.fork(name)
  const transport = net.transport({ id: name, address, join, clock, random })
  const told: string[] = []
  const channels: Channel[] = []
  const events: TransportEvents = {
    gossip(author, via, message) {
      told.push(`${author} via ${via}: ${decode(message)}`)
      return true
    },
    opened: (_peer, _purpose, channel) => channels.push(channel),
    connected: (peer) => told.push(`+${peer}`),
    disconnected: (peer) => told.push(`-${peer}`),
    refused: (peer) => told.push(`refused ${peer}`),
    unreachable: () => undefined,
    mute: () => Promise.resolve(),
    problem: (where) => told.push(`problem ${where}`),
  }
  await transport.start(events)
  return { id: name, address, transport, clock, told, channels }
}

/** A full mesh of connected hosts. */
async function mesh(net: SimulatedNetwork, ...names: readonly string[]): Promise<Host[]> {
  const addresses = names.map((name) => `/memory/${name}`)
  const hosts: Host[] = []
  for (const name of names) hosts.push(await host(net, name, addresses))
  await net.until('all are neighbours', 5_000, () =>
    hosts.every(({ transport }) => transport.neighbours().length === names.length - 1),
  )
  for (const { told } of hosts) told.length = 0
  return hosts
}

const heard = (to: Host, from: Host): string[] => to.told.filter((line) => line.startsWith(`${from.id} via`))

describe('SimulatedNetwork', () => {
  test('loses, delays, repeats and reorders gossip as often as it was told to', async () => {
    const net = new SimulatedNetwork({
      seed: 1,
      loss: 0.2,
      repeat: 0.1,
      reorder: 0.1,
      delayMs: [10, 20],
      strayMs: 900,
    })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    const delays: number[][] = []
    net.tap(({ kind, delaysMs }) => kind === 'gossip' && delays.push([...delaysMs]))
    for (let index = 0; index < 5_000; index += 1) {
      await a.transport.publish(encode(String(index)))
      await net.run(1)
    }
    await net.run(2_000)
    const share = (is: (copies: number[]) => boolean): number => delays.filter(is).length / delays.length
    expect(share((copies) => copies.length === 0)).toBeCloseTo(0.2 * 0.9, 1)
    expect(share((copies) => copies.length === 2)).toBeCloseTo(0.1 * 0.8, 1)
    expect(share((copies) => copies[0]! > 20)).toBeGreaterThan(0.05)
    expect(Math.min(...delays.flat())).toBeGreaterThanOrEqual(10)
    const got = heard(b, a).map((line) => Number(line.split(': ')[1]))
    expect(got).toHaveLength(delays.flat().length)
    expect(got).not.toEqual([...got].sort((x, y) => x - y))
    expect(new Set(got).size).toBeLessThan(got.length)
  })

  test('a repeat of a lost message still arrives', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    net.setFaults(a, b, { loss: 1, repeat: 1 })
    await a.transport.publish(encode('x'))
    await net.run(6_000)
    expect(heard(b, a)).toEqual(['a via a: x'])
  })

  test('C1: a cut link is one link; gossip goes round it', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b, c] = (await mesh(net, 'a', 'b', 'c')) as [Host, Host, Host]
    net.partition(a, b)
    await a.transport.publish(encode('x'))
    await net.run(100)
    expect([heard(b, a), heard(c, a)]).toEqual([['a via c: x'], ['a via a: x']])
  })

  test('a partition is noticed after a while, proves nothing, and heals by itself', async () => {
    const net = new SimulatedNetwork({ seed: 1, partitionNoticeMs: 10_000 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    net.partition(a, b)
    await net.run(9_000)
    expect([a.told, b.told]).toEqual([[], []])
    await net.run(6_000)
    expect([a.told, b.told]).toEqual([
      ['-b', 'problem b'],
      ['-a', 'problem a'],
    ])
    await net.run(3_600_000)
    expect(a.told.filter((line) => line.startsWith('refused'))).toEqual([])
    net.heal()
    await net.until('they meet again', 3_000, () => a.transport.neighbours().length === 1)
    await net.run(100)
    expect([a.told.at(-1), b.told.at(-1)]).toEqual(['+b', '+a'])
  })

  test('a partition shorter than its notice breaks nothing, and channels go on', async () => {
    const net = new SimulatedNetwork({ seed: 1, loss: 0.3 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    const opening = a.transport.open('b', 'sync', never())
    await net.run(5_000)
    const near = await opening
    net.partition(a, b)
    const sent = Promise.all(['1', '2', '3'].map((text) => near.send(encode(text))))
    await net.run(5_000)
    await sent
    net.heal()
    const read: string[] = []
    void (async () => {
      for await (const message of b.channels[0]!.messages) read.push(decode(message))
    })()
    await net.run(9_000)
    expect(read).toEqual(['1', '2', '3'])
    expect([a.told, b.told]).toEqual([[], []])
  })

  test('C30: a link dead in one direction is given up by both sides', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    net.oneWay(a, b)
    await b.transport.publish(encode('gets through'))
    await a.transport.publish(encode('does not'))
    await net.run(20_000)
    expect(heard(a, b)).toHaveLength(1)
    expect(heard(b, a)).toEqual([])
    expect([a.told.includes('-b'), b.told.includes('-a')]).toEqual([true, true])
  })

  test('C24: a crash is proven to its neighbours within a few round trips', async () => {
    const net = new SimulatedNetwork({ seed: 1, delayMs: [5, 10] })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    b.transport.crash()
    b.clock.kill()
    await net.run(10)
    expect(a.told).toEqual(['-b'])
    await net.run(20)
    expect(a.told).toEqual(['-b', 'refused b'])
  })

  test('C12: the address of a dead node with another identity proves the first one dead', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    b.transport.crash()
    const next = await host(net, 'b2', [a.address], b.address)
    await net.run(200)
    expect(a.told).toContain('refused b')
    expect(a.told).toContain('+b2')
    expect(next.told).toContain('+a')
  })

  test('a crash behind a partition is found out after the heal', async () => {
    const net = new SimulatedNetwork({ seed: 1, partitionNoticeMs: 30_000 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    net.isolate(b)
    b.transport.crash()
    b.clock.kill()
    await net.run(20_000)
    expect(a.told).toEqual([])
    net.heal()
    await net.run(12_000)
    expect(a.told.slice(0, 2)).toEqual(['-b', 'refused b'])
  })

  test('C22 C23: a stalled node holds back all it was sent, and is given up after a while without proof', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    b.clock.stall(5_000)
    await a.transport.publish(encode('held'))
    await net.run(4_900)
    expect(b.told).toEqual([])
    await net.run(200)
    expect(b.told).toEqual(['a via a: held'])
    b.clock.stall(60_000)
    await net.run(60_000)
    expect(a.told).toEqual(['-b', 'problem b'])
    await net.run(5_000)
    expect([a.told.at(-1), b.told.at(-1)]).toEqual(['+b', '+a'])
  })

  test('limitLinks makes a line, which relays and stays a line', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b, c] = (await mesh(net, 'a', 'b', 'c')) as [Host, Host, Host]
    net.limitLinks([
      [a, b],
      [b, c],
    ])
    await net.run(100)
    expect([a, b, c].map(({ transport }) => transport.neighbours().length)).toEqual([1, 2, 1])
    await a.transport.publish(encode('x'))
    net.heal()
    await net.run(60_000)
    expect(heard(c, a)).toEqual(['a via b: x'])
    expect([a, b, c].map(({ transport }) => transport.neighbours().length)).toEqual([1, 2, 1])
    net.cutLink(a, b)
    await net.run(60_000)
    expect([a, b, c].map(({ transport }) => transport.neighbours().length)).toEqual([0, 1, 1])
  })

  test('C25: the faults of one node are its own', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b, c] = (await mesh(net, 'a', 'b', 'c')) as [Host, Host, Host]
    net.setFaults(a, [b, c], { loss: 1 })
    await b.transport.publish(encode('x'))
    await net.run(100)
    expect([heard(a, b).length, heard(c, b).length]).toEqual([0, 1])
  })

  test('counts and shows what is sent', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, b] = (await mesh(net, 'a', 'b')) as [Host, Host]
    const before = net.traffic
    const shown: string[] = []
    const stop = net.tap(({ from, to, kind, payload }) => {
      if (payload !== undefined) shown.push(`${from} > ${to} ${kind} ${decode(payload)}`)
    })
    await a.transport.publish(encode('hello'))
    const opening = b.transport.open('a', 'sync', never())
    await net.run(100)
    await (await opening).send(encode('ab'))
    await net.run(100)
    stop()
    await a.transport.publish(encode('unseen'))
    expect(shown).toEqual(['/memory/a > /memory/b gossip hello', '/memory/b > /memory/a sync ab'])
    expect(net.traffic.gossip).toEqual({
      messages: before.gossip.messages + 2,
      bytes: before.gossip.bytes + 'hello'.length + 'unseen'.length,
    })
    expect(net.traffic.sync).toEqual({ messages: before.sync.messages + 1, bytes: before.sync.bytes + 2 })
  })

  test('a failure names the seed, the moment and what happened last, once', async () => {
    const failing = simulate({ seed: 4711 }, async (net) => {
      net.note('before')
      await net.run(5)
      net.clock.setTimer(() => {
        throw new Error('boom')
      }, 7)
      await net.run(100)
    })
    const failure = await failing.catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(SimulationFailure)
    const { message, cause } = failure as SimulationFailure
    expect(message).toBe('seed 4711, at 12.000 ms: boom\n       0.000 before')
    expect((cause as Error).message).toBe('boom')
    await expect(new SimulatedNetwork({ seed: 3 }).until('pigs fly', 50, () => false)).rejects.toThrow(
      'seed 3, at 50.000 ms: not within 50 ms: pigs fly',
    )
  })

  test('the same seed gives the same run to the last digit, another seed another', async () => {
    const options: Omit<SimulatedNetworkOptions, 'seed'> = {
      loss: 0.1,
      repeat: 0.05,
      reorder: 0.05,
      logLimit: 100_000,
    }
    async function run(seed: number): Promise<string[]> {
      const net = new SimulatedNetwork({ seed, ...options })
      const hosts = await mesh(net, 'a', 'b', 'c', 'd')
      for (const one of hosts) {
        const tick = (): void => {
          void one.transport.publish(encode(String(one.clock.now())))
          one.clock.setTimer(tick, 500)
        }
        one.clock.setTimer(tick, net.random.fork(`tick ${one.id}`).between(0, 500))
      }
      await net.run(5_000)
      net.partition(hosts.slice(0, 2), hosts.slice(2))
      await net.run(20_000)
      net.heal()
      hosts[3]!.clock.stall(3_000)
      await net.run(10_000)
      return [...net.log(), ...hosts.flatMap(({ told }) => told)]
    }
    const first = await run(42)
    expect(first.length).toBeGreaterThan(1_000)
    expect(await run(42)).toEqual(first)
    expect(await run(43)).not.toEqual(first)
  })
})
