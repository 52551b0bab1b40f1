import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NodeId } from '../../src/core/frame.ts'
import type { RollcallError } from '../../src/errors.ts'
import type { Channel, ChannelPurpose, Transport, TransportEvents } from '../../src/tracker/ports.ts'

/** What the suite needs of a transport beside the port. One harness lives for one test. */
export interface TransportHarness {
  /** How long any condition may take before the test fails. */
  readonly deadlineMs: number
  /** Upper bound of what a sender can push into a reader that stands still: windows and buffers of both sides. */
  readonly maxHeldBytes: number
  /**
   * A transport that is not started. The same `identity` gives the same node id again; without one it is new.
   * `join`: addresses of others.
   */
  create(options: { readonly identity?: string; readonly join?: readonly string[] }): Promise<Transport>
  /** Drops every connection between two live transports, as a reset does. Both may dial again. */
  sever(a: Transport, b: Transport): Promise<void>
  /** As kill -9: connections are reset, nothing listens any more, no goodbye. The suite never uses it again. */
  destroy(transport: Transport): Promise<void>
  /** Releases what the harness itself holds. Transports were stopped before. */
  close(): Promise<void>
}

interface Heard {
  readonly author: NodeId
  readonly via: NodeId
  readonly text: string
  readonly bytes: Uint8Array
}

/** Records what a transport says. `relay` decides what it passes on. */
class Recorder implements TransportEvents {
  readonly heard: Heard[] = []
  readonly channels: {
    readonly peer: NodeId
    readonly purpose: ChannelPurpose
    readonly channel: Channel
  }[] = []
  /** Life of neighbours in order: '+id' and '-id'. */
  readonly links: string[] = []
  readonly refusals: NodeId[] = []
  readonly problems: { readonly where: string; readonly error: RollcallError }[] = []
  /** Every call of any kind. */
  calls = 0
  relay: (text: string) => boolean = () => true

  gossip(author: NodeId, via: NodeId, bytes: Uint8Array): boolean {
    this.calls += 1
    const text = decode(bytes)
    this.heard.push({ author, via, text, bytes })
    return this.relay(text)
  }

  mute(): Promise<void> {
    this.calls += 1
    return Promise.resolve()
  }

  opened(peer: NodeId, purpose: ChannelPurpose, channel: Channel): void {
    this.calls += 1
    this.channels.push({ peer, purpose, channel })
  }

  connected(peer: NodeId): void {
    this.calls += 1
    this.links.push(`+${peer}`)
  }

  disconnected(peer: NodeId): void {
    this.calls += 1
    this.links.push(`-${peer}`)
  }

  unreachable(): void {
    this.calls += 1
  }

  refused(peer: NodeId): void {
    this.calls += 1
    this.refusals.push(peer)
  }

  problem(where: string, error: RollcallError): void {
    this.calls += 1
    this.problems.push({ where, error })
  }

  linksOf(peer: NodeId): string {
    return this.links
      .filter((link) => link.slice(1) === peer)
      .map((link) => link.charAt(0))
      .join('')
  }
}

interface Node {
  readonly transport: Transport
  readonly events: Recorder
  readonly id: NodeId
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const POLL_MS = 5

const turn = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function until(
  what: string,
  deadlineMs: number,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    await turn(POLL_MS)
  }
}

/** Resolves once `value` has not moved for half a second: a sender is held, not merely slow. */
async function settled(value: () => number): Promise<number> {
  let last = value()
  let since = performance.now()
  while (performance.now() - since < 500) {
    await turn(POLL_MS)
    if (value() === last) continue
    last = value()
    since = performance.now()
  }
  return last
}

async function readAll(channel: Channel): Promise<Uint8Array[]> {
  const read: Uint8Array[] = []
  for await (const message of channel.messages) read.push(message)
  return read
}

async function codeOf(failing: Promise<unknown>): Promise<string> {
  try {
    await failing
  } catch (error) {
    return (error as RollcallError).code
  }
  return 'nothing was thrown'
}

const never = (): AbortSignal => new AbortController().signal

/** Runs the whole Transport contract. Every implementation of the port passes the same suite. */
export function transportContract(name: string, createHarness: () => Promise<TransportHarness>): void {
  describe(`Transport contract: ${name}`, () => {
    let harness: TransportHarness
    let transports: Transport[] = []

    beforeEach(async () => {
      harness = await createHarness()
    })

    afterEach(async () => {
      await Promise.all(transports.map((transport) => transport.stop()))
      transports = []
      await harness.close()
    })

    const wait = (what: string, condition: () => boolean | Promise<boolean>): Promise<void> =>
      until(what, harness.deadlineMs, condition)

    async function create(options: { identity?: string; join?: readonly string[] } = {}): Promise<Transport> {
      const transport = await harness.create(options)
      transports.push(transport)
      return transport
    }

    async function start(...join: readonly Node[]): Promise<Node> {
      const transport = await create({ join: join.flatMap((node) => node.transport.addresses()) })
      return started(transport)
    }

    async function started(transport: Transport): Promise<Node> {
      const events = new Recorder()
      await transport.start(events)
      return { transport, events, id: transport.id }
    }

    const linked = (a: Node, b: Node): boolean =>
      a.transport.neighbours().includes(b.id) && b.transport.neighbours().includes(a.id)

    const link = (a: Node, b: Node): Promise<void> => wait('two nodes are neighbours', () => linked(a, b))

    /** A and B neighbours. */
    async function pair(): Promise<[Node, Node]> {
      const a = await start()
      const b = await start(a)
      await link(a, b)
      return [a, b]
    }

    /** A–B–C: A and C know nothing of each other. */
    async function line(): Promise<[Node, Node, Node]> {
      const b = await start()
      const a = await start(b)
      const c = await start(b)
      await link(a, b)
      await link(b, c)
      return [a, b, c]
    }

    let round = 0

    /** Gossip promises no single message, so publish one after the other until enough arrived. */
    async function publishUntil(node: Node, text: string, what: string, done: () => boolean): Promise<void> {
      await wait(what, async () => {
        round += 1
        await node.transport.publish(encode(`${text} ${round}`))
        await turn(20)
        return done()
      })
    }

    const countOf = (node: Node, text: string): number =>
      node.events.heard.filter((heard) => heard.text.startsWith(text)).length

    /** An open channel and its other end. */
    async function channel(
      from: Node,
      to: Node,
      purpose: ChannelPurpose = 'sync',
    ): Promise<[Channel, Channel]> {
      const before = to.events.channels.length
      const near = await from.transport.open(to.id, purpose, never())
      await wait('the peer sees the channel', () => to.events.channels.length > before)
      const far = to.events.channels[before]!
      expect([far.peer, far.purpose]).toEqual([from.id, purpose])
      return [near, far.channel]
    }

    describe('identity and neighbours', () => {
      test('the id is known before start, and stays', async () => {
        const a = await create({ identity: 'a' })
        const b = await create({ identity: 'b' })
        const before = a.id
        expect(before).not.toBe('')
        expect(before).not.toBe(b.id)
        await a.start(new Recorder())
        expect(a.id).toBe(before)
        expect(a.addresses().length).toBeGreaterThan(0)
      })

      test('joining makes neighbours on both sides, said once', async () => {
        const [a, b] = await pair()
        // Knowing each other's addresses as well must not bring a second connection to light.
        a.transport.learn(b.id, b.transport.addresses())
        b.transport.learn(a.id, a.transport.addresses())
        await publishUntil(a, 'x', 'b hears a', () => countOf(b, 'x') > 0)
        await publishUntil(b, 'y', 'a hears b', () => countOf(a, 'y') > 0)
        expect(a.events.linksOf(b.id)).toBe('+')
        expect(b.events.linksOf(a.id)).toBe('+')
        expect(a.transport.neighbours()).toEqual([b.id])
        expect(b.transport.neighbours()).toEqual([a.id])
      })

      test('two nodes that join each other at once become neighbours, said once', async () => {
        const a = await start()
        const b = await start()
        a.transport.learn(b.id, b.transport.addresses())
        b.transport.learn(a.id, a.transport.addresses())
        await link(a, b)
        await publishUntil(a, 'x', 'b hears a', () => countOf(b, 'x') > 0)
        await publishUntil(b, 'y', 'a hears b', () => countOf(a, 'y') > 0)
        expect(a.events.linksOf(b.id)).toBe('+')
        expect(b.events.linksOf(a.id)).toBe('+')
      })

      test('learn dials, whichever of the two learns', async () => {
        const a = await start()
        const b = await start()
        const c = await start()
        const [low, middle, high] = [a, b, c].sort((x, y) => (x.id < y.id ? -1 : 1)) as [Node, Node, Node]
        low.transport.learn(middle.id, middle.transport.addresses())
        high.transport.learn(middle.id, middle.transport.addresses())
        await link(low, middle)
        await link(high, middle)
      })

      test('learn replaces earlier addresses', async () => {
        const gone = await start()
        const there = await start()
        const a = await start()
        const deadAddresses = gone.transport.addresses()
        await harness.destroy(gone.transport)
        a.transport.learn(there.id, deadAddresses)
        a.transport.learn(there.id, there.transport.addresses())
        await link(a, there)
      })

      test('a seed that is not there yet is tried until it is', async () => {
        const first = await create({ identity: 'seed' })
        const seed = await started(first)
        const addresses = first.addresses()
        await harness.destroy(seed.transport)
        const a = await started(await create({ join: addresses }))
        await wait('the dead seed is reported', () => a.events.problems.length > 0)
        expect(a.events.problems[0]?.error.code).toBe('ROLLCALL_PEER_UNREACHABLE')
        expect(a.transport.neighbours()).toEqual([])
      })

      test('a dropped connection is told on both sides and comes back by itself, without proof of death', async () => {
        const [a, b] = await pair()
        a.transport.learn(b.id, b.transport.addresses())
        b.transport.learn(a.id, a.transport.addresses())
        await harness.sever(a.transport, b.transport)
        await wait('both say so and meet again', () =>
          [a.events.linksOf(b.id), b.events.linksOf(a.id)].every((life) => /^\+(-\+)+$/.test(life)),
        )
        await link(a, b)
        await publishUntil(a, 'again', 'b hears a again', () => countOf(b, 'again') > 0)
        expect(a.events.refusals).toEqual([])
        expect(b.events.refusals).toEqual([])
      })

      test('a neighbour that is hung up is dialled again, without proof of death', async () => {
        const [a, b] = await pair()
        a.transport.learn(b.id, b.transport.addresses())
        b.transport.learn(a.id, a.transport.addresses())
        a.transport.hangUp(b.id, 'a test')
        await wait('both say so and meet again', () =>
          [a.events.linksOf(b.id), b.events.linksOf(a.id)].every((life) => /^\+(-\+)+$/.test(life)),
        )
        expect([...a.events.refusals, ...b.events.refusals]).toEqual([])
        a.transport.hangUp('nobody', 'a test')
      })

      test('forget stops dialling', async () => {
        const [a, b] = await pair()
        const witness = await start()
        a.transport.learn(witness.id, witness.transport.addresses())
        await link(a, witness)
        // B joined A by A's address, which nothing makes it forget, so it is B's process that goes.
        a.transport.forget(b.id)
        await harness.destroy(b.transport)
        await wait('a sees b go', () => a.events.linksOf(b.id) === '+-')
        // The witness shows that the dial loop of A went round, twice.
        for (const life of ['+-+', '+-+-+']) {
          await harness.sever(a.transport, witness.transport)
          await wait('the witness is dialled again', () => a.events.linksOf(witness.id) === life)
        }
        expect(a.events.refusals).toEqual([])
        expect(a.events.linksOf(b.id)).toBe('+-')
      })
    })

    describe('gossip', () => {
      test('reaches a node without a direct connection, with its author and the neighbour that brought it', async () => {
        const [a, b, c] = await line()
        await publishUntil(a, 'hello', 'c hears a', () => countOf(c, 'hello') > 0)
        await publishUntil(c, 'back', 'a hears c', () => countOf(a, 'back') > 0)
        const atC = c.events.heard.filter((heard) => heard.text.startsWith('hello'))
        expect(atC.every((heard) => heard.author === a.id && heard.via === b.id)).toBe(true)
        const atB = b.events.heard.filter((heard) => heard.text.startsWith('hello'))
        expect(atB.every((heard) => heard.author === a.id && heard.via === a.id)).toBe(true)
        expect(c.transport.neighbours()).toEqual([b.id])
      })

      test('never comes back to its author, and comes to the others once', async () => {
        const nodes = [await start()]
        nodes.push(await start(nodes[0]!), await start(nodes[0]!))
        for (const one of nodes) {
          for (const other of nodes)
            if (one !== other) one.transport.learn(other.id, other.transport.addresses())
        }
        const [a, b, c] = nodes as [Node, Node, Node]
        await Promise.all([link(a, b), link(b, c), link(a, c)])
        for (const node of nodes) {
          const others = nodes.filter((other) => other !== node)
          await publishUntil(node, node.id, 'all hear it', () =>
            others.every((other) => countOf(other, node.id) > 4),
          )
        }
        for (const node of nodes) {
          expect(node.events.heard.filter((heard) => heard.author === node.id)).toEqual([])
          const texts = node.events.heard.map((heard) => heard.text)
          expect(new Set(texts).size).toBe(texts.length)
        }
      })

      test('is not passed on by a node whose handler says false', async () => {
        const [a, b, c] = await line()
        b.events.relay = (text) => !text.startsWith('secret')
        await publishUntil(a, 'secret', 'b hears secrets', () => countOf(b, 'secret') > 4)
        await publishUntil(a, 'open', 'c hears the rest', () => countOf(c, 'open') > 4)
        expect(countOf(c, 'secret')).toBe(0)
      })

      test('carries bytes unchanged, up to 256 KiB', async () => {
        const [a, b] = await pair()
        const bytes = Uint8Array.from(
          { length: 256 * 1024 },
          (_, index) => (index * 31 + (index >> 8)) & 0xff,
        )
        await wait('b hears the big message', async () => {
          round += 1
          new DataView(bytes.buffer).setUint32(0, round)
          await a.transport.publish(bytes.slice())
          await turn(50)
          return b.events.heard.length > 0
        })
        const got = b.events.heard[0]!.bytes
        expect(Buffer.compare(got.subarray(4), bytes.subarray(4))).toBe(0)
      })

      test('alone is a no-op', async () => {
        const a = await start()
        await expect(a.transport.publish(encode('nobody'))).resolves.toBeUndefined()
        expect(a.events.calls).toBe(0)
      })
    })

    describe('channels', () => {
      test('open both ways for each purpose, echo, and end cleanly', async () => {
        const [a, b] = await pair()
        for (const [from, to, purpose] of [
          [a, b, 'sync'],
          [b, a, 'sync'],
          [a, b, 'probe'],
          [b, a, 'probe'],
        ] as const) {
          const [near, far] = await channel(from, to, purpose)
          const echo = (async () => {
            for await (const message of far.messages) await far.send(message)
            await far.close()
          })()
          const answers = readAll(near)
          const sent = ['one', '', 'three'].map(encode)
          for (const message of sent) await near.send(message)
          await near.close()
          await echo
          expect((await answers).map(decode)).toEqual(['one', '', 'three'])
        }
      })

      test('several at once do not mix', async () => {
        const [a, b] = await pair()
        const pairs = [await channel(a, b), await channel(a, b), await channel(b, a)]
        await Promise.all(
          pairs.map(async ([near, far], index) => {
            const read = readAll(far)
            for (let n = 0; n < 20; n += 1) await near.send(encode(`${index}:${n}`))
            await near.close()
            expect((await read).map(decode)).toEqual(Array.from({ length: 20 }, (_, n) => `${index}:${n}`))
            await far.close()
          }),
        )
      })

      test('carry 2,000 messages of all sizes in order', async () => {
        const [a, b] = await pair()
        const [near, far] = await channel(a, b)
        const size = (index: number): number => (index % 500 === 499 ? 1024 * 1024 : (index * 37) % 3_000)
        const reading = (async () => {
          let index = 0
          for await (const message of far.messages) {
            if (message.length !== size(index) || message.some((byte) => byte !== (index & 0xff)))
              return -index
            index += 1
          }
          return index
        })()
        for (let index = 0; index < 2_000; index += 1) {
          await near.send(new Uint8Array(size(index)).fill(index & 0xff))
        }
        await near.close()
        expect(await reading).toBe(2_000)
        await far.close()
      })

      test('hold a sender while the reader stands still, and lose nothing', async () => {
        const [a, b] = await pair()
        const [near, far] = await channel(a, b)
        const chunk = 64 * 1024
        const count = Math.ceil((2 * harness.maxHeldBytes) / chunk)
        let sent = 0
        const sending = (async () => {
          for (; sent < count; sent += 1) await near.send(new Uint8Array(chunk).fill(sent & 0xff))
          await near.close()
        })()
        const held = await settled(() => sent)
        expect(held * chunk).toBeLessThanOrEqual(harness.maxHeldBytes)
        const read = await readAll(far)
        await sending
        expect(read.map((message) => message[0])).toEqual(
          Array.from({ length: count }, (_, index) => index & 0xff),
        )
        await far.close()
      })

      test('a side that has closed can still read what the other says', async () => {
        const [a, b] = await pair()
        const [near, far] = await channel(a, b)
        await near.send(encode('question'))
        await near.close()
        expect((await readAll(far)).map(decode)).toEqual(['question'])
        await far.send(encode('answer'))
        await far.close()
        expect((await readAll(near)).map(decode)).toEqual(['answer'])
        await near.close()
        await expect(near.send(encode('late'))).rejects.toThrow()
      })

      test('an abort is a throw for both, never a clean end', async () => {
        const [a, b] = await pair()
        const [near, far] = await channel(a, b)
        await near.send(encode('begun'))
        const first = far.messages[Symbol.asyncIterator]()
        expect(decode((await first.next()).value as Uint8Array)).toBe('begun')
        const farther = first.next()
        const nearer = readAll(near)
        near.abort(new Error('enough'))
        near.abort(new Error('again'))
        const outcomes = await Promise.allSettled([farther, nearer])
        expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected'])
        await expect(near.send(encode('late'))).rejects.toThrow()
        await expect(near.close()).resolves.toBeUndefined()
        await expect(far.close()).resolves.toBeUndefined()
      })

      test('a peer that dies in the middle is a throw, never a clean end, and wakes a held sender', async () => {
        const [a, b] = await pair()
        const [near] = await channel(a, b)
        const reading = readAll(near)
        const sending = (async () => {
          for (;;) await near.send(new Uint8Array(64 * 1024))
        })()
        const outcomes = Promise.allSettled([reading, sending])
        await harness.destroy(b.transport)
        expect((await outcomes).map((outcome) => outcome.status)).toEqual(['rejected', 'rejected'])
        await expect(near.close()).resolves.toBeUndefined()
      })

      test('cannot be opened to a peer that is no neighbour', async () => {
        const [a, b] = await pair()
        const stranger = await create()
        expect(await codeOf(a.transport.open(stranger.id, 'sync', never()))).toBe('ROLLCALL_PEER_UNREACHABLE')
        await b.transport.stop()
        await wait('a sees b go', () => a.transport.neighbours().length === 0)
        expect(await codeOf(a.transport.open(b.id, 'sync', never()))).toBe('ROLLCALL_PEER_UNREACHABLE')
      })

      test('cannot be opened once the signal is aborted', async () => {
        const [a, b] = await pair()
        expect(await codeOf(a.transport.open(b.id, 'sync', AbortSignal.abort()))).toBe(
          'ROLLCALL_PEER_UNREACHABLE',
        )
        const [near, far] = await channel(a, b)
        near.abort(new Error('done'))
        far.abort(new Error('done'))
      })
    })

    describe('evidence', () => {
      test('a peer that died without goodbye is disconnected, then refused', async () => {
        const [a, b] = await pair()
        const c = await start(a)
        await link(a, c)
        await harness.destroy(b.transport)
        await wait('a has proof', () => a.events.refusals.includes(b.id))
        expect(a.events.linksOf(b.id)).toBe('+-')
        expect(a.events.refusals).not.toContain(c.id)
        expect(a.transport.neighbours()).toEqual([c.id])
      })

      test('a peer that was dead before it was learnt is refused', async () => {
        const a = await start()
        const b = await start()
        const addresses = b.transport.addresses()
        await harness.destroy(b.transport)
        a.transport.learn(b.id, addresses)
        await wait('a has proof', () => a.events.refusals.includes(b.id))
        expect(a.events.links).toEqual([])
      })

      test('examine tells the living, the dead and the unknown apart', async () => {
        const [a, b] = await pair()
        const dead = await start()
        a.transport.learn(dead.id, dead.transport.addresses())
        await link(a, dead)
        expect(await a.transport.examine(b.id)).toBe('alive')
        await harness.destroy(dead.transport)
        await wait('a sees it go', () => a.transport.neighbours().length === 1)
        expect(await a.transport.examine(dead.id)).toBe('refused')
        const stranger = await create()
        expect(await a.transport.examine(stranger.id)).toBe('unknown')
      })
    })

    describe('stop', () => {
      test('is idempotent, also at once and before start', async () => {
        const unborn = await create()
        await unborn.stop()
        const [a, b] = await pair()
        await Promise.all([a.transport.stop(), a.transport.stop()])
        await a.transport.stop()
        expect(a.transport.neighbours()).toEqual([])
        await wait('b sees a go', () => b.events.linksOf(a.id) === '+-')
      })

      test('calls nothing back after it has resolved', async () => {
        const [a, b, c] = await line()
        const [near, far] = await channel(a, b)
        const reading = Promise.allSettled([readAll(near), readAll(far)])
        await publishUntil(
          b,
          'before',
          'both hear b',
          () => countOf(a, 'before') > 0 && countOf(c, 'before') > 0,
        )
        const stopping = a.transport.stop()
        void b.transport.publish(encode('during'))
        await stopping
        const calls = a.events.calls
        await publishUntil(b, 'after', 'c hears b', () => countOf(c, 'after') > 4)
        await wait('b sees a go', () => b.events.linksOf(a.id) === '+-')
        expect(a.events.calls).toBe(calls)
        expect((await reading).every((outcome) => outcome.status === 'rejected')).toBe(true)
        expect(await codeOf(a.transport.open(b.id, 'sync', never()))).toBe('ROLLCALL_PEER_UNREACHABLE')
        await expect(a.transport.publish(encode('late'))).resolves.toBeUndefined()
      })

      test('racing with publish, both resolve', async () => {
        const [a, b] = await pair()
        await expect(
          Promise.all([
            a.transport.publish(encode('1')),
            a.transport.stop(),
            a.transport.publish(encode('2')),
            b.transport.publish(encode('3')),
          ]),
        ).resolves.toBeDefined()
      })

      test('an id that starts again is heard again', async () => {
        const a = await start()
        const first = await started(await create({ identity: 'phoenix', join: a.transport.addresses() }))
        await link(a, first)
        await publishUntil(first, 'first', 'a hears it', () => countOf(a, 'first') > 0)
        await first.transport.stop()
        await wait('a sees it go', () => a.events.linksOf(first.id) === '+-')
        const second = await started(await create({ identity: 'phoenix', join: a.transport.addresses() }))
        expect(second.id).toBe(first.id)
        await link(a, second)
        await publishUntil(second, 'second', 'a hears it again', () => countOf(a, 'second') > 0)
        expect(a.events.linksOf(first.id)).toBe('+-+')
      })
    })
  })
}
