import type { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { Streams } from '../../src/http/streams.ts'
import type { StreamsOptions } from '../../src/http/streams.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'
import { CountedClock } from '../counted-clock.ts'
import { Reader, serverOf } from './face.ts'
import type { Asked } from './face.ts'

export const HEARTBEAT_MS = 15_000

/** The events of a burst are told so much later. */
export const GATHER_MS = 10

const OPTIONS = { heartbeatMs: HEARTBEAT_MS, maxBufferBytes: 1_048_576, maxStreams: 1_000 }

/** A registry by itself. */
export const alone = (): Promise<Registry> =>
  createRegistry({ transport: memoryTransport(new MemoryNetwork(), { address: '/memory/a' }), name: 'a' })

/** How many listeners there are, by event. */
export function listenersOf(registry: Registry): object {
  const counts = (emitter: EventEmitter): object =>
    Object.fromEntries(emitter.eventNames().map((event) => [event, emitter.listenerCount(event)]))
  return [registry, registry.tracker].map((emitter) => counts(emitter as unknown as EventEmitter))
}

/** A registry, its streams on a clock of their own, and readers over connections in memory. */
export class Scene implements AsyncDisposable {
  readonly registry: Registry
  readonly streams: Streams
  readonly clock = new CountedClock()
  readonly server: Server

  private constructor(registry: Registry, options: Partial<StreamsOptions>) {
    this.registry = registry
    this.streams = new Streams(registry, { ...OPTIONS, clock: this.clock, ...options })
    this.server = serverOf(this.streams)
  }

  static async open(options: Partial<StreamsOptions> = {}): Promise<Scene> {
    return new Scene(await alone(), options)
  }

  ask(path: string, asked?: Asked): Reader {
    return Reader.ask(this.server, path, asked)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.streams.close()
    await this.registry.close()
  }
}
