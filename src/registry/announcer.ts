import type { Entry } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Diff } from '../tracker/types.ts'
import type { ServiceEntry } from './instance.ts'
import type { ServiceChange } from './service-changes.ts'
import type { ServiceLog } from './service-log.ts'
import { OWN_REASONS } from './types.ts'
import type { Instance, RegistryEvents, RejectedService, ServiceDownReason } from './types.ts'

export interface AnnouncerPorts {
  readonly log: ServiceLog
  readonly instanceOf: (entry: ServiceEntry) => Instance
  /** The label of a node; '' until it has said it. */
  readonly nodeName: (node: string) => string
  readonly isHeard: (event: keyof RegistryEvents) => boolean
  readonly dispatch: <Event extends keyof RegistryEvents>(
    event: Event,
    ...payload: RegistryEvents[Event]
  ) => void
}

/** Tells listeners and the log what changed of services. */
export class Announcer {
  readonly #ports: AnnouncerPorts
  #rejected = 0

  constructor(ports: AnnouncerPorts) {
    this.#ports = ports
  }

  /** How many entries of peers were no service. */
  get rejected(): number {
    return this.#rejected
  }

  announce(change: ServiceChange, { reason, reasons }: Diff): void {
    const { log, instanceOf, isHeard, dispatch } = this.#ports
    if (change.kind === 'rejected') {
      this.#reject(change.entry, change.fault)
      return
    }
    // A replica may take in 100,000 instances at once; nobody pays for telling nobody.
    if (!isHeard(EVENTS[change.kind]) && (log.silent || change.kind === 'changed')) return
    const instance = instanceOf(change.entry)
    switch (change.kind) {
      case 'up':
        log.up(instance)
        dispatch('service_up', { instance })
        return
      case 'changed':
        dispatch('service_changed', { instance, previous: instanceOf(change.previous) })
        return
      case 'down': {
        const own = ownReason(reasons?.get(change.entry.ref))
        const why = change.replaced ? 'invalid' : (reason ?? own ?? 'unregistered')
        log.down(instance, why)
        dispatch('service_down', { instance, reason: why })
      }
    }
  }

  #reject({ node, key }: Entry<Json>, fault: string): void {
    const { log, nodeName, dispatch } = this.#ports
    this.#rejected++
    const message = `${nodeName(node) || node} published ${JSON.stringify(key)}, which is no service: ${fault}`
    const event: RejectedService = { node, name: key, code: 'ROLLCALL_SERVICE_INVALID', message }
    log.rejected(event)
    dispatch('service_rejected', event)
  }
}

const EVENTS = { up: 'service_up', changed: 'service_changed', down: 'service_down' } as const

const ownReason = (word: string | undefined): ServiceDownReason | undefined =>
  OWN_REASONS.find((each) => each === word)
