import type { JsonObject } from '../core/json.ts'
import { RollcallError } from '../errors.ts'
import { Health } from '../health/health.ts'
import type { HealthOptions, ProbeRun } from '../health/types.ts'
import type { Lease, Monitor } from '../tracker/monitor.ts'
import type { Clock, Random } from '../tracker/ports.ts'
import type { Tracker } from '../tracker/tracker.ts'
import { argumentError, checkKeys } from './check.ts'
import { checkDrain, untilDrained, type DrainOptions } from './drain.ts'
import { SERVICE_TOPIC, toInstance } from './instance.ts'
import type { ServiceMeta } from './instance.ts'
import { patchService, toMeta } from './service.ts'
import { FIELD_FAULTS } from './service-fault.ts'
import type { Instance, InstanceState, ServiceDefinition, ServicePatch } from './types.ts'

/** What a registration needs of its registry. */
export interface RegistrationHost {
  readonly tracker: Tracker
  readonly clock: Clock
  readonly random: Random
  /** Of the node, for services that name none. */
  readonly zone: string | undefined
  /** The present life of this node. */
  readonly incarnation: () => number
  /** Tells others now what was written. */
  readonly flush: () => void
  readonly probed: (instance: Instance, run: ProbeRun) => void
  /** Probes found the instance beyond help, and it has ended. */
  readonly failed: (instance: Instance, run: ProbeRun) => void
  /** The registration has ended. */
  readonly ended: (registration: RegistrationHandle) => void
}

export interface RegistrationParts {
  readonly host: RegistrationHost
  readonly monitor: Monitor
  /** The monitor is the registration's own, so it ends with it. */
  readonly owned: boolean
  /** The monitor, where it is one that has to be renewed. */
  readonly lease: Lease | undefined
  readonly definition: ServiceDefinition
  readonly health: HealthOptions
  /** Ms since the epoch. */
  readonly since: number
}

/** What a lease says when it is renewed. */
export interface RenewOptions {
  /** Default: as it is. */
  readonly state?: InstanceState | undefined
  /** Why it is in that state. */
  readonly reason?: string | undefined
}

export interface SetStateOptions {
  /** A word or two for others, at most 64 bytes. Default `by-hand`. */
  readonly reason?: string | undefined
}

/** One registered service. Lives until `unregister`, the end of its monitor, or the end of its registry. */
export class RegistrationHandle implements AsyncDisposable {
  readonly #parts: RegistrationParts
  readonly #ref: number
  readonly #unfollow: () => void
  readonly #health: Health
  readonly #over = new AbortController()
  #definition: ServiceDefinition
  /** As others see it. */
  #shown: ServiceMeta
  #draining: Promise<void> | undefined

  /** Made by `registry.register`. Throws as `tracker.track`, and then nothing is registered. */
  constructor(parts: RegistrationParts) {
    const { host, monitor, definition } = parts
    this.#parts = parts
    this.#definition = definition
    this.#health = new Health(parts.health, {
      clock: host.clock,
      random: host.random,
      changed: () => this.#publish(),
      gone: (run) => {
        monitor.close('unhealthy')
        host.failed(this.instance, run)
      },
      probed: (run) => host.probed(this.instance, run),
    })
    const meta = this.#describe(definition)
    this.#ref = host.tracker.track(monitor, SERVICE_TOPIC, definition.name, meta)
    this.#shown = meta as ServiceMeta
    this.#unfollow = monitor.onClose(() => this.end())
    this.#health.start()
  }

  /** The instance as others see it; after the end, as they saw it last. */
  get instance(): Instance {
    const { id: node, name } = this.#parts.host.tracker
    const incarnation = this.#parts.host.incarnation()
    return toInstance(
      { node, incarnation, ref: this.#ref, key: this.#definition.name, meta: this.#shown },
      name,
    )
  }

  /** False after `unregister`, or when the monitor or the registry is closed. */
  get active(): boolean {
    return !this.#over.signal.aborted
  }

  /**
   * Changes some fields in one write: nobody ever sees the instance missing. A function is given the present
   * definition. `draining` is told at once, whatever `flush` says. Name and version are what the instance is, so they cannot change: register another.
   * While probes, a state set by hand or a drain say that the instance is not ready, that is what others see of its state.
   *
   * Throws as `defineService`, and `ROLLCALL_NOT_TRACKED` or `ROLLCALL_MONITOR_CLOSED` after the end; then nothing has changed.
   */
  update(patch: ServicePatch | ((current: ServiceDefinition) => ServicePatch)): void {
    const current = this.#definition
    this.#publish(patchService(current, typeof patch === 'function' ? patch(current) : patch))
  }

  /**
   * For a registration with a lease: starts its time anew. With a state, says that as well, in one write, if it is another.
   *
   * Throws `ROLLCALL_INVALID_ARGUMENT` without a lease, `ROLLCALL_MONITOR_CLOSED` when it has run out, and as `update`.
   */
  renew(options: RenewOptions = {}): void {
    checkKeys('The options', options, ['state', 'reason'])
    const { lease } = this.#parts
    if (lease === undefined) {
      throw new RollcallError(
        'ROLLCALL_INVALID_ARGUMENT',
        `${this.#definition.name} was registered without a lease`,
      )
    }
    lease.renew()
    const { state = this.#definition.state, reason } = options
    if (state !== this.#definition.state || reason !== this.#definition.reason) this.update({ state, reason })
  }

  /**
   * Maintenance: keeps the instance in a state by hand, whatever its probes say, until `clearState`. Throws
   * `ROLLCALL_INVALID_ARGUMENT`, `ROLLCALL_MONITOR_CLOSED` after the end.
   */
  setState(state: 'ready' | 'unready', options: SetStateOptions = {}): void {
    checkKeys('The options', options, ['reason'])
    const { reason = 'by-hand' } = options
    const fault = FIELD_FAULTS.reason(reason)
    if (fault !== undefined) throw argumentError('The option reason', reason, fault)
    this.#checkActive()
    this.#health.hold(state, reason)
  }

  /** The probes decide again, or what the owner said last. Without a state set by hand it is nothing. */
  clearState(): void {
    this.#health.release()
  }

  /**
   * Ends it without a lost call: tells everybody at once that it is `draining`, so that no new work is routed here, waits until
   * nothing is in flight (`until`) or `graceMs` are over, and then unregisters, reason `drained`. Go on serving until it
   * resolves. A second call is the first. Resolves early when the registration ends otherwise; rejects with what `until`
   * throws, when it is unregistered all the same.
   *
   * Throws `ROLLCALL_INVALID_ARGUMENT`.
   */
  drain(options: DrainOptions = {}): Promise<void> {
    checkDrain(options)
    this.#draining ??= this.#drain(options)
    return this.#draining
  }

  async #drain(options: DrainOptions): Promise<void> {
    const { host } = this.#parts
    this.#health.drain()
    try {
      await untilDrained(host.clock, options, this.#over.signal)
    } finally {
      this.#unregister('drained')
      host.flush()
    }
  }

  /** Ends it, everywhere. A second time is nothing. */
  unregister(): void {
    this.#unregister(undefined)
  }

  #unregister(reason: string | undefined): void {
    if (!this.active) return
    const { host, monitor, owned } = this.#parts
    if (owned) monitor.close(reason)
    else host.tracker.untrack(monitor, SERVICE_TOPIC, this.#definition.name, reason)
    this.end()
  }

  /** Called when the monitor or the registry has ended. */
  end(): void {
    if (!this.active) return
    this.#over.abort()
    this.#unfollow()
    this.#health.stop()
    this.#parts.host.ended(this)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.unregister()
    return Promise.resolve()
  }

  #checkActive(): void {
    if (!this.active) throw new RollcallError('ROLLCALL_MONITOR_CLOSED', `${this.#definition.name} has ended`)
  }

  #publish(definition = this.#definition): void {
    const { host, monitor } = this.#parts
    const meta = this.#describe(definition)
    host.tracker.update(monitor, SERVICE_TOPIC, definition.name, meta)
    this.#definition = definition
    this.#shown = meta as ServiceMeta
    // Every call that still comes here is one that the end of the period would have spared.
    if (meta['state'] === 'draining') host.flush()
  }

  /** What others are told: what its owner says, or what its probes, its operator or a drain say over that. */
  #describe(definition: ServiceDefinition): JsonObject {
    const { host, since } = this.#parts
    const { report, held } = this.#health
    const isHeld = report.reason === 'by-hand'
    const said =
      report.state === 'ready' && !isHeld
        ? definition
        : { state: report.state, reason: isHeld ? held?.reason : report.reason }
    const capabilities = { ...definition.capabilities, ...report.capabilities }
    return toMeta({ ...definition, ...said, capabilities }, host.zone, since)
  }
}
