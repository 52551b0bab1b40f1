import type { Monitor } from '../tracker/monitor.ts'
import type { Tracker } from '../tracker/tracker.ts'
import { SERVICE_TOPIC, toInstance } from './instance.ts'
import type { ServiceMeta } from './instance.ts'
import { patchService, toMeta } from './service.ts'
import type { Instance, ServiceDefinition, ServicePatch } from './types.ts'

/** What a registration needs of its registry. */
interface RegistrationHost {
  readonly tracker: Tracker
  /** Of the node, for services that name none. */
  readonly zone: string | undefined
  /** The present life of this node. */
  incarnation(): number
  /** The registration has ended. */
  ended(registration: RegistrationHandle): void
}

export interface RegistrationParts {
  readonly host: RegistrationHost
  readonly monitor: Monitor
  /** The monitor is the registration's own, so it ends with it. */
  readonly owned: boolean
  readonly definition: ServiceDefinition
  /** Ms since the epoch. */
  readonly since: number
}

/** One registered service. Lives until `unregister`, the end of its monitor, or the end of its registry. */
export class RegistrationHandle implements AsyncDisposable {
  readonly #parts: RegistrationParts
  readonly #ref: number
  readonly #unfollow: () => void
  #definition: ServiceDefinition
  #ended = false

  /** Made by `registry.register`. Throws as `tracker.track`, and then nothing is registered. */
  constructor(parts: RegistrationParts) {
    const { host, monitor, definition, since } = parts
    this.#parts = parts
    this.#definition = definition
    this.#ref = host.tracker.track(
      monitor,
      SERVICE_TOPIC,
      definition.name,
      toMeta(definition, host.zone, since),
    )
    this.#unfollow = monitor.onClose(() => this.end())
  }

  /** The instance as others see it; after the end, as they saw it last. */
  get instance(): Instance {
    const { host, since } = this.#parts
    const { id: node, name } = host.tracker
    const meta = toMeta(this.#definition, host.zone, since) as ServiceMeta
    const entry = { node, incarnation: host.incarnation(), ref: this.#ref, key: this.#definition.name, meta }
    return toInstance(entry, name)
  }

  /** False after `unregister`, or when the monitor or the registry is closed. */
  get active(): boolean {
    return !this.#ended
  }

  /**
   * Changes some fields in one write: nobody ever sees the instance missing. A function is given the present
   * definition. `draining` is told at once, whatever `flush` says. Name and version are what the instance is, so they cannot change: register another.
   *
   * Throws as `defineService`, and `ROLLCALL_NOT_TRACKED` or `ROLLCALL_MONITOR_CLOSED` after the end; then nothing has changed.
   */
  update(patch: ServicePatch | ((current: ServiceDefinition) => ServicePatch)): void {
    const { host, monitor, since } = this.#parts
    const definition = patchService(
      this.#definition,
      typeof patch === 'function' ? patch(this.#definition) : patch,
    )
    host.tracker.update(monitor, SERVICE_TOPIC, definition.name, toMeta(definition, host.zone, since))
    this.#definition = definition
    // Every call that still comes here is one that the end of the period would have spared.
    if (definition.state === 'draining') host.tracker.flush()
  }

  /** Ends it, everywhere. A second time is nothing. */
  unregister(): void {
    if (this.#ended) return
    const { host, monitor, owned } = this.#parts
    if (owned) monitor.close()
    else host.tracker.untrack(monitor, SERVICE_TOPIC, this.#definition.name)
    this.end()
  }

  /** Called when the monitor or the registry has ended. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#unfollow()
    this.#parts.host.ended(this)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.unregister()
    return Promise.resolve()
  }
}
