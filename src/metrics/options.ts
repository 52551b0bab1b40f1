import { register as globalRegister } from 'prom-client'
import type { Registry as Register } from 'prom-client'
import { argumentError, checkKeys } from '../tracker/check.ts'

export interface MetricsOptions {
  /** Where the metrics are registered: one of prom-client's registries. Default: its global one. */
  readonly register?: Register | undefined
  /** What every name begins with. Registries of one process that share a `register` need one each. */
  readonly prefix?: string | undefined
  /**
   * How many names of services become label values, each for as long as it is collected. Further ones are counted
   * together as `other`. Higher shows more services, at four series each.
   */
  readonly maxServices?: number | undefined
}

export interface ResolvedMetricsOptions {
  readonly register: Register
  readonly prefix: string
  readonly maxServices: number
}

/** Four hundred series of services: a small share of what a Prometheus server takes of one target without a second thought. */
export const METRICS_DEFAULTS = {
  prefix: 'rollcall_',
  maxServices: 100,
} as const satisfies MetricsOptions

/** Throws `ROLLCALL_INVALID_ARGUMENT`, naming the option, the value and the rule. */
export function resolveMetricsOptions(options: MetricsOptions): ResolvedMetricsOptions {
  checkKeys('The options', options, ['register', 'prefix', 'maxServices'])
  const {
    register = globalRegister,
    prefix = METRICS_DEFAULTS.prefix,
    maxServices = METRICS_DEFAULTS.maxServices,
  } = options
  if (!isRegister(register)) {
    throw argumentError('The option register', register, 'must be a Registry of prom-client')
  }
  if (typeof prefix !== 'string' || !/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(prefix)) {
    throw argumentError('The option prefix', prefix, 'must be the beginning of a name of Prometheus')
  }
  if (!Number.isSafeInteger(maxServices) || maxServices < 0) {
    throw argumentError('The option maxServices', maxServices, 'must be a whole number, at least 0')
  }
  return { register, prefix, maxServices }
}

/** By what it does: the program may have a prom-client of its own. */
function isRegister(register: unknown): boolean {
  return (
    typeof register === 'object' &&
    register !== null &&
    ['registerMetric', 'removeSingleMetric', 'getSingleMetric'].every(
      (method) => typeof Reflect.get(register, method) === 'function',
    )
  )
}
