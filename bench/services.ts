import { performance } from 'node:perf_hooks'
import type { Frame, NodeId } from '../src/core/frame.ts'
import type { Json } from '../src/core/json.ts'
import { SERVICE_TOPIC } from '../src/registry/instance.ts'
import { ServiceIndex } from '../src/registry/service-index.ts'

/** As large as a real one: numbers of this size cost more memory than small ones. */
export const INCARNATION = 1_777_346_150_400_397

/** What one registered service says of itself: about 150 bytes of JSON. */
export const meta = (version: number): Json => ({
  version: `2.${version % 10}.0`,
  address: `10.0.${version % 250}.7:4000`,
  functions: { 'get/1': { timeoutMs: 500, retry: { limit: 1, afterMs: 10 } } },
  since: 1_700_000_000_000 + version,
})

/** An index that nobody feeds but the bench. */
export const emptyIndex = (nameOf: (node: NodeId) => string): ServiceIndex =>
  new ServiceIndex(
    { nameOf, doubtOf: () => undefined, isDegraded: () => false },
    { now: () => 0, served: () => undefined },
  )

/** The snapshot of an owner with `entries` services. By default each has a name that no other owner uses. */
export function snapshot(
  owner: NodeId,
  entries: number,
  nameOf = (index: number) => `${owner}-service-${index}`,
): Frame<Json> {
  const writes = Array.from({ length: entries }, (_, index) => {
    const version = index + 1
    const key = nameOf(index)
    return { kind: 'put' as const, version, ref: version, topic: SERVICE_TOPIC, key, meta: meta(version) }
  })
  return { incarnation: INCARNATION, from: 0, to: entries, writes }
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
