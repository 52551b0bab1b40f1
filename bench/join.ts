import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { Entry } from '../src/core/frame.ts'
import type { Json } from '../src/core/json.ts'
import { Replica } from '../src/core/replica.ts'
import { SERVICE_TOPIC } from '../src/registry/instance.ts'
import { ServiceIndex } from '../src/registry/service-index.ts'
import { ChunkAssembler } from '../src/wire/chunk-assembler.ts'
import { WIRE_LIMITS } from '../src/wire/limits.ts'
import { encodeChunks } from '../src/wire/split.ts'
import { decodeSyncMessage } from '../src/wire/sync-message.ts'
import { collectGarbage, expectEqual, fastest, INCARNATION, meta, snapshot } from './services.ts'

/** What a frame costs a replica, by how much the replica holds. */
const OWNERS = 100
const DELTAS = 10_000
const SNAPSHOT_OWNERS = 20
const SNAPSHOT_ENTRIES = 5_000
/** As a sync cuts them. */
const CHUNK_BYTES = 128 * 1024

function deltaCost(entries: number): number {
  const replica = new Replica<Json>()
  for (let owner = 0; owner < OWNERS; owner++) {
    replica.receive(`owner-${owner}`, snapshot(`owner-${owner}`, entries / OWNERS))
    replica.show(`owner-${owner}`)
  }
  let version = entries / OWNERS
  const next = { incarnation: 1, topic: SERVICE_TOPIC, key: 'owner-0-service-0', ref: 1 }
  collectGarbage()
  const ms = fastest(5, () => {
    for (let i = 0; i < DELTAS; i++) {
      const from = version++
      const writes = [{ kind: 'put' as const, ...next, version, meta: meta(version) }]
      replica.receive('owner-0', { incarnation: INCARNATION, from, to: version, writes })
    }
  })
  expectEqual('head', replica.head('owner-0')?.version, entries / OWNERS + 5 * DELTAS)
  expectEqual('version found', replica.getByKey(SERVICE_TOPIC, next.key)[0]?.version, version)
  expectEqual('entries', replica.list(SERVICE_TOPIC).length, entries)
  return (ms / DELTAS) * 1_000
}

/** All a newcomer does with what comes: decode, join, show, index; every message in a turn of its own. */
async function snapshotCost(): Promise<{ totalMs: number; longestMs: number; messages: number }> {
  const sent = Array.from({ length: SNAPSHOT_OWNERS }, (_, index) => {
    const owner = `owner-${index}`
    return [...encodeChunks(owner, snapshot(owner, SNAPSHOT_ENTRIES), CHUNK_BYTES)]
  }).flat()
  const replica = new Replica<Json>()
  const index = new ServiceIndex({ nameOf: (node) => node, doubtOf: () => undefined })
  const assembler = new ChunkAssembler(WIRE_LIMITS)
  let totalMs = 0
  let longestMs = 0
  for (const bytes of sent) {
    const start = performance.now()
    const message = decodeSyncMessage(bytes, WIRE_LIMITS)
    if (message.kind !== 'chunk') throw new Error('not a chunk')
    const whole = assembler.add(message, bytes.length)
    if (whole !== undefined) {
      replica.receive(whole.owner, whole.frame)
      const joins: Entry<Json>[] = replica.show(whole.owner)
      index.apply({ node: whole.owner, joins, leaves: [], updates: [], reason: undefined })
    }
    const ms = performance.now() - start
    totalMs += ms
    longestMs = Math.max(longestMs, ms)
    await setImmediate()
  }
  expectEqual('entries', replica.list(SERVICE_TOPIC).length, SNAPSHOT_OWNERS * SNAPSHOT_ENTRIES)
  expectEqual('services', [...index.records()].length, SNAPSHOT_OWNERS * SNAPSHOT_ENTRIES)
  return { totalMs, longestMs, messages: sent.length }
}

const costs = [1_000, 1_000_000].map((entries) => ({ entries, us: deltaCost(entries) }))
for (const { entries, us } of costs)
  console.log(`a delta of 1 write into ${entries.toLocaleString('en')} entries: ${us.toFixed(2)} µs`)
await snapshotCost()
const { totalMs, longestMs, messages } = await snapshotCost()
console.log(
  `snapshots of ${SNAPSHOT_OWNERS} owners × ${SNAPSHOT_ENTRIES} services in ${messages} messages: ` +
    `${totalMs.toFixed(0)} ms in all, longest turn ${longestMs.toFixed(1)} ms`,
)
