import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { Intake } from '../src/core/intake.ts'
import type { Entry } from '../src/core/frame.ts'
import type { Json } from '../src/core/json.ts'
import { Replica } from '../src/core/replica.ts'
import { SERVICE_TOPIC } from '../src/registry/instance.ts'
import { ChunkAssembler } from '../src/wire/chunk-assembler.ts'
import type { AssembledFrame } from '../src/wire/chunk-assembler.ts'
import { WIRE_LIMITS } from '../src/wire/limits.ts'
import { encodeChunks } from '../src/wire/split.ts'
import { decodeSyncMessage } from '../src/wire/sync-message.ts'
import { collectGarbage, emptyIndex, expectEqual, fastest, INCARNATION, meta, snapshot } from './services.ts'

/** What a frame costs a replica, by how much the replica holds. */
const OWNERS = 100
const DELTAS = 10_000
const SNAPSHOTS = [
  { owners: 20, entries: 5_000 },
  { owners: 3, entries: 33_334 },
]
/** As a sync cuts them. */
const CHUNK_BYTES = 128 * 1024
/** As many as a sync settles in a turn. */
const SETTLED = 4_000

interface Cost {
  readonly totalMs: number
  readonly longestMs: number
  readonly messages: number
}

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

/** All a newcomer does with what comes: decode, prepare, join, show, index; every message, and every whole, in a turn of its own. */
async function snapshotCost(owners: number, entries: number): Promise<Cost> {
  const sent = Array.from({ length: owners }, (_, index) => {
    const owner = `owner-${index}`
    return [...encodeChunks(owner, snapshot(owner, entries), CHUNK_BYTES)]
  }).flat()
  const replica = new Replica<Json>()
  const index = emptyIndex((node) => node)
  const assembler = new ChunkAssembler(WIRE_LIMITS)
  let totalMs = 0
  let longestMs = 0
  const turn = async (run: () => void): Promise<void> => {
    const start = performance.now()
    run()
    const ms = performance.now() - start
    totalMs += ms
    longestMs = Math.max(longestMs, ms)
    await setImmediate()
  }
  let intake: Intake<Json> | undefined
  for (const bytes of sent) {
    let whole: AssembledFrame | undefined
    await turn(() => {
      const message = decodeSyncMessage(bytes, WIRE_LIMITS)
      if (message.kind !== 'chunk') throw new Error('not a chunk')
      whole = assembler.add(message, bytes.length)
      intake ??= new Intake(message.owner, message.incarnation)
      const part = intake.add(message.writes)
      if (intake.first !== undefined) index.prepare(part, intake.first)
    })
    if (whole === undefined || intake === undefined) continue
    const { owner, frame } = whole
    const { entries: drafted } = intake
    intake = undefined
    await turn(() => {
      replica.receive(owner, { ...frame, entries: drafted })
      const joins: Entry<Json>[] = replica.show(owner)
      index.apply({ node: owner, joins, leaves: [], updates: [], reason: undefined })
    })
    const settling = { more: true }
    while (settling.more) {
      await turn(() => {
        settling.more = replica.settle(SETTLED)
      })
    }
  }
  expectEqual('entries', replica.list(SERVICE_TOPIC).length, owners * entries)
  expectEqual('services', [...index.records()].length, owners * entries)
  return { totalMs, longestMs, messages: sent.length }
}

const costs = [1_000, 1_000_000].map((entries) => ({ entries, us: deltaCost(entries) }))
for (const { entries, us } of costs)
  console.log(`a delta of 1 write into ${entries.toLocaleString('en')} entries: ${us.toFixed(2)} µs`)
for (const { owners, entries } of SNAPSHOTS) {
  await snapshotCost(owners, entries)
  const { totalMs, longestMs, messages } = await snapshotCost(owners, entries)
  console.log(
    `snapshots of ${owners} owners × ${entries} services in ${messages} messages: ` +
      `${totalMs.toFixed(0)} ms in all, longest turn ${longestMs.toFixed(1)} ms`,
  )
}
