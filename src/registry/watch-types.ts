import type { FilterOptions, Instance, StaleOptions } from './types.ts'

/** What a registry shows of a service at one moment. Frozen and shared by all who ask the same: hold it as long as you like. */
export interface Snapshot {
  /** The name of the service. */
  readonly service: string
  /** The life of the registry that counts: a restarted node has another. */
  readonly epoch: string
  /**
   * Rises with every change of the service, of whatever instance, as seen here; whole. All services of a registry share
   * one count, so it also skips numbers. It stays when only `degraded` changes, or who may stand in (`stale`).
   */
  readonly revision: number
  /** As `lookupAll` answers, the highest version first. The same array for as long as nothing in it changes. */
  readonly instances: readonly Instance[]
  /** Whether it shows what was, in place of nothing: see `StaleOptions`. */
  readonly stale: boolean
  /** All that this node knows may be old: see `registry.degraded`. */
  readonly degraded: boolean
  /** Forget what you have made of earlier snapshots: this one does not follow the `since` that was given. */
  readonly reset: boolean
}

/** Where a watcher left off. A snapshot will do. */
export type Since = Pick<Snapshot, 'epoch' | 'revision'>

export interface WatchOptions extends FilterOptions, StaleOptions {
  /** Ends every loop with its reason, also when a snapshot is waiting, and every subscription without a word. */
  readonly signal?: AbortSignal | undefined
  /**
   * Where to go on. At that very revision: nothing is told until something changes. Before it: as without. Of another epoch, or
   * of a revision that cannot be placed: the first snapshot says `reset`. Who keeps the last is always told what is: a revision does
   * not say who stood in.
   */
  readonly since?: Since | undefined
}

/**
 * A service, followed by any number of loops and listeners. Each is told what is at once and then, without a word of what
 * was between, the newest whenever something it is shown has changed: a slow one holds one snapshot, never a queue, and
 * never misses the last. Snapshots come after the events of the same change, all changes of one turn in one.
 */
export interface ServiceWatch extends AsyncIterable<Snapshot, undefined> {
  /** The name of the service. */
  readonly service: string
  /**
   * Ms since this node last heard of the owner, among those of the instances shown, that it has not heard of for longest. 0
   * when they are all its own, or none. Costs the number of instances.
   */
  readonly age: number
  /** Whether what is shown now is what was, in place of what is. */
  readonly stale: boolean
  /**
   * `for await (const snapshot of watch)`: leaving the loop ends it. When the registry closes, it ends after the newest
   * snapshot. When the signal aborts, it throws the reason (by default an `AbortError`).
   */
  [Symbol.asyncIterator](): AsyncIterator<Snapshot, undefined>
  /**
   * Calls back with each snapshot, the first soon after it returns, until the function that it returns is called, the signal
   * aborts, or the registry has closed. What a listener throws surfaces as `uncaughtException`, and harms nobody else.
   *
   * Throws `ROLLCALL_INVALID_ARGUMENT` for what is no function.
   */
  subscribe(listener: (snapshot: Snapshot) => void): () => void
}
