import { onNamedEvents, type NamedEvent } from '../registry/named-events.ts'
import type { Registry } from '../registry/registry.ts'
import type { Clock, Timer } from '../tracker/ports.ts'
import { systemRandom } from '../tracker/system.ts'
import type { EventId } from './event-id.ts'
import { EventLog } from './event-log.ts'
import { EventReader } from './event-reader.ts'
import type { EventStream } from './event-stream.ts'

/** What others are told. What is wrong between this node and a peer is for its own operators. */
const EVENTS: readonly NamedEvent[] = [
  'service_up',
  'service_down',
  'service_changed',
  'service_stale',
  'degraded',
  'restored',
  'node_up',
  'node_down',
  'node_dead',
  'node_purged',
  'node_suspected',
  'node_trusted',
  'node_flapping',
  'isolated',
  'isolation_ended',
]

/** For how long events are gathered. No person sees it, and it spares every reader a write for each event of a burst. */
const GATHER_MS = 10

/** The events of a registry, from now on, for any number of readers. */
export class EventFeed {
  readonly #clock: Clock
  readonly #log: EventLog
  readonly #readers = new Set<EventReader>()
  readonly #stop: () => void
  #timer: Timer | undefined

  /** @param maxBytes - how much is kept for readers that are behind, or come back. */
  constructor(registry: Registry, maxBytes: number, clock: Clock) {
    this.#clock = clock
    this.#log = new EventLog(newEpoch(), maxBytes)
    this.#stop = onNamedEvents(registry, EVENTS, (event, payload) => this.#heard(event, payload))
  }

  /** Tells a reader what comes, after the event that it saw last. */
  tell(stream: EventStream, last: EventId | undefined): void {
    const reader = new EventReader(this.#log, stream, last)
    this.#readers.add(reader)
    stream.onClose(() => this.#readers.delete(reader))
    reader.wake()
  }

  /** All readers are told the rest, and that it is over. */
  close(): void {
    this.#stop()
    this.#timer?.cancel()
    this.#log.seal()
    for (const reader of this.#readers) reader.end()
  }

  #heard(event: string, payload: object): void {
    this.#log.append(event, payload)
    this.#timer ??= this.#clock.setTimer(() => {
      this.#timer = undefined
      this.#log.seal()
      for (const reader of this.#readers) reader.wake()
    }, GATHER_MS)
  }
}

/** 52 bits by chance: no other log has it, in this process or any other. */
const newEpoch = (): string => Math.floor(systemRandom.next() * 2 ** 52).toString(36)
