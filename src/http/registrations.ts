import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import type { DrainOptions } from '../registry/drain.ts'
import type { RegistrationHandle } from '../registry/registration.ts'
import { defineService, PATCH_FIELDS } from '../registry/service.ts'
import type { Instance, ServicePatch, ServiceSpec } from '../registry/types.ts'
import { argumentError, checkKeys } from '../tracker/check.ts'
import { Monitor } from '../tracker/monitor.ts'
import type { Lease } from '../tracker/monitor.ts'
import type { Clock } from '../tracker/ports.ts'
import { Refusal } from './problem.ts'

export interface RegistrationsOptions {
  readonly maxRegistrations: number
  readonly clock: Clock
}

/** A registration as a client is shown it. */
export interface RegistrationView {
  readonly id: string
  readonly leaseMs: number
  readonly instance: Instance
}

interface Held {
  readonly lease: Lease
  readonly handle: RegistrationHandle
  leaseMs: number
  /** What was last put, as JSON. */
  text: string
}

/** Shorter would die of one slow request; what is longer is no lease. */
const LEASE_MS = { min: 1_000, max: 86_400_000 } as const

/** Services that are kept alive from outside, each under an id that its client chose, for as long as its lease is renewed. */
export class Registrations {
  readonly #registry: Registry
  readonly #options: RegistrationsOptions
  readonly #held = new Map<string, Held>()
  #closed = false

  constructor(registry: Registry, options: RegistrationsOptions) {
    this.#registry = registry
    this.#options = options
  }

  /**
   * Registers, or changes what is there to exactly this, in one write and with a new lease. Throws as `registry.register`,
   * `ROLLCALL_HTTP_CONFLICT` for another name or version than the id has, and `ROLLCALL_HTTP_BUSY`; then nothing has changed.
   */
  put(id: string, body: unknown): { readonly created: boolean; readonly view: RegistrationView } {
    checkId(id)
    const { leaseMs, spec } = readPut(body)
    const { name, version } = defineService(spec)
    const held = this.#held.get(id)
    if (held === undefined) return { created: true, view: this.#add(id, spec, leaseMs) }

    const { instance } = held.handle
    if (name !== instance.name || version !== instance.version) {
      const detail = `The id ${id} is that of ${instance.name} ${instance.version}`
      throw new Refusal('ROLLCALL_HTTP_CONFLICT', 409, detail)
    }
    const text = JSON.stringify(spec)
    if (text !== held.text) {
      held.handle.update(patchOf(spec))
      held.text = text
    }
    held.leaseMs = leaseMs
    held.lease.renew(leaseMs)
    return { created: false, view: viewOf(id, held) }
  }

  list(): readonly RegistrationView[] {
    return [...this.#held].map(([id, held]) => viewOf(id, held))
  }

  /** Throws `ROLLCALL_HTTP_NOT_FOUND`; so do the others. */
  get(id: string): RegistrationView {
    return viewOf(id, this.#find(id))
  }

  /** Starts its lease anew, and says in one write what is given of its state. Throws as `registration.update`. */
  renew(id: string, body: unknown = {}): RegistrationView {
    const held = this.#find(id)
    checkKeys('The body', body, ['state', 'reason'])
    const patch = body as Pick<ServicePatch, 'state' | 'reason'>
    if (Object.keys(patch).length > 0) {
      held.handle.update(patch)
      // What was put is not what there is any more.
      held.text = ''
    }
    held.lease.renew(held.leaseMs)
    return viewOf(id, held)
  }

  /** Begins to drain it, and ends it after that. Throws as `registration.drain`. */
  drain(id: string, body: unknown = {}): RegistrationView {
    const held = this.#find(id)
    checkKeys('The body', body, ['settleMs', 'graceMs'])
    void held.handle.drain(body as DrainOptions).then(() => held.lease.close())
    return viewOf(id, held)
  }

  remove(id: string): void {
    const { handle, lease } = this.#find(id)
    handle.unregister()
    lease.close()
  }

  /** Ends all of them, and takes no more. */
  close(): void {
    this.#closed = true
    for (const { lease } of this.#held.values()) lease.close()
  }

  #add(id: string, spec: ServiceSpec, leaseMs: number): RegistrationView {
    if (this.#closed) throw new RollcallError('ROLLCALL_CLOSED')
    const { maxRegistrations, clock } = this.#options
    if (this.#held.size >= maxRegistrations) {
      throw new Refusal(
        'ROLLCALL_HTTP_BUSY',
        503,
        `There are ${maxRegistrations} registrations (see the option maxRegistrations)`,
      )
    }
    const lease = Monitor.lease(leaseMs, { clock })
    try {
      const handle = this.#registry.register(spec, { monitor: lease })
      const held = { lease, handle, leaseMs, text: JSON.stringify(spec) }
      this.#held.set(id, held)
      lease.onClose(() => this.#held.delete(id))
      return viewOf(id, held)
    } catch (error) {
      lease.close()
      throw error
    }
  }

  #find(id: string): Held {
    const held = this.#held.get(id)
    if (held !== undefined) return held
    throw new Refusal(
      'ROLLCALL_HTTP_NOT_FOUND',
      404,
      'There is no registration of this id, or its lease has run out',
    )
  }
}

/** Changes to exactly this: what it leaves out goes back to its default. */
const patchOf = (spec: ServiceSpec): ServicePatch =>
  Object.fromEntries(PATCH_FIELDS.map((field) => [field, spec[field]]))

const viewOf = (id: string, { leaseMs, handle }: Held): RegistrationView => ({
  id,
  leaseMs,
  instance: handle.instance,
})

function checkId(id: string): void {
  if (/^[\w.~-]{1,128}$/.test(id)) return
  throw argumentError('The id', id, 'must be 1 to 128 of A-Z a-z 0-9 . _ ~ -')
}

function readPut(body: unknown): { readonly leaseMs: number; readonly spec: ServiceSpec } {
  checkKeys('The body', body, ['name', 'version', ...PATCH_FIELDS, 'leaseMs'])
  const { leaseMs, ...spec } = body as ServiceSpec & { readonly leaseMs: unknown }
  if (typeof leaseMs === 'number' && leaseMs >= LEASE_MS.min && leaseMs <= LEASE_MS.max)
    return { leaseMs, spec }
  throw argumentError('leaseMs', leaseMs, `must be a number from ${LEASE_MS.min} to ${LEASE_MS.max}`)
}
