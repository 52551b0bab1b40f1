import { argumentError, checkSignal, isRecord } from './check.ts'
import type { Query } from './query.ts'
import { place } from './revisions.ts'
import { numberFault } from './service-fault.ts'
import type { ViewerParts } from './viewer.ts'
import { WatchListener } from './watch-listener.ts'
import { WatchLoop } from './watch-loop.ts'
import type { ServiceWatch, Since, Snapshot, WatchOptions } from './watch-types.ts'
import type { Watches } from './watches.ts'

/** What a caller holds of a watch. Nothing is kept of it until it is read. */
export class Watch implements ServiceWatch {
  readonly #watches: Watches
  readonly #query: Query
  readonly #signal: AbortSignal | undefined
  readonly #since: Since | undefined

  /** Throws `ROLLCALL_INVALID_ARGUMENT`, and the signal's reason when it has aborted. */
  constructor(watches: Watches, query: Query, { signal, since }: Pick<WatchOptions, 'signal' | 'since'>) {
    checkSignal(signal)
    checkSince(since)
    signal?.throwIfAborted()
    this.#watches = watches
    this.#query = query
    this.#signal = signal
    this.#since = since && { epoch: since.epoch, revision: since.revision }
  }

  get service(): string {
    return this.#query.name
  }

  get age(): number {
    const { silenceOf } = this.#watches.sources
    let age = 0
    for (const { node } of this.#present.instances) age = Math.max(age, silenceOf(node))
    return age
  }

  get stale(): boolean {
    return this.#present.stale
  }

  [Symbol.asyncIterator](): AsyncIterator<Snapshot, undefined> {
    const loop = new WatchLoop(this.#begin())
    loop.enter(this.#watches.closed)
    return loop
  }

  subscribe(listener: (snapshot: Snapshot) => void): () => void {
    if (typeof (listener as unknown) !== 'function') {
      throw argumentError('The listener', listener, 'must be a function')
    }
    const called = new WatchListener(this.#begin(), listener)
    called.enter(this.#watches.closed)
    return () => called.stop()
  }

  get #present(): Snapshot {
    return this.#watches.viewOf(this.#query).snapshot()
  }

  #begin(): ViewerParts {
    const { index, epoch } = this.#watches.sources
    const present = {
      epoch: epoch(),
      revision: index.revisionOf(this.#query.name),
      oldest: index.oldestRevision,
    }
    return {
      audience: this.#watches.audienceOf(this.#query),
      place: this.#since && place(this.#since, present),
      signal: this.#signal,
    }
  }
}

function checkSince(since: unknown): void {
  if (since === undefined) return
  if (!isRecord(since) || typeof since['epoch'] !== 'string') {
    throw argumentError('The option since', since, 'must be an object of epoch and revision')
  }
  const { revision } = since
  if (numberFault(revision, 0, Number.MAX_SAFE_INTEGER) === undefined && Number.isInteger(revision)) return
  throw argumentError(
    'The revision of since',
    revision,
    `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
  )
}
