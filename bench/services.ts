import { performance } from 'node:perf_hooks'
import type { Frame, NodeId } from '../src/core/frame.ts'
import type { Json } from '../src/core/json.ts'
import { SERVICE_TOPIC } from '../src/registry/instance.ts'

/** What one registered service says of itself: about 150 bytes of JSON. */
export const meta = (version: number): Json => ({
  version: `2.${version % 10}.0`,
  address: `10.0.${version % 250}.7:4000`,
  functions: { 'get/1': { timeoutMs: 500, retry: { limit: 1, afterMs: 10 } } },
  since: 1_700_000_000_000 + version,
})

/** The snapshot of an owner with `entries` services, each under a name of its own. */
export function snapshot(owner: NodeId, entries: number, metaOf = meta): Frame<Json> {
  const writes = Array.from({ length: entries }, (_, index) => {
    const version = index + 1
    const key = `${owner}-service-${index}`
    return { kind: 'put' as const, version, ref: version, topic: SERVICE_TOPIC, key, meta: metaOf(version) }
  })
  return { incarnation: 1, from: 0, to: entries, writes }
}

/** Time of the fastest of `rounds` runs, ms: other work of the machine only ever adds. */
export function fastest(rounds: number, run: () => void): number {
  let best = Infinity
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    run()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

export function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: found ${String(found)}, expected ${String(expected)}`)
}

/** Collects garbage fully; weak references need a second pass. Needs `--expose-gc`. */
export function collectGarbage(): void {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('run with --expose-gc, as npm run bench does')
  gc()
  gc()
}
