import { show } from './life.ts'
import type { Life } from './life.ts'
import type { CapabilityState, HealthReport } from './types.ts'

/** What is told of a life and of what the instance can do. Pure. Gives `before` again when it says the same. */
export function describe(
  life: Life,
  capabilities: ReadonlyMap<string, CapabilityState>,
  before?: HealthReport,
): HealthReport {
  const { state, reason } = show(life)
  const entries = [...capabilities]
  const same =
    before?.state === state &&
    before.reason === reason &&
    entries.every(([name, each]) => before.capabilities[name] === each)
  if (same) return before
  return Object.freeze({ state, reason, capabilities: Object.freeze(Object.fromEntries(entries)) })
}
