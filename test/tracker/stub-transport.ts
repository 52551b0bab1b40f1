import type { Beat, NodeId } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { SeededRandom } from '../../src/testing/random.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { TrackerOptions } from '../../src/tracker/options.ts'
import type { Channel, Transport, TransportEvents } from '../../src/tracker/ports.ts'
import { createTracker, type Tracker } from '../../src/tracker/tracker.ts'
import { decodeBeat } from '../wire/decode-beat.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'

/** A network with nobody else in it, that keeps what it is told. */
export class StubTransport implements Transport {
  readonly id: NodeId
  readonly published: Uint8Array[] = []
  readonly calls: string[] = []
  events: TransportEvents | undefined

  constructor(id = 'node-0001') {
    this.id = id
  }

  /** What was published, decoded. */
  get beats(): Beat<Json>[] {
    return this.published.map((bytes) => decodeBeat(bytes, WIRE_LIMITS))
  }

  start(events: TransportEvents): Promise<void> {
    this.calls.push('start')
    this.events = events
    return Promise.resolve()
  }

  publish(message: Uint8Array): Promise<void> {
    this.published.push(message)
    return Promise.resolve()
  }

  open(): Promise<Channel> {
    return Promise.reject(new Error('there is nobody'))
  }

  neighbours(): readonly NodeId[] {
    return []
  }

  addresses(): readonly string[] {
    return ['/stub/1']
  }

  learn(peer: NodeId): void {
    this.calls.push(`learn ${peer}`)
  }

  forget(peer: NodeId): void {
    this.calls.push(`forget ${peer}`)
  }

  examine(): Promise<'unknown'> {
    return Promise.resolve('unknown')
  }

  hangUp(): void {
    return undefined
  }

  stop(): Promise<void> {
    this.calls.push('stop')
    return Promise.resolve()
  }
}

export interface Lone {
  readonly tracker: Tracker
  readonly transport: StubTransport
  readonly clock: VirtualClock
}

/** A tracker that is alone, on virtual time. */
export async function lone(options: Partial<TrackerOptions> = {}): Promise<Lone> {
  const transport = new StubTransport()
  const clock = new VirtualClock()
  const tracker = await createTracker({ transport, clock, random: new SeededRandom(1), ...options })
  return { tracker, transport, clock }
}
