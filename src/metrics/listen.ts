import type { EventEmitter } from 'node:events'
import type { Emitter } from '../tracker/emitter.ts'

type Listeners<Events extends { [Event in keyof Events]: unknown[] }> = {
  readonly [Event in keyof Events]?: (...payload: Events[Event]) => void
}

/** Adds listeners, by event. Returns a function that removes them. */
export function listen<Events extends { [Event in keyof Events]: unknown[] }>(
  emitter: Emitter<Events>,
  listeners: Listeners<Events>,
): () => void {
  // The type above has paired every event with its payload.
  const plain = emitter as unknown as EventEmitter
  const pairs = Object.entries(listeners) as [string, (...payload: unknown[]) => void][]
  for (const [event, listener] of pairs) plain.on(event, listener)
  return () => {
    for (const [event, listener] of pairs) plain.off(event, listener)
  }
}
