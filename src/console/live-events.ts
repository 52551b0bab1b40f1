import { Readable } from 'node:stream'
import { RollcallError } from '../errors.ts'
import { NAMED_EVENTS, onNamedEvents } from '../registry/named-events.ts'
import type { Registry } from '../registry/registry.ts'
import { systemClock } from '../tracker/system.ts'

/** Something that happened, as JSON carries it. */
export interface LiveEvent {
  readonly event: string
  /** Ms since the epoch. */
  readonly at: number
  /** The payload, by name. */
  readonly data: Readonly<Record<string, unknown>>
}

/** How many may wait for a reader. One that is further behind has stopped reading, and memory is finite. */
const MAX_WAITING = 10_000

/**
 * What happens from now on, until the signal aborts. Throws `ROLLCALL_LIMIT_EXCEEDED` when its reader is too far behind,
 * and `ROLLCALL_CLOSED` when the registry has closed.
 */
export async function* liveEvents(
  registry: Registry,
  signal: AbortSignal,
): AsyncGenerator<LiveEvent, undefined> {
  const waiting = new Readable({ objectMode: true, signal, read: () => undefined })
  const off = onNamedEvents(registry, NAMED_EVENTS, (event, data) => {
    if (waiting.readableLength < MAX_WAITING) waiting.push({ event, at: systemClock.wallNow(), data })
    else waiting.destroy(new RollcallError('ROLLCALL_LIMIT_EXCEEDED', 'The reader is too slow'))
  })
  const closed = (): void => void waiting.push(null)
  registry.tracker.once('close', closed)
  try {
    yield* waiting as AsyncIterable<LiveEvent>
    throw new RollcallError('ROLLCALL_CLOSED', 'The registry has closed')
  } finally {
    registry.tracker.off('close', closed)
    off()
  }
}
