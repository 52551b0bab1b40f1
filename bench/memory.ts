import type { Json } from '../src/core/json.ts'
import { Replica } from '../src/core/replica.ts'
import { SERVICE_TOPIC } from '../src/registry/instance.ts'
import { ChunkAssembler } from '../src/wire/chunk-assembler.ts'
import { WIRE_LIMITS } from '../src/wire/limits.ts'
import { encodeChunks } from '../src/wire/split.ts'
import { decodeSyncMessage } from '../src/wire/sync-message.ts'
import { collectGarbage, emptyIndex, expectEqual, meta, snapshot } from './services.ts'

/** Heap per replicated service, its meta excluded: what stays of a snapshot that came over the wire. */
const OWNERS = 20
const ENTRIES = 5_000

function heapUsed(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

type NameOf = (owner: string, index: number) => string

/** Frames as they come off the wire. */
function decodeAll(nameOf: NameOf) {
  return Array.from({ length: OWNERS }, (_, number) => {
    const owner = `owner-${number}`
    const assembler = new ChunkAssembler(WIRE_LIMITS)
    let whole: ReturnType<ChunkAssembler['add']>
    for (const bytes of encodeChunks(
      owner,
      snapshot(owner, ENTRIES, (index) => nameOf(owner, index)),
      128 * 1024,
    )) {
      const message = decodeSyncMessage(bytes, WIRE_LIMITS)
      if (message.kind === 'chunk') whole = assembler.add(message, bytes.length)
    }
    if (whole === undefined) throw new Error('no frame')
    return whole
  })
}

/** Heap that stays of what `build` returns. */
function heapOf<T>(build: () => T): { readonly bytes: number; readonly built: T } {
  const before = heapUsed()
  const built = build()
  return { bytes: heapUsed() - before, built }
}

function replicate(nameOf: NameOf) {
  const replica = new Replica<Json>()
  const index = emptyIndex((node) => node)
  for (const { owner, frame } of decodeAll(nameOf)) {
    replica.receive(owner, frame)
    index.apply({ node: owner, joins: replica.show(owner), leaves: [], updates: [], reason: undefined })
  }
  while (replica.settle(Infinity));
  return { replica, index }
}

function measure(what: string, names: number, nameOf: NameOf): void {
  const metas = heapOf(() =>
    decodeAll(nameOf).flatMap(({ frame }) =>
      frame.writes.map((write) => (write.kind === 'put' ? write.meta : null)),
    ),
  )
  expectEqual('metas', metas.built.length, OWNERS * ENTRIES)
  const whole = heapOf(() => replicate(nameOf))
  expectEqual('entries', whole.built.replica.list(SERVICE_TOPIC).length, OWNERS * ENTRIES)
  expectEqual('names', [...whole.built.index.records()].length, names)
  const perEntry = (bytes: number): string => `${(bytes / OWNERS / ENTRIES).toFixed(0)} B`
  console.log(
    `${what}: ${perEntry(whole.bytes - metas.bytes)} per service, and ${perEntry(metas.bytes)} for its meta`,
  )
}

const total = (OWNERS * ENTRIES).toLocaleString('en')
console.log(`${total} services on ${OWNERS} nodes; a meta is ${JSON.stringify(meta(1)).length} B of JSON`)
measure(`${OWNERS} instances to a name`, ENTRIES, (_, index) => `service-${index}`)
measure('every one under a name of its own', OWNERS * ENTRIES, (owner, index) => `${owner}-service-${index}`)
