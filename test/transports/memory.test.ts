import { describe, expect, test } from 'vitest'
import { SimulatedNetwork } from '../../src/testing/network.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { SeenMessages } from '../../src/transports/memory/seen-messages.ts'
import { MemoryTransport, memoryTransport } from '../../src/transports/memory/transport.ts'
import type { Channel, Transport, TransportEvents } from '../../src/tracker/ports.ts'
import { transportContract } from './contract.ts'

function memoryOf(transport: Transport): MemoryTransport {
  if (transport instanceof MemoryTransport) return transport
  throw new Error('not a memory transport')
}

transportContract('memory', () => {
  const network = new MemoryNetwork()
  return Promise.resolve({
    deadlineMs: 5_000,
    // One window and one message.
    maxHeldBytes: 256 * 1024 + 64 * 1024,
    create: ({ identity, join }) =>
      Promise.resolve(
        memoryTransport(network, { ...(identity === undefined ? {} : { id: identity }), join: join ?? [] }),
      ),
    sever: (a, b) => {
      memoryOf(a).sever(b.id)
      return Promise.resolve()
    },
    destroy: (transport) => {
      memoryOf(transport).crash()
      return Promise.resolve()
    },
    close: () => Promise.resolve(),
  })
})

interface Told {
  readonly events: TransportEvents
  /** `+b`, `-b`, `refused b`, `problem b`, `b via c: text`. */
  readonly lines: string[]
  readonly channels: Channel[]
  /** Peers to which a dial was not answered, one for each dial. */
  readonly unreachable: string[]
}

function listen(): Told {
  const lines: string[] = []
  const channels: Channel[] = []
  const unreachable: string[] = []
  return {
    lines,
    channels,
    unreachable,
    events: {
      gossip(author, via, message) {
        lines.push(`${author} via ${via}: ${new TextDecoder().decode(message)}`)
        return true
      },
      opened: (_peer, _purpose, channel) => channels.push(channel),
      connected: (peer) => lines.push(`+${peer}`),
      disconnected: (peer) => lines.push(`-${peer}`),
      refused: (peer) => lines.push(`refused ${peer}`),
      unreachable: (peer) => unreachable.push(peer),
      mute: () => Promise.resolve(),
      problem: (where) => lines.push(`problem ${where}`),
    },
  }
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const never = (): AbortSignal => new AbortController().signal

/** Two connected transports on virtual time. */
async function pair(net: SimulatedNetwork): Promise<[MemoryTransport, Told, MemoryTransport, Told]> {
  const a = net.transport({ id: 'a' })
  const b = net.transport({ id: 'b', join: a.addresses() })
  const [atA, atB] = [listen(), listen()]
  await a.start(atA.events)
  await b.start(atB.events)
  await net.until('connected', 1_000, () => a.neighbours().length + b.neighbours().length === 2)
  return [a, atA, b, atB]
}

describe('memory transport', () => {
  test('refuses an address that is none, and one that is in use', async () => {
    const network = new MemoryNetwork()
    for (const options of [{ address: 'x' }, { address: '/memory/' }, { join: ['/ip4/127.0.0.1/tcp/1'] }]) {
      expect(() => memoryTransport(network, options)).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_INVALID_ADDRESS' }),
      )
    }
    const first = memoryTransport(network, { address: '/memory/x' })
    const second = memoryTransport(network, { address: '/memory/x' })
    await first.start(listen().events)
    await expect(second.start(listen().events)).rejects.toMatchObject({ code: 'ROLLCALL_START_FAILED' })
    await expect(first.start(listen().events)).rejects.toMatchObject({ code: 'ROLLCALL_START_FAILED' })
    await second.stop()
    const meanwhile = memoryTransport(network, { address: '/memory/x' })
    await expect(meanwhile.start(listen().events)).rejects.toMatchObject({ code: 'ROLLCALL_START_FAILED' })
    await first.stop()
    const third = memoryTransport(network, { address: '/memory/x' })
    await third.start(listen().events)
    await third.stop()
  })

  test('does not dial itself', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const told = listen()
    const alone = net.transport({ id: 'a', join: ['/memory/a'] })
    await alone.start(told.events)
    alone.learn('a', ['/memory/a'])
    alone.learn('b', ['/memory/a', '/ip4/127.0.0.1/tcp/1'])
    await net.run(10_000)
    expect([told.lines, net.traffic.control.messages]).toEqual([[], 0])
  })

  test('never calls back within a call', async () => {
    const network = new MemoryNetwork()
    const a = memoryTransport(network, { id: 'a' })
    const b = memoryTransport(network, { id: 'b', join: a.addresses() })
    const [atA, atB] = [listen(), listen()]
    await a.start(atA.events)
    void b.start(atB.events)
    expect([atA.lines, atB.lines]).toEqual([[], []])
    while (a.neighbours().length + b.neighbours().length < 2)
      await new Promise((resolve) => setImmediate(resolve))
    void a.publish(encode('x'))
    a.open('b', 'sync', never()).catch(() => undefined)
    expect([atB.lines, atB.channels]).toEqual([['+a'], []])
    await a.stop()
    expect(atB.lines.filter((line) => line.startsWith('-'))).toEqual([])
    await b.stop()
  })

  test('copies what it sends, so a buffer can be used again', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, , , atB] = await pair(net)
    const buffer = encode('first')
    await a.publish(buffer)
    buffer.fill(0)
    buffer.set(encode('other'))
    const channel = await net.settle(a.open('b', 'sync', never()))
    await channel.send(buffer)
    buffer.fill(0)
    await net.run(100)
    expect(atB.lines).toContain('a via a: first')
    const read = await net.settle(atB.channels[0]!.messages[Symbol.asyncIterator]().next())
    expect(read).toEqual({ done: false, value: encode('other') })
  })

  test('holds a sender at one window and one message, and lets it go on by what is read', async () => {
    const net = new SimulatedNetwork({ seed: 1, windowBytes: 1_000 })
    const [a, , , atB] = await pair(net)
    const channel = await net.settle(a.open('b', 'sync', never()))
    let sent = 0
    void (async () => {
      for (; sent < 100; sent += 1) await channel.send(new Uint8Array(300))
    })()
    await net.run(1_000)
    expect(sent).toBe(4)
    const messages = atB.channels[0]!.messages[Symbol.asyncIterator]()
    for (let read = 0; read < 2; read += 1) await messages.next()
    await net.run(1_000)
    expect(sent).toBe(6)
  })

  test('a reader that leaves its loop holds the sender, and frees it by closing', async () => {
    const net = new SimulatedNetwork({ seed: 1, windowBytes: 1_000 })
    const [a, , , atB] = await pair(net)
    const near = await net.settle(a.open('b', 'sync', never()))
    let sent = 0
    let failed = false
    const sending = (async () => {
      for (;;) {
        await near.send(new Uint8Array(600))
        sent += 1
      }
    })().catch(() => (failed = true))
    await net.run(100)
    const far = atB.channels[0]!
    const read = (async () => {
      for await (const message of far.messages) return message.length
      return 0
    })()
    expect(await net.settle(read)).toBe(600)
    await net.run(60_000)
    expect([sent, failed]).toEqual([3, false])
    void far.close()
    await net.settle(sending)
    // The peer has said all it had to say: reading ends cleanly although sending failed.
    expect(await net.settle(near.messages[Symbol.asyncIterator]().next())).toEqual({
      done: true,
      value: undefined,
    })
  })

  test('gives up opening a channel when the signal aborts or the peer goes meanwhile', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, , b, atB] = await pair(net)
    net.partition('/memory/a', '/memory/b')
    const controller = new AbortController()
    const opening = a.open('b', 'sync', controller.signal)
    await net.run(100)
    controller.abort(new Error('no time'))
    await expect(opening).rejects.toMatchObject({
      code: 'ROLLCALL_PEER_UNREACHABLE',
      cause: { message: 'no time' },
    })
    net.heal()
    const doomed = a.open('b', 'sync', never())
    b.crash()
    await expect(net.settle(doomed)).rejects.toMatchObject({ code: 'ROLLCALL_PEER_UNREACHABLE' })
    expect(atB.channels).toEqual([])
  })

  test('probe: alive over a connection, unknown when it is cut, refused when the process is gone', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, , b] = await pair(net)
    expect(await net.settle(a.examine('b'))).toBe('alive')
    net.isolate('/memory/b')
    expect(await net.settle(a.examine('b'))).toBe('unknown')
    await net.run(60_000)
    expect(a.neighbours()).toEqual([])
    expect(await net.settle(a.examine('b'))).toBe('unknown')
    net.heal()
    await net.run(5_000)
    expect(a.neighbours()).toEqual(['b'])
    b.crash()
    expect(await net.settle(a.examine('b'))).toBe('refused')
    expect(await net.settle(a.examine('nobody'))).toBe('unknown')
  })

  test('a refused dial is told each time, an unanswered one once until it is answered', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [, atA, b] = await pair(net)
    net.isolate('/memory/b')
    await net.run(60_000)
    expect(atA.lines).toEqual(['+b', '-b', 'problem b'])
    // The reports are for people; what follows from them is decided anew each time.
    expect(atA.unreachable.length).toBeGreaterThan(9)
    expect(new Set(atA.unreachable)).toEqual(new Set(['b']))
    net.heal()
    await net.run(5_000)
    b.crash()
    await net.run(10_000)
    const [connected, lost, ...refusals] = atA.lines.slice(3)
    expect([connected, lost]).toEqual(['+b', '-b'])
    // One a second at most, at least half a second apart: 10 to 20 in ten seconds, after a few quick ones.
    expect(refusals.length).toBeGreaterThan(9)
    expect(refusals.length).toBeLessThan(26)
    expect(new Set(refusals)).toEqual(new Set(['refused b']))
  })

  test('two processes with one identity are both heard, and do not throw each other out', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, atA, b] = await pair(net)
    const twin = net.transport({ id: 'b', address: '/memory/twin', join: a.addresses() })
    await twin.start(listen().events)
    await net.run(60_000)
    expect(atA.lines).toEqual(['+b'])
    await b.publish(encode('one'))
    await twin.publish(encode('other'))
    await net.run(100)
    expect(atA.lines.slice(1).sort()).toEqual(['b via b: one', 'b via b: other'])
    twin.crash()
    await net.run(100)
    expect(atA.lines.filter((line) => line.startsWith('-'))).toEqual([])
  })

  test('what a link repeats is delivered again, but not passed on again', async () => {
    const net = new SimulatedNetwork({ seed: 1, repeat: 0 })
    const told = new Map<string, Told>()
    const transports: MemoryTransport[] = []
    for (const id of ['a', 'b', 'c']) {
      const transport = net.transport({ id, join: ['/memory/b'] })
      transports.push(transport)
      told.set(id, listen())
      await transport.start(told.get(id)!.events)
    }
    net.limitLinks([
      ['/memory/a', '/memory/b'],
      ['/memory/b', '/memory/c'],
    ])
    await net.run(1_000)
    net.setFaults('/memory/a', '/memory/b', { repeat: 1 })
    const { messages } = net.traffic.gossip
    await transports[0]!.publish(encode('x'))
    await net.run(10_000)
    expect(net.traffic.gossip.messages - messages).toBe(2)
    const count = (id: string): number => told.get(id)!.lines.filter((line) => line.endsWith(': x')).length
    expect([count('a'), count('b'), count('c')]).toEqual([0, 2, 1])
  })

  test('a reset does not overtake gossip sent before it', async () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const net = new SimulatedNetwork({ seed, delayMs: [1, 50] })
      const [a, , , atB] = await pair(net)
      await a.publish(encode('goodbye'))
      await a.stop()
      await net.run(1_000)
      expect(atB.lines.slice(0, 3)).toEqual(['+a', 'a via a: goodbye', '-a'])
    }
  })

  test('who speaks over a connection that is none any more is told at once, though word of its end got lost', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const net = new SimulatedNetwork({ seed, delayMs: [1, 5] })
      const [a, atA, b] = await pair(net)
      net.oneWay(b, a)
      b.crash()
      // By now the reset is sent again every second.
      await net.run(2_700)
      net.heal()
      expect(atA.lines).toEqual(['+b'])
      if (seed % 2 === 0) await a.publish(encode('anyone?'))
      else void a.open('b', 'sync', never()).catch(() => undefined)
      await net.run(10)
      expect(atA.lines.slice(0, 2)).toEqual(['+b', '-b'])
    }
  })

  test('a dial is sent again when who took it dies before the dialler hears of it', async () => {
    const net = new SimulatedNetwork({ seed: 1, delayMs: [1, 5] })
    const a = net.transport({ id: 'a' })
    const b = net.transport({ id: 'b', join: a.addresses() })
    await a.start(listen().events)
    net.oneWay(a, b)
    await b.start(listen().events)
    await net.run(100)
    a.crash()
    await net.run(50)
    net.heal()
    const next = net.transport({ id: 'next', address: a.address })
    await next.start(listen().events)
    await net.until('they are connected', 300, () => b.neighbours().includes('next'))
  })

  test('a dial for a former node at an address does not keep the new one there from dialling in', async () => {
    const net = new SimulatedNetwork({ seed: 1, delayMs: [1, 5] })
    const a = net.transport({ id: 'a' })
    await a.start(listen().events)
    const b = net.transport({ id: 'b', address: '/memory/b' })
    await b.start(listen().events)
    b.crash()
    net.oneWay('/memory/b', a)
    a.learn('b', ['/memory/b'])
    await net.run(10)
    net.heal()
    // The dial for b waits to be sent again.
    const next = net.transport({ id: 'next', address: '/memory/b', join: a.addresses() })
    await next.start(listen().events)
    await net.until('they are connected', 20, () => a.neighbours().includes('next'), 1)
  })

  test('a close that waits for room resolves when the peer dies', async () => {
    const net = new SimulatedNetwork({ seed: 1, windowBytes: 100 })
    const [a, , b] = await pair(net)
    const channel = await net.settle(a.open('b', 'sync', never()))
    const sending = Promise.allSettled([1, 2, 3].map(() => channel.send(new Uint8Array(100))))
    let closed = false
    void channel.close().then(() => (closed = true))
    await net.run(1_000)
    expect(closed).toBe(false)
    b.crash()
    await net.run(100)
    expect(closed).toBe(true)
    expect((await sending).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  test('one of several addresses is enough to connect, and no proof when the others refuse', async () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const net = new SimulatedNetwork({ seed })
      const [a, atA] = await pair(net)
      const c = net.transport({ id: 'c' })
      await c.start(listen().events)
      a.learn('c', ['/memory/nobody', '/memory/c', '/memory/nowhere'])
      await net.run(1_000)
      expect(atA.lines).toEqual(['+b', '+c'])
    }
  })

  test('after stop and forget nothing is sent any more, whatever was lost', async () => {
    const net = new SimulatedNetwork({ seed: 1 })
    const [a, , b] = await pair(net)
    net.isolate('/memory/b')
    await a.publish(encode('x'))
    await net.run(30_500)
    expect([a.neighbours(), b.neighbours()]).toEqual([[], []])
    await b.stop()
    a.forget('b')
    await net.run(30_000)
    const { control } = net.traffic
    await net.run(600_000)
    expect(net.traffic.control).toEqual(control)
  })

  test('after a heal two nodes meet within a dial sent again and a pause', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const net = new SimulatedNetwork({ seed })
      const [a] = await pair(net)
      net.isolate('/memory/b')
      await net.run(60_000 + 137 * seed)
      net.heal()
      await net.until('they meet', 2_100, () => a.neighbours().length > 0)
    }
  })

  // Two lives at one address that come and go over a link that loses half of everything.
  test('a neighbour is connected and disconnected in turn, whatever is lost', async () => {
    let lives = 0
    for (let seed = 0; seed < 60; seed += 1) {
      const net = new SimulatedNetwork({ seed, loss: 0.5, partitionNoticeMs: 3_000, dialTimeoutMs: 1_000 })
      const random = net.random.fork('test')
      const told = listen()
      const a = net.transport({ id: 'a', join: ['/memory/b'] })
      await a.start(told.events)
      for (let life = 0; life < 10; life += 1) {
        const b = net.transport({ id: 'b', join: random.chance(0.5) ? ['/memory/a'] : [] })
        await b.start(listen().events)
        await net.run(random.between(0, 1_500))
        b.crash()
        await net.run(random.between(0, 1_500))
      }
      const turns = told.lines.filter((line) => line === '+b' || line === '-b').join('')
      expect(turns).toMatch(/^(\+b-b)*(\+b)?$/)
      lives += turns.length / 4
    }
    expect(lives).toBeGreaterThan(100)
  })
})

test('SeenMessages remembers at least as many as one generation, and is bounded', () => {
  const seen = new SeenMessages()
  const wrong: number[] = []
  for (let serial = 0; serial < 100_000; serial += 1) {
    if (!seen.add(serial)) wrong.push(serial)
    if (serial >= 4_000 && seen.add(serial - 4_000)) wrong.push(serial)
  }
  expect(wrong).toEqual([])
  expect(seen.add(50_000)).toBe(true)
})
