import type { NodeId } from '../core/frame.ts'
import type { RegistryOptions } from '../registry/options.ts'
import { createRegistry } from '../registry/registry.ts'
import type { Registry } from '../registry/registry.ts'
import { resolveTrackerOptions } from '../tracker/options.ts'
import type { ResolvedTrackerOptions } from '../tracker/options.ts'
import type { Tracker } from '../tracker/tracker.ts'
import type { MemoryTransport } from '../transports/memory/transport.ts'
import type { SimulatedNetwork } from './network.ts'
import { recordEvents } from './node-events.ts'
import type { NodeEventName, RecordedEvent } from './node-events.ts'
import type { NodeClock } from './virtual-clock.ts'

/** Options of a simulated node. What it needs of time, chance and network comes from the simulation. */
export type SimNodeOptions = Omit<RegistryOptions, 'transport' | 'clock' | 'random' | 'name'>

export interface SimNodeSetup {
  readonly net: SimulatedNetwork
  readonly name: string
  /** Addresses to join, in this and every later life. */
  readonly join: readonly string[]
  readonly options: SimNodeOptions
}

/** One life: a process with an identity. */
interface Life {
  readonly clock: NodeClock
  readonly transport: MemoryTransport
  readonly registry: Registry
  readonly options: ResolvedTrackerOptions
}

/**
 * A place in the simulated network with a whole node in it: a registry on a tracker on a transport. The place, its
 * name and its address outlive the process, which can crash, stall, leave and start again.
 */
export class SimNode {
  readonly net: SimulatedNetwork
  readonly name: string
  readonly address: string
  readonly #setup: SimNodeSetup
  readonly #ids: NodeId[] = []
  readonly #events: RecordedEvent[] = []
  #lives = 0
  #wallOffset = 0
  #life: Life | undefined

  private constructor(setup: SimNodeSetup) {
    this.#setup = setup
    this.net = setup.net
    this.name = setup.name
    this.address = simAddress(setup.name)
  }

  /** Starts a node. It has met nobody yet. */
  static async start(setup: SimNodeSetup): Promise<SimNode> {
    const node = new SimNode(setup)
    await node.#start(node.#nextId())
    setup.net.onEnd(() => {
      if (node.alive) node.crash()
    })
    return node
  }

  /** Identity of the present life, or of the last one. */
  get id(): NodeId {
    return this.#ids.at(-1) ?? ''
  }

  /** Every identity this node has had. */
  get ids(): readonly NodeId[] {
    return this.#ids
  }

  /** False after `crash` and `close`, until `restart`. */
  get alive(): boolean {
    return this.#life !== undefined
  }

  /** Throws when the node is not alive; so do the other parts. */
  get registry(): Registry {
    return this.#alive().registry
  }

  get tracker(): Tracker {
    return this.#alive().registry.tracker
  }

  get transport(): MemoryTransport {
    return this.#alive().transport
  }

  get clock(): NodeClock {
    return this.#alive().clock
  }

  /** What it runs with, defaults filled in. */
  get options(): ResolvedTrackerOptions {
    return this.#alive().options
  }

  /** What it reported since it was first started or `forgetEvents` was called, all its lives together, in order. */
  events(): readonly RecordedEvent[]
  events<Name extends NodeEventName>(name: Name): readonly RecordedEvent<Name>[]
  events(name?: NodeEventName): readonly RecordedEvent[] {
    return name === undefined ? [...this.#events] : this.#events.filter((event) => event.name === name)
  }

  forgetEvents(): void {
    this.#events.length = 0
  }

  /** As kill -9: no goodbye, nothing of it runs any more. Its machine resets connections and refuses dials. */
  crash(): void {
    const { transport, clock, registry } = this.#alive()
    this.net.note(`${this.name} crashes`)
    this.#life = undefined
    transport.crash()
    clock.kill()
    // Nothing of it gets out any more. This only lets go of what monitors would hold for as long as they are open.
    void registry.close()
  }

  /** Says goodbye and stops. Takes virtual time: `await net.settle(node.close())`. */
  async close(): Promise<void> {
    const { registry } = this.#alive()
    this.net.note(`${this.name} closes`)
    this.#life = undefined
    await registry.close()
  }

  /**
   * Starts again at the same address, with the same options, after a crash if it is alive. Nothing is registered yet.
   * `sameIdentity: false`: as another node id.
   */
  async restart({ sameIdentity = true }: { readonly sameIdentity?: boolean } = {}): Promise<void> {
    if (this.alive) this.crash()
    this.net.note(`${this.name} restarts`)
    await this.#start(sameIdentity ? this.id : this.#nextId())
  }

  /** As SIGSTOP for this many ms: nothing of it runs, then all that was due runs late. */
  stall(ms: number): void {
    this.net.note(`${this.name} stalls for ${ms} ms`)
    this.#alive().clock.stall(ms)
  }

  /** Sets the wall clock of its machine forward, or back if below 0. */
  jumpWall(ms: number): void {
    this.net.note(`the wall clock of ${this.name} jumps by ${ms} ms`)
    this.#wallOffset += ms
    this.#life?.clock.jumpWall(ms)
  }

  async #start(id: NodeId): Promise<void> {
    const { net, name, join, options } = this.#setup
    this.#lives += 1
    const random = net.random.fork(`${name}, life ${this.#lives}`)
    const clock = net.clock.node()
    clock.jumpWall(this.#wallOffset)
    const transport = net.transport({
      id,
      address: this.address,
      join,
      clock,
      random: random.fork('transport'),
    })
    const whole = { ...options, name, transport, clock, random: random.fork('tracker') }
    const registry = await createRegistry(whole)
    recordEvents(registry, (event) => {
      if (!clock.killed) this.#record(event)
    })
    this.#life = { clock, transport, registry, options: resolveTrackerOptions(whole) }
  }

  #record(event: Omit<RecordedEvent, 'atMs'>): void {
    this.#events.push({ ...event, atMs: this.net.clock.now() })
    const { name, about } = event
    this.net.note(() => `${this.name}: ${name}${about === undefined ? '' : ` of ${about}`}`)
  }

  #nextId(): NodeId {
    const id = `${this.name}-${this.#ids.length + 1}`
    this.#ids.push(id)
    return id
  }

  #alive(): Life {
    if (this.#life === undefined) throw new Error(`${this.name} is not alive`)
    return this.#life
  }
}

/** Where the node of this name listens, before it exists: for `limitLinks` and other faults from the start on. */
export const simAddress = (name: string): string => `/memory/${name}`

/** For recorded events: those about this node, in any of its lives. */
export const from =
  (node: SimNode) =>
  (event: Pick<RecordedEvent, 'about'>): boolean =>
    event.about !== undefined && node.ids.includes(event.about)
