import type { Json } from '../src/core/json.ts'
import { Replica } from '../src/core/replica.ts'
import { SERVICE_TOPIC } from '../src/registry/instance.ts'
import { ServiceIndex } from '../src/registry/service-index.ts'
import { ChunkAssembler } from '../src/wire/chunk-assembler.ts'
import { WIRE_LIMITS } from '../src/wire/limits.ts'
import { encodeChunks } from '../src/wire/split.ts'
import { decodeSyncMessage } from '../src/wire/sync-message.ts'
import { collectGarbage, expectEqual, meta, snapshot } from './services.ts'

/** Heap per replicated service, its meta excluded: what stays of a snapshot that came over the wire. */
const OWNERS = 20
const ENTRIES = 5_000

function heapUsed(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/** Metas as they come out of the decoder, so that what is subtracted is what they cost. */
function decodeAll() {
  return Array.from({ length: OWNERS }, (_, index) => {
    const owner = `owner-${index}`
    const assembler = new ChunkAssembler(WIRE_LIMITS)
    let whole: ReturnType<ChunkAssembler['add']>
    for (const bytes of encodeChunks(owner, snapshot(owner, ENTRIES), 128 * 1024)) {
      const message = decodeSyncMessage(bytes, WIRE_LIMITS)
      if (message.kind === 'chunk') whole = assembler.add(message, bytes.length)
    }
    if (whole === undefined) throw new Error('no frame')
    return whole
  })
}

function metasOnly(): Json[] {
  return decodeAll().flatMap(({ frame }) =>
    frame.writes.map((write) => (write.kind === 'put' ? write.meta : null)),
  )
}

const before = heapUsed()
const metas = metasOnly()
const metaBytes = heapUsed() - before
expectEqual('metas', metas.length, OWNERS * ENTRIES)
metas.length = 0

const empty = heapUsed()
const replica = new Replica<Json>()
const index = new ServiceIndex((node) => node)
for (const { owner, frame } of decodeAll()) {
  replica.receive(owner, frame)
  index.apply({ node: owner, joins: replica.show(owner), leaves: [], updates: [], reason: undefined })
}
const full = heapUsed() - empty
expectEqual('entries', replica.list(SERVICE_TOPIC).length, OWNERS * ENTRIES)
expectEqual('services', [...index.records()].length, OWNERS * ENTRIES)

const perEntry = (bytes: number): string => `${(bytes / OWNERS / ENTRIES).toFixed(0)} B`
console.log(
  `${(OWNERS * ENTRIES).toLocaleString('en')} services on ${OWNERS} nodes, each under a name of its own, meta ${JSON.stringify(meta(1)).length} B of JSON`,
)
console.log(`meta as objects: ${perEntry(metaBytes)} per service`)
console.log(`all the rest (entry, indexes, names): ${perEntry(full - metaBytes)} per service`)
