import { RollcallError } from '../errors.ts'
import type { Clock } from '../tracker/ports.ts'
import { argumentError, checkSignal } from './check.ts'
import { numberFault } from './service-fault.ts'
import type { Instance, ServiceSelector, WaitOptions } from './types.ts'

/** Above it a timer fires at once. */
const MAX_WAIT_MS = 2_147_483_647

interface Waiter {
  readonly selector: ServiceSelector
  readonly resolve: (instance: Instance) => void
  readonly reject: (error: unknown) => void
}

/** Those who wait for an instance, by the name of its service: a change wakes only those it concerns. */
export class Waiters {
  readonly #clock: Clock
  readonly #byName = new Map<string, Set<Waiter>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many wait. */
  get size(): number {
    let size = 0
    for (const waiters of this.#byName.values()) size += waiters.size
    return size
  }

  /** Resolves with the first instance that `selector` gives. Leaves neither a timer nor a listener behind. */
  async wait(name: string, selector: ServiceSelector, { signal, timeoutMs }: WaitOptions): Promise<Instance> {
    checkWait(signal, timeoutMs)
    signal?.throwIfAborted()
    const answer = selector.next()
    if (answer.ok) return answer.service

    const { promise, resolve, reject } = deferred<Instance>()
    const waiter: Waiter = { selector, resolve, reject }
    const abort = (): void => reject(signal?.reason)
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.setTimer(() => reject(timeout(name, timeoutMs, selector)), timeoutMs)
    signal?.addEventListener('abort', abort, { once: true })
    this.#add(name, waiter)
    try {
      return await promise
    } finally {
      this.#remove(name, waiter)
      signal?.removeEventListener('abort', abort)
      timer?.cancel()
    }
  }

  /** Something about these services changed. Costs nothing while nobody waits. */
  wake(changes: readonly { readonly entry: { readonly key: string } }[]): void {
    if (this.#byName.size === 0) return
    for (const name of new Set(changes.map(({ entry }) => entry.key))) {
      for (const { selector, resolve } of this.#byName.get(name) ?? []) {
        const answer = selector.next()
        if (answer.ok) resolve(answer.service)
      }
    }
  }

  rejectAll(error: RollcallError): void {
    for (const waiters of this.#byName.values()) for (const { reject } of waiters) reject(error)
  }

  #add(name: string, waiter: Waiter): void {
    const waiters = this.#byName.get(name)
    if (waiters === undefined) this.#byName.set(name, new Set([waiter]))
    else waiters.add(waiter)
  }

  #remove(name: string, waiter: Waiter): void {
    const waiters = this.#byName.get(name)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#byName.delete(name)
  }
}

function checkWait(signal: unknown, timeoutMs: unknown): void {
  checkSignal(signal)
  const fault = timeoutMs === undefined ? undefined : numberFault(timeoutMs, 0, MAX_WAIT_MS)
  if (fault !== undefined) throw argumentError('The option timeoutMs', timeoutMs, fault)
}

function timeout(name: string, timeoutMs: number, selector: ServiceSelector): RollcallError {
  const answer = selector.next()
  const why = answer.ok ? '' : ` (${answer.error})`
  return new RollcallError(
    'ROLLCALL_WAIT_TIMEOUT',
    `No matching instance of ${JSON.stringify(name)} appeared within ${timeoutMs} ms${why}.`,
  )
}

/** `Promise.withResolvers`, which Node 20 lacks. */
function deferred<T>(): {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
} {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: unknown) => void = () => undefined
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue
    reject = onError
  })
  return { promise, resolve, reject }
}
