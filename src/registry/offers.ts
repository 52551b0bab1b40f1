import type { HealthOptions, ProbeRun } from '../health/types.ts'
import { Monitor } from '../tracker/monitor.ts'
import type { Clock, Random } from '../tracker/ports.ts'
import type { Tracker } from '../tracker/tracker.ts'
import { argumentError, checkKeys } from './check.ts'
import { untilDrained, type DrainOptions } from './drain.ts'
import { RegistrationHandle } from './registration.ts'
import type { RegistrationHost } from './registration.ts'
import { defineService } from './service.ts'
import type { Instance, ServiceSpec } from './types.ts'

export interface RegisterOptions {
  /** The life that the registration is tied to. Default: one of its own, ended by `unregister`. */
  readonly monitor?: Monitor | undefined
  /** For what is kept alive from outside this process: ms that it lives, and as long again with every `renew`. */
  readonly lease?: number | undefined
  /** Probes that say whether it can serve, and whether it is beyond help. Default: ready for as long as it is registered. */
  readonly health?: HealthOptions | undefined
}

export interface OffersParts {
  readonly tracker: Tracker
  readonly clock: Clock
  readonly random: Random
  readonly zone: string | undefined
  /** The present life of this node. */
  readonly incarnation: () => number
  readonly probed: (instance: Instance, run: ProbeRun) => void
  /** Probes found an instance beyond help, and it has ended. */
  readonly failed: (instance: Instance, run: ProbeRun) => void
}

/** What this process offers. */
export class Offers {
  readonly #parts: OffersParts
  readonly #host: RegistrationHost
  // Holding them keeps their monitors from being collected, so a caller may drop the handle.
  readonly #registrations = new Set<RegistrationHandle>()
  readonly #over = new AbortController()

  constructor(parts: OffersParts) {
    this.#parts = parts
    this.#host = {
      ...parts,
      // At the end of this turn, so that what many registrations say in it takes one message.
      flush: () => queueMicrotask(() => parts.tracker.flush()),
      ended: (registration) => this.#registrations.delete(registration),
    }
  }

  get size(): number {
    return this.#registrations.size
  }

  list(): readonly RegistrationHandle[] {
    return Object.freeze([...this.#registrations])
  }

  /** Throws as `registry.register`; then nothing is registered. */
  register(spec: ServiceSpec, options: RegisterOptions): RegistrationHandle {
    checkKeys('The options', options, ['monitor', 'lease', 'health'])
    const { monitor, lease: leaseMs, health = {} } = options
    if (monitor !== undefined && leaseMs !== undefined) {
      throw argumentError('The option lease', leaseMs, 'must not be given together with monitor')
    }
    const definition = defineService(spec)
    const { clock } = this.#parts
    const lease = leaseMs === undefined ? undefined : Monitor.lease(leaseMs, { clock })
    const registration = new RegistrationHandle({
      host: this.#host,
      monitor: monitor ?? lease ?? new Monitor(),
      owned: monitor === undefined,
      lease,
      definition,
      health,
      since: clock.wallNow(),
    })
    this.#registrations.add(registration)
    return registration
  }

  /** Drains all of them together: one question, and one message at each end. Rejects with what `until` throws, when they have ended. */
  async drain(options: DrainOptions): Promise<void> {
    const drained = untilDrained(this.#parts.clock, options, this.#over.signal)
    const together = { ...options, settleMs: 0, until: () => drained.catch(() => undefined) }
    await Promise.all([...this.#registrations].map((registration) => registration.drain(together)))
    await drained
  }

  end(): void {
    this.#over.abort()
    for (const registration of this.#registrations) registration.end()
  }
}
