import { do_not_optimize, measure as time } from 'mitata'
import type { Entry } from '../src/core/frame.ts'
import type { Json } from '../src/core/json.ts'
import { CallBook } from '../src/registry/balance/call-book.ts'
import { SERVICE_TOPIC } from '../src/registry/instance.ts'
import { REGISTRY_DEFAULTS } from '../src/registry/options.ts'
import { Requirements } from '../src/registry/requirement.ts'
import { noLookups } from '../src/registry/lookup-tally.ts'
import { SelectorPool } from '../src/registry/selector-pool.ts'
import type { ServiceIndex } from '../src/registry/service-index.ts'
import { systemClock, systemRandom } from '../src/tracker/system.ts'
import { collectGarbage, emptyIndex } from './services.ts'

/** Time and memory of the hit path, for 1,000 services × 1, 10 and 100 instances. */
const SERVICES = 1_000
const VERSIONS = ['1.4.0', '2.0.3', '2.1.0', '3.0.0-rc.1']
const REQUIREMENT = '~> 2.0'
const CALLS = 2_000_000
const ROUNDS = 7

const entry = (service: number, instance: number): Entry<Json> => ({
  node: `node-${instance}`,
  incarnation: 1,
  ref: service + 1,
  version: service + 1,
  topic: SERVICE_TOPIC,
  key: `service-${service}`,
  meta: {
    version: VERSIONS[instance % VERSIONS.length] ?? '2.1.0',
    address: `host-${instance}:4000`,
    functions: { 'get/1': { timeoutMs: 500, retry: { limit: 1, afterMs: 10 } } },
    zone: 'north',
    capabilities: { write: 'ready' },
    since: 1_700_000_000_000,
  },
})

/** Every service has `instances` instances of the version that must be found, and as many of lower and higher ones. */
function build(instances: number): { readonly index: ServiceIndex; readonly pool: SelectorPool } {
  const index = emptyIndex((node) => `name of ${node}`)
  for (let instance = 0; instance < instances * VERSIONS.length; instance++) {
    const joins = Array.from({ length: SERVICES }, (_, service) => entry(service, instance))
    index.apply({ node: `node-${instance}`, joins, leaves: [], updates: [], reason: undefined })
  }
  const queries = { ...REGISTRY_DEFAULTS, requirements: new Requirements('semver') }
  const calls = new CallBook({ clock: systemClock, rules: REGISTRY_DEFAULTS, changed: () => undefined })
  return { index, pool: new SelectorPool(index, queries, systemRandom, calls, noLookups()) }
}

interface Figures {
  readonly ns: number
  readonly bytes: number
}

async function measure(call: (i: number) => { readonly ok: boolean }): Promise<Figures> {
  let turn = 0
  const { p50 } = await time(() => do_not_optimize(call(turn++)))
  return { ns: p50, bytes: allocated(call) }
}

/** Bytes a call leaves on the heap. Least of several rounds: the machine's other work only ever adds. */
function allocated(call: (i: number) => { readonly ok: boolean }): number {
  let bytes = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    collectGarbage()
    const heap = process.memoryUsage().heapUsed
    let hits = 0
    for (let i = 0; i < CALLS; i++) if (call(i).ok) hits++
    bytes = Math.min(bytes, Math.max(0, process.memoryUsage().heapUsed - heap) / CALLS)
    if (hits !== CALLS) throw new Error(`${CALLS - hits} of ${CALLS} calls found nothing`)
  }
  return bytes
}

/** The answers must be right before their speed means anything. */
function check(name: string, instances: number, next: () => ReturnType<SelectorPool['lookup']>): void {
  const seen = new Set<string>()
  for (let i = 0; i < instances; i++) {
    const answer = next()
    if (!answer.ok || answer.service.name !== name || answer.service.version !== '2.1.0') {
      throw new Error(`a wrong answer for ${name}: ${JSON.stringify(answer)}`)
    }
    seen.add(answer.service.id)
  }
  if (seen.size !== instances) throw new Error(`${name}: ${seen.size} of ${instances} instances had a turn`)
}

const table: Record<string, string | number>[] = []
const row = (what: string, instances: number, { ns, bytes }: Figures): void => {
  table.push({ what, instances, 'ns/op': Number(ns.toFixed(1)), 'bytes/op': Number(bytes.toFixed(3)) })
}

for (const instances of [1, 10, 100]) {
  const { pool } = build(instances)
  const names = Array.from({ length: SERVICES }, (_, service) => `service-${service}`)
  const selectors = names.map((name) => pool.select(name, REQUIREMENT, undefined))
  const options = { state: 'ready', function: 'get/1', zone: 'north', capability: 'write' } as const
  for (const [at, name] of names.entries()) {
    check(name, instances, () => pool.lookup(name, REQUIREMENT, undefined))
    check(name, instances, () => pool.lookup(name, REQUIREMENT, options))
    check(name, instances, () => selectors[at]?.next() ?? { ok: false, error: 'noservice', degraded: false })
  }
  // The least that any registry can do: an array per service, and a turn. What it costs is the memory of the machine.
  const lists = selectors.map((selector) => Array.from({ length: instances }, () => selector.next()))
  const turns = new Uint32Array(SERVICES)
  const floor = (i: number): { readonly ok: boolean } => {
    const service = i % SERVICES
    const turn = turns[service] ?? 0
    turns[service] = turn + 1 < instances ? turn + 1 : 0
    return lists[service]?.[turn] ?? { ok: false }
  }
  const nameAt = (i: number): string => names[i % SERVICES] ?? ''
  const [first] = selectors
  if (first === undefined) throw new Error('no selector')
  row(
    'lookup(name, requirement)',
    instances,
    await measure((i) => pool.lookup(nameAt(i), REQUIREMENT, undefined)),
  )
  row(
    'lookup by state, function, zone and capability',
    instances,
    await measure((i) => pool.lookup(nameAt(i), REQUIREMENT, options)),
  )
  row('floor: 1,000 arrays in turn', instances, await measure(floor))
  row(
    'next() of 1,000 selectors in turn',
    instances,
    await measure((i) => (selectors[i % SERVICES] ?? first).next()),
  )
  row('next() of one selector', instances, await measure(() => first.next()))
}
console.table(table)
