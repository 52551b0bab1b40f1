import type { Registry as Register } from 'prom-client'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import { codeOf } from './socket-file.ts'

const registers = new WeakMap<Registry, Register>()

/**
 * The metrics of a registry as Prometheus reads them. They are collected from the first time that they are asked for, apart
 * from what the program itself collects. Rejects with `ROLLCALL_METRICS_ABSENT` where prom-client is not installed.
 */
export async function printMetrics(registry: Registry): Promise<string> {
  const { makeRegister, collectMetrics } = await loadMetrics()
  let register = registers.get(registry)
  if (register === undefined) {
    register = makeRegister()
    collectMetrics(registry, { register })
    registers.set(registry, register)
  }
  return await register.metrics()
}

/** Only when asked for: most programs have no use for it. */
async function loadMetrics() {
  try {
    const { Registry: PromRegistry } = await import('prom-client')
    const { collectMetrics } = await import('../metrics/collect.ts')
    return { makeRegister: () => new PromRegistry(), collectMetrics }
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new RollcallError('ROLLCALL_METRICS_ABSENT', undefined, { cause: error })
  }
}
