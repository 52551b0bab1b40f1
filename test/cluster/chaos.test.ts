import { describe, expect, test } from 'vitest'
import { Monitor } from '../../src/tracker/monitor.ts'
import type { SimNode } from '../../src/testing/index.ts'
import {
  cluster,
  expectSame,
  simulate,
  type SeededRandom,
  type SimulatedNetwork,
} from '../../src/testing/index.ts'
import { Witness } from './witness.ts'

/** A short purge lets every run see down, purge and return; one silent period, so that heads are told every period. */
const OPTIONS = {
  broadcastPeriodMs: 1_500,
  maxSilentPeriods: 1,
  downPeriodMs: 6_000,
  permdownPeriodMs: 20_000,
  syncPeriodMs: 10_000,
} as const

const SEEDS = 300
const STEPS = 40
const TOPICS = ['a', 'b']

describe('random faults on five nodes', () => {
  // In ten blocks, so that the runner tells how far it came.
  test.each(Array.from({ length: 10 }, (_, block) => block))(
    'block %d of seeds',
    { timeout: 120_000 },
    async (block) => {
      for (let seed = block * (SEEDS / 10); seed < (block + 1) * (SEEDS / 10); seed++) await run(seed)
    },
  )
})

/** A failure prints its seed; `await run(seed)` replays it. */
async function run(seed: number): Promise<void> {
  await simulate(
    { seed, loss: 0.1, delayMs: [1, 50], repeat: 0.1, reorder: 0.1, redialMaxMs: 1_000 },
    async (net) => {
      const random = net.random.fork('chaos')
      const nodes = await cluster(5, { net, ...OPTIONS, flush: seed % 2 === 0 ? 'eager' : 'period' })
      const world = new World(net, random, nodes)
      for (let step = 0; step < STEPS; step++) await world.step()
      await world.calm()
      expectSame(...nodes)
      world.expectAllThere()
    },
  )
}

class World {
  readonly #net: SimulatedNetwork
  readonly #random: SeededRandom
  readonly #nodes: readonly SimNode[]
  readonly #witness = new Witness()
  readonly #monitors = new Map<SimNode, Monitor[]>()
  #stalledUntil = 0

  constructor(net: SimulatedNetwork, random: SeededRandom, nodes: readonly SimNode[]) {
    this.#net = net
    this.#random = random
    this.#nodes = nodes
    for (const node of nodes) this.#witness.watch(node)
  }

  async step(): Promise<void> {
    const node = this.#pick(this.#nodes)
    const draw = this.#random.next()
    if (draw < 0.55) this.#write(node)
    else if (draw < 0.65) this.#partition()
    else if (draw < 0.7) this.#net.oneWay(node, this.#pick(this.#nodes.filter((other) => other !== node)))
    else if (draw < 0.8) this.#net.heal()
    else if (draw < 0.88) await this.#end(node)
    else if (draw < 0.95) this.#stall(node)
    else for (const each of this.#nodes) if (!each.alive) await this.#restart(each)
    await this.#net.run(this.#random.between(0, 4_000))
    this.#witness.expectSafe()
  }

  /** Ends every fault and lets three periods pass: the bound in which all must agree. */
  async calm(): Promise<void> {
    for (const node of this.#nodes) if (!node.alive) await this.#restart(node)
    await this.#net.run(Math.max(0, this.#stalledUntil - this.#net.clock.now()))
    this.#net.heal()
    for (const a of this.#nodes)
      for (const b of this.#nodes) if (a !== b) this.#net.setFaults(a, b, { loss: 0, repeat: 0, reorder: 0 })
    // A connection that stood through the partition may lie dead until its next sign of life; a node needs one to be told.
    await this.#net.until('connections stand', 12_000, () =>
      this.#nodes.every((node) => node.transport.neighbours().length === 4),
    )
    await this.#net.run(3 * OPTIONS.broadcastPeriodMs)
    this.#witness.expectSafe()
  }

  /** Everything that a living monitor tracks is seen by everyone, and nothing else. */
  expectAllThere(): void {
    const own = this.#nodes.flatMap((node) =>
      TOPICS.flatMap((topic) => node.tracker.list(topic).filter((entry) => entry.node === node.id)),
    )
    for (const node of this.#nodes) {
      expect(TOPICS.flatMap((topic) => node.tracker.list(topic))).toHaveLength(own.length)
      expect(node.tracker.nodes().filter(({ status }) => status === 'up')).toHaveLength(5)
      expect(node.events('rejected')).toEqual([])
    }
  }

  #write(node: SimNode): void {
    if (!node.alive) return
    const monitors = this.#monitors.get(node) ?? []
    this.#monitors.set(node, monitors)
    const draw = this.#random.next()
    const monitor = monitors[Math.floor(this.#random.next() * monitors.length)]
    if (monitor === undefined || draw < 0.4) {
      const fresh = new Monitor()
      monitors.push(fresh)
      for (const topic of TOPICS) node.tracker.track(fresh, topic, 'key', { at: this.#net.clock.now() })
    } else if (draw < 0.8) {
      node.tracker.update(monitor, this.#pick(TOPICS), 'key', { at: this.#net.clock.now() })
    } else {
      monitors.splice(monitors.indexOf(monitor), 1)
      monitor.close()
    }
  }

  #partition(): void {
    const side = this.#nodes.filter(() => this.#random.chance(0.5))
    const others = this.#nodes.filter((node) => !side.includes(node))
    if (side.length > 0 && others.length > 0) this.#net.partition(side, others)
  }

  async #end(node: SimNode): Promise<void> {
    if (!node.alive) return
    this.#monitors.delete(node)
    if (this.#random.chance(0.3)) await this.#net.settle(node.close())
    else node.crash()
    if (this.#random.chance(0.5)) await this.#restart(node)
  }

  async #restart(node: SimNode): Promise<void> {
    await node.restart({ sameIdentity: this.#random.chance(0.7) })
    this.#witness.watch(node)
  }

  #stall(node: SimNode): void {
    if (!node.alive) return
    const ms = this.#random.between(100, 15_000)
    node.stall(ms)
    this.#stalledUntil = Math.max(this.#stalledUntil, this.#net.clock.now() + ms)
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random.next() * from.length)] as T
  }
}
