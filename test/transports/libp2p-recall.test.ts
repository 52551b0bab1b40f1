import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { NodeId } from '../../src/core/frame.ts'
import type { DialResult } from '../../src/transports/libp2p/mesh.ts'
import { resolveMeshOptions } from '../../src/transports/libp2p/options.ts'
import { PeerBook } from '../../src/transports/libp2p/peer-book.ts'
import { Recall } from '../../src/transports/libp2p/recall.ts'
import { Reports } from '../../src/transports/libp2p/reports.ts'
import { decodeState, encodeState, type KnownPeer } from '../../src/transports/libp2p/state-file.ts'
import { strangers } from './libp2p-state-peers.ts'

let folder = ''
let file = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-recall-'))
  file = join(folder, 'state')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await rm(folder, { recursive: true, force: true })
})

const MINUTE_MS = 60_000
const REFUSED: DialResult = { ok: false, failure: 'unreachable', message: 'refused' }

/** A node around a recall: who it is connected with, what it dials, and what comes of it. */
class Surroundings {
  readonly book = new PeerBook()
  readonly dials: string[] = []
  readonly unwell: NodeId[] = []
  readonly problems: string[] = []
  neighbours: NodeId[] = []
  answer: (address: string) => DialResult | Promise<DialResult> = () => REFUSED
  readonly recall: Recall
  readonly #reports = new Reports((where, { code }) => this.problems.push(`${where} ${code}`))

  constructor(join: readonly string[] = [], id = '12D3KooWself') {
    this.recall = new Recall(
      file,
      {
        id,
        dial: async (addresses) => {
          this.dials.push(...addresses)
          return await this.answer(addresses[0] ?? '')
        },
        isConnected: (peer) => this.neighbours.includes(peer),
        neighbours: () => this.neighbours,
        isSelf: ({ port }) => port === 9,
        unwell: (peer) => this.unwell.push(peer),
        badFile: (cause, message) => this.#reports.report(file, cause, 'ROLLCALL_STATE_FILE', message),
        goodFile: () => this.#reports.clear(file),
      },
      this.book,
      resolveMeshOptions({ join }),
    )
  }

  meet({ id, addresses }: KnownPeer): void {
    this.book.learn(id, addresses)
    this.neighbours = [...this.neighbours, id]
    this.recall.joined()
    this.recall.learned()
  }

  lose({ id }: KnownPeer): void {
    this.neighbours = this.neighbours.filter((each) => each !== id)
    this.recall.lost(id)
  }

  /** What the file says after the node has stopped. */
  async kept(): Promise<readonly KnownPeer[]> {
    const stopping = this.recall.stop()
    await settle()
    await stopping
    return readBack()
  }
}

const readBack = async (): Promise<readonly KnownPeer[]> =>
  decodeState('rollcall', await readFile(file, 'utf8')) as readonly KnownPeer[]

const { setTimeout: realTimeout } = globalThis
const realNow = performance.now.bind(performance)

/** Lets the disk do what it is asked for now, whatever the clock says. */
const settle = (): Promise<void> => new Promise((resolve) => realTimeout(resolve, 2))

/** Waits for the disk. */
async function untilKept(what: string, holds: (peers: readonly KnownPeer[]) => boolean): Promise<void> {
  const giveUpAt = realNow() + 10_000
  for (;;) {
    const peers = await readBack()
    if (holds(peers)) return
    if (realNow() > giveUpAt) throw new Error(`${what}, not ${JSON.stringify(peers)}`)
    await settle()
  }
}

const pass = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms)
  await settle()
}

async function startWith(peers: readonly KnownPeer[], join?: readonly string[]): Promise<Surroundings> {
  await writeFile(file, encodeState('rollcall', peers))
  const around = new Surroundings(join)
  await around.recall.start()
  return around
}

/** Peers at addresses of their own. */
const somewhere = async (count: number): Promise<KnownPeer[]> =>
  (await strangers(count)).map(({ id }, n) => ({
    id,
    addresses: [`/ip4/10.0.${n >> 8}.${n & 255}/tcp/7400`],
  }))

describe('dialling', () => {
  test('goes to all of the file, by identity, again and again with growing pauses, and is reported while alone', async () => {
    const peers = await somewhere(3)
    const around = await startWith(peers)
    await pass(400)
    expect(around.dials.sort()).toEqual(peers.map(({ id, addresses }) => `${addresses[0]!}/p2p/${id}`).sort())
    expect(around.unwell.sort()).toEqual(peers.map(({ id }) => id).sort())
    await pass(5_000)
    const early = around.dials.length
    expect(early).toBeGreaterThanOrEqual(9)
    await pass(10 * MINUTE_MS)
    // Each waits half of `maxBackoffMs` (30 s) at least by then.
    expect(around.dials.length - early).toBeGreaterThan(3 * 19)
    expect(around.dials.length - early).toBeLessThan(3 * 42)
    await around.kept()
  })

  test('is done for sixteen at once at most, and comes to the last though none answers', async () => {
    const peers = await somewhere(100)
    const around = await startWith(peers)
    let open = 0
    let most = 0
    around.answer = async () => {
      most = Math.max(most, ++open)
      await new Promise((resolve) => setTimeout(resolve, 5_000))
      open--
      return REFUSED
    }
    await pass(7 * 5_000 + 400)
    expect(most).toBe(16)
    expect(new Set(around.dials).size).toBe(100)
    await around.kept()
  })

  test('spares this node, its own addresses and those of seeds', async () => {
    const [self, seed, mine, other] = (await somewhere(4)) as [KnownPeer, KnownPeer, KnownPeer, KnownPeer]
    const own = { ...mine, addresses: ['/ip4/10.0.0.1/tcp/9', mine.addresses[0]!] }
    await writeFile(file, encodeState('rollcall', [self, seed, own, other]))
    const around = new Surroundings([seed.addresses[0]!], self.id)
    await around.recall.start()
    await pass(400)
    expect(around.dials).not.toContain(`${seed.addresses[0]!}/p2p/${seed.id}`)
    expect(around.dials).not.toContain(`/ip4/10.0.0.1/tcp/9/p2p/${mine.id}`)
    expect(around.dials.some((address) => address.includes(self.id))).toBe(false)
    expect(around.dials).toContain(`${mine.addresses[0]!}/p2p/${mine.id}`)
    await around.kept()
  })

  test('takes whoever answers in place of a peer, and forgets the one that was there', async () => {
    const [old, fresh] = (await somewhere(2)) as [KnownPeer, KnownPeer]
    const place = old.addresses[0]!
    const around = await startWith([old])
    around.answer = (address) =>
      address === place
        ? { ok: true, peer: fresh.id }
        : { ok: false, failure: 'other-identity', message: `${fresh.id} is there` }
    await pass(2_000)
    expect(around.dials.slice(0, 2)).toEqual([`${place}/p2p/${old.id}`, place])
    expect(around.unwell).toEqual([])
    around.meet({ id: fresh.id, addresses: [place] })
    expect(await around.kept()).toEqual([{ id: fresh.id, addresses: [place] }])
  })

  test('is in no hurry once somebody is met, and begins anew when the last is lost', async () => {
    const [met, ...rest] = (await somewhere(4)) as [KnownPeer, ...KnownPeer[]]
    const around = await startWith(rest)
    await pass(2_000)
    around.meet(met)
    around.dials.length = 0
    around.unwell.length = 0
    await pass(14_000)
    expect(around.dials).toEqual([])
    await pass(3 * MINUTE_MS)
    expect(new Set(around.dials).size).toBe(3)
    expect(around.unwell).toEqual([])
    around.dials.length = 0
    around.lose(met)
    await pass(1_000)
    expect(new Set(around.dials).size).toBe(3)
    await around.kept()
  })

  test('is left to the mesh for those that the cluster speaks of', async () => {
    const [a, b] = (await somewhere(2)) as [KnownPeer, KnownPeer]
    const around = await startWith([a, b])
    around.book.learn(a.id, a.addresses)
    await pass(MINUTE_MS)
    expect(around.dials.some((address) => address.includes(a.id))).toBe(false)
    expect((await around.kept()).map(({ id }) => id)).toEqual([a.id, b.id])
  })
})

describe('what is kept', () => {
  test('all of the file, in its order, while all are dead, for however long', async () => {
    const peers = await somewhere(5)
    const around = await startWith(peers)
    await pass(60 * MINUTE_MS)
    expect(await around.kept()).toEqual(peers)
  })

  test('of the dead nothing, once others were here for ten minutes', async () => {
    const [met, ...dead] = (await somewhere(4)) as [KnownPeer, ...KnownPeer[]]
    const around = await startWith(dead)
    await pass(60 * MINUTE_MS)
    around.meet(met)
    await pass(9 * MINUTE_MS)
    const all = [met, ...dead]
    await untilKept('all four', (peers) => peers.length === 4)
    expect(new Set(await readBack())).toEqual(new Set(all))
    await pass(2 * MINUTE_MS)
    expect(await around.kept()).toEqual([met])
  })

  test('those that left while nobody else is here, the last first; ten minutes of others and they are gone', async () => {
    const [a, b, c] = (await somewhere(3)) as [KnownPeer, KnownPeer, KnownPeer]
    const around = await startWith([])
    const leave = (peer: KnownPeer): void => {
      around.lose(peer)
      around.recall.retire(peer.id)
      around.book.forget(peer.id)
    }
    for (const peer of [a, b]) around.meet(peer)
    for (const peer of [a, b]) leave(peer)
    await pass(60 * MINUTE_MS)
    await untilKept('both', (peers) => peers.length === 2)
    expect(await readBack()).toEqual([b, a])
    expect(around.dials).toEqual([])
    around.meet(c)
    await pass(11 * MINUTE_MS)
    expect(await around.kept()).toEqual([c])
  })

  test('is bounded, neighbours first', async () => {
    const all = await somewhere(700)
    const around = await startWith(all.slice(0, 256))
    const [met] = all.slice(-1) as [KnownPeer]
    around.meet(met)
    for (const { id, addresses } of all.slice(256, 699)) around.book.learn(id, addresses)
    for (const { id } of all.slice(256, 699)) {
      around.recall.retire(id)
      around.book.forget(id)
    }
    const kept = await around.kept()
    expect(kept).toHaveLength(256)
    expect(kept[0]).toEqual(met)
    expect(kept[1]).toEqual(all[698])
  })
})

describe('writing', () => {
  test('comes a second after the first news, ten seconds apart, and not when there is none', async () => {
    const peers = await somewhere(20)
    const around = await startWith([])
    around.meet(peers[0]!)
    await pass(900)
    expect(await readBack()).toEqual([])
    await pass(200)
    await untilKept('one', (kept) => kept.length === 1)
    for (const peer of peers.slice(1, 10)) {
      around.meet(peer)
      await pass(1_000)
      expect(await readBack()).toHaveLength(1)
    }
    await pass(1_500)
    await untilKept('ten', (kept) => kept.length === 10)
    around.meet(peers[10]!)
    await pass(5_000)
    expect(await readBack()).toHaveLength(10)
    await pass(5_500)
    await untilKept('eleven', (kept) => kept.length === 11)
    // Nothing new from here on: a file that somebody removes does not come back.
    await rm(file)
    around.recall.learned()
    await pass(11_000)
    around.recall.joined()
    await pass(11_000)
    await expect(around.kept()).rejects.toThrow('ENOENT')
  })

  test('does not come before the file was read, so that an early stop loses nothing', async () => {
    const peers = await somewhere(3)
    await writeFile(file, encodeState('rollcall', peers))
    const around = new Surroundings()
    const starting = around.recall.start()
    around.meet((await somewhere(1))[0]!)
    await Promise.all([starting, around.recall.stop(), settle()])
    expect(await readBack()).toEqual(peers)
  })

  test('that fails is reported once, tried again, and reported again only after it worked', async () => {
    const peers = await somewhere(20)
    const none = join(folder, 'none')
    file = join(none, 'state')
    const around = new Surroundings()
    await around.recall.start()
    const meetSome = async (some: readonly KnownPeer[]): Promise<void> => {
      for (const peer of some) {
        around.meet(peer)
        await pass(11_000)
        await new Promise((resolve) => realTimeout(resolve, 20))
      }
    }
    await meetSome(peers.slice(0, 4))
    expect(around.problems).toEqual([`${file} ROLLCALL_STATE_FILE`])
    await mkdir(none)
    await meetSome(peers.slice(4, 5))
    await untilKept('all five', (kept) => kept.length === 5)
    await rm(none, { recursive: true })
    await meetSome(peers.slice(5, 8))
    expect(around.problems).toHaveLength(2)
    await around.recall.stop()
  })
})
