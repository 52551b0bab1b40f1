export { collectMetrics } from './collect.ts'
export type { MetricsCollection } from './collect.ts'
export { METRICS_DEFAULTS } from './options.ts'
export type { MetricsOptions } from './options.ts'
