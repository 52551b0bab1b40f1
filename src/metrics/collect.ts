import { Counter, Gauge } from 'prom-client'
import type { Metric } from 'prom-client'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import { argumentError, isRecord } from '../tracker/check.ts'
import { Happenings } from './happenings.ts'
import { resolveMetricsOptions } from './options.ts'
import type { MetricsOptions, ResolvedMetricsOptions } from './options.ts'
import { read } from './readings.ts'
import type { Readings } from './readings.ts'
import { ServiceLabels } from './service-labels.ts'
import { METRICS } from './table.ts'
import type { MetricKind, MetricName } from './table.ts'

/** The metrics of one registry, in the hands of prom-client. */
export interface MetricsCollection {
  /** Takes the metrics out of the register and stops counting. Idempotent. Also done when the registry closes. */
  stop(): void
}

const NAMES = Object.keys(METRICS) as MetricName[]

/**
 * Gives prom-client the metrics of a registry, until it closes or `stop` is called. Values are read at each scrape, at the
 * cost of the instances and nodes that are known; what comes and goes is counted from now on.
 *
 * Two registries of one process need a `register` of their own, told apart by its default labels, or a `prefix`. Throws
 * `ROLLCALL_INVALID_ARGUMENT`, also when the register has a metric of such a name, and `ROLLCALL_CLOSED`; then nothing is collected.
 */
export function collectMetrics(registry: Registry, options: MetricsOptions = {}): MetricsCollection {
  const resolved = resolveMetricsOptions(options)
  if (!isRegistry(registry)) throw argumentError('The registry', registry, 'must be one of createRegistry')
  if (registry.closed) throw new RollcallError('ROLLCALL_CLOSED')
  checkFree(resolved)

  const { register, prefix, maxServices } = resolved
  const happenings = new Happenings(registry)
  const serviceLabels = new ServiceLabels(maxServices)
  const readings = perTurn(() => read(registry, happenings, serviceLabels))
  const metrics = NAMES.map((name) => [prefix + name, addMetric(name, resolved, readings)] as const)

  const stop = (): void => {
    registry.tracker.off('close', stop)
    happenings.stop()
    for (const [name, metric] of metrics) {
      // By now the name may be that of another.
      if (register.getSingleMetric(name) === metric) register.removeSingleMetric(name)
    }
  }
  registry.tracker.once('close', stop)
  return { stop }
}

const isRegistry = (registry: unknown): boolean =>
  isRecord(registry) && isRecord(registry['tracker']) && typeof registry['diagnostics'] === 'function'

function checkFree({ register, prefix }: ResolvedMetricsOptions): void {
  const taken = NAMES.find((name) => register.getSingleMetric(prefix + name) !== undefined)
  if (taken === undefined) return
  throw argumentError('The option prefix', prefix, `must be another: the register has ${prefix}${taken}`)
}

function addMetric(
  name: MetricName,
  { register, prefix }: ResolvedMetricsOptions,
  readings: () => Readings,
): Metric {
  const { type, help, labels }: MetricKind = METRICS[name]
  const definition = { name: prefix + name, help, labelNames: [...labels], registers: [register] }
  return type === 'gauge'
    ? new Gauge({
        ...definition,
        collect() {
          this.reset()
          for (const { labels, value } of readings()[name]) this.set(labels, value)
        },
      })
    : new Counter({
        ...definition,
        collect() {
          this.reset()
          for (const { labels, value } of readings()[name]) this.inc(labels, value)
        },
      })
}

/** A scrape asks every metric in one turn of the event loop: all of them answer from one reading. */
function perTurn(read: () => Readings): () => Readings {
  let latest: Readings | undefined
  return () => {
    if (latest === undefined) {
      latest = read()
      queueMicrotask(() => (latest = undefined))
    }
    return latest
  }
}
