import type { Registry } from '../registry/registry.ts'
import { json } from './answer.ts'
import type { Routes } from './route.ts'

/**
 * Why a node should not be asked. `closed`: it is closed or closing. `joining`: it has met no other node yet, though it tries to reach
 * some in vain, or has heard of some whose services are not here yet: it knows of nobody's but its own. `isolated`: it has lost sight of more than half of the nodes at once.
 */
export type Unready = 'closed' | 'joining' | 'isolated'

/** Says whether a node is alive, and whether what it answers is worth asking for. */
export class Health {
  readonly #registry: Registry
  /** Whether it has ever met another: who is alone since then has outlived the others, and knows what there is to know. */
  #met: boolean

  constructor(registry: Registry) {
    this.#registry = registry
    this.#met = registry.nodes().length > 1
    registry.tracker.on('node_up', this.#meet)
  }

  /** Undefined: it is ready. */
  get unready(): Unready | undefined {
    const { closed, tracker } = this.#registry
    if (closed) return 'closed'
    if (tracker.isolated) return 'isolated'
    if (this.#met) return undefined
    const { dials, nodes } = this.#registry.diagnostics()
    return dials.length > 0 || nodes.length > 0 ? 'joining' : undefined
  }

  close(): void {
    this.#registry.tracker.off('node_up', this.#meet)
  }

  readonly #meet = (): void => {
    this.#met = true
  }
}

/** For supervisors and load balancers. */
export function healthRoutes(registry: Registry, health: Health): Routes {
  return {
    '/healthz': {
      GET: {
        access: 'open',
        always: true,
        answer: () => (registry.closed ? json({ status: 'closed' }, 503) : json({ status: 'ok' })),
      },
    },
    '/readyz': {
      GET: {
        access: 'open',
        always: true,
        answer: () => {
          const why = health.unready
          return why === undefined ? json({ status: 'ready' }) : json({ status: 'unready', why }, 503)
        },
      },
    },
  }
}
