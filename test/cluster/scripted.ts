import type { Beat, NodeId } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Registry } from '../../src/registry/registry.ts'
import type { RegistryOptions } from '../../src/registry/options.ts'
import { SeededRandom, VirtualClock } from '../../src/testing/index.ts'
import type { Channel, Transport, TransportEvents } from '../../src/tracker/ports.ts'
import { encodeBeat } from '../../src/wire/gossip.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'

/** A transport without a network: the test says what is heard, and sees what is published. */
class ScriptedTransport implements Transport {
  readonly id: NodeId
  readonly published: Uint8Array[] = []
  peers: readonly NodeId[] = []
  stopped = false
  /** What a publish waits for. */
  handedOver: Promise<void> = Promise.resolve()
  #events: TransportEvents | undefined

  constructor(id: NodeId) {
    this.id = id
  }

  /** To say what comes in. */
  get events(): TransportEvents {
    if (this.#events === undefined) throw new Error('not started')
    return this.#events
  }

  start(events: TransportEvents): Promise<void> {
    this.#events = events
    return Promise.resolve()
  }

  publish(message: Uint8Array): Promise<void> {
    this.published.push(message)
    return this.handedOver
  }

  open(): Promise<Channel> {
    return new Promise(() => undefined)
  }

  neighbours(): readonly NodeId[] {
    return this.peers
  }

  addresses(): readonly string[] {
    return [`/memory/${this.id}`]
  }

  learn(): void {
    return undefined
  }

  forget(): void {
    return undefined
  }

  examine: Transport['examine'] = () => Promise.resolve('unknown')

  hangUp(): void {
    return undefined
  }

  stop(): Promise<void> {
    this.stopped = true
    return Promise.resolve()
  }
}

export interface Observer {
  readonly transport: ScriptedTransport
  readonly clock: VirtualClock
  readonly registry: Registry
  /** Names of what was reported of others, in order, with the reason of a down. */
  readonly told: string[]
}

/** One whole node, `a`, to which a script plays the others. */
export async function observer(options: Omit<RegistryOptions, 'transport'> = {}): Promise<Observer> {
  const transport = new ScriptedTransport('a')
  const clock = new VirtualClock()
  const registry = await createRegistry({
    name: 'a',
    transport,
    clock,
    random: new SeededRandom(1),
    ...options,
  })
  const told: string[] = []
  registry.on('service_up', ({ instance }) => told.push(`service_up ${instance.name}`))
  registry.on('service_down', ({ instance, reason }) => told.push(`service_down ${instance.name} ${reason}`))
  const { tracker } = registry
  tracker.on('node_up', ({ id }) => told.push(`node_up ${id}`))
  tracker.on('node_down', ({ id }, reason) => told.push(`node_down ${id} ${reason}`))
  tracker.on('node_purged', ({ id }) => told.push(`node_purged ${id}`))
  tracker.on('rejected', (id, code) => told.push(`rejected ${id} ${code}`))
  tracker.on('error', ({ code }) => told.push(`error ${code}`))
  return { transport, clock, registry, told }
}

/** A beat as the network carries it. Default: the first one, of a node named as its id, with a service. */
export function beatOf(owner: NodeId, change: Partial<Beat<Json>> = {}): Uint8Array {
  const meta = { addresses: [`/memory/${owner}`], library: '1.0.0' }
  const bytes = encodeBeat(
    {
      incarnation: 1_000,
      beat: 1,
      promiseMs: 1_500,
      from: 0,
      to: 2,
      left: false,
      writes: [
        { kind: 'put', version: 1, ref: 1, topic: '$node', key: owner, meta },
        { kind: 'put', version: 2, ref: 2, topic: '$service', key: 's', meta: { version: '1.0.0' } },
      ],
      ...change,
    },
    WIRE_LIMITS.maxFrameBytes,
  )
  if (bytes === undefined) throw new Error('too long')
  return bytes
}

/** What an owner says when it has nothing to say: its head is at two writes. */
export const heartbeatOf = (owner: NodeId, change: Partial<Beat<Json>> = {}): Uint8Array =>
  beatOf(owner, { from: 2, to: 2, writes: [], ...change })
