import { createRegistry, type Instance, type RegistrationHandle, type Registry } from 'rollcall'
import { MemoryNetwork, memoryTransport, VirtualClock } from 'rollcall/testing'

// Why callers hold a name, and not a list of addresses. A service has six replicas, and callers make twelve requests a round,
// in turn. In some rounds a replica is replaced: the new one has another address, and is ready two rounds after it is made.
// The name never changes. What comes of it depends on which list the caller takes turns over, and how old that may be.

const ROUNDS = 24
const REQUESTS = 12
const REPLICAS = 6
const ROUNDS_TO_START = 2
const CHURN = 0.45
const SEED = 20_260_803
/** Of the virtual clock. */
const ROUND_MS = 1_000
const NAME = 'orders'

interface Replica {
  readonly handle: RegistrationHandle
  readonly readyAt: number
}

/** Runs the rounds. `list` is asked at every request for the instances to take turns over. */
async function run(open: (registry: Registry) => () => readonly Instance[]) {
  const clock = new VirtualClock()
  const transport = memoryTransport(new MemoryNetwork(), { address: '/memory/node' })
  await using registry = await createRegistry({ transport, clock })
  const draw = xorshift(SEED)
  const slots: Replica[] = []
  let made = 0
  const replace = (slot: number, round: number, readyAt: number): void => {
    slots[slot]?.handle.unregister()
    const address = `10.0.0.${++made}:80`
    const state = readyAt > round ? 'starting' : 'ready'
    const handle = registry.register({ name: NAME, version: '1.0.0', address, state, metadata: { slot } })
    slots[slot] = { handle, readyAt }
  }
  for (let slot = 0; slot < REPLICAS; slot++) replace(slot, 0, 0)

  const list = open(registry)
  const seen = { failed: 0, gone: 0, replaced: 0, changes: -1, fewest: Infinity, most: 0, busiest: 0 }
  let before = ''
  let cursor = 0
  for (let round = 0; round < ROUNDS; round++) {
    if (draw() < CHURN) {
      replace(Math.floor(draw() * REPLICAS), round, round + ROUNDS_TO_START)
      seen.replaced++
    }
    for (const { handle, readyAt } of slots) if (readyAt === round) handle.update({ state: 'ready' })
    const requests = new Map<string, number>()
    let endpoints: readonly Instance[] = []
    for (let request = 0; request < REQUESTS; request++) {
      endpoints = list()
      const id = endpoints[cursor++ % endpoints.length]?.id ?? ''
      requests.set(id, (requests.get(id) ?? 0) + 1)
      const replica = slots.find(({ handle }) => handle.instance.id === id)
      if (replica === undefined) seen.gone++
      else if (replica.readyAt > round) seen.failed++
    }
    const now = endpoints.map(({ id }) => id).join()
    if (now !== before) seen.changes++
    before = now
    seen.fewest = Math.min(seen.fewest, endpoints.length)
    seen.most = Math.max(seen.most, endpoints.length)
    seen.busiest = Math.max(seen.busiest, ...requests.values())
    await clock.advance(ROUND_MS)
  }
  return seen
}

/** Replicas stand in the order of their slots. */
const inOrder = (instances: readonly Instance[]): readonly Instance[] =>
  instances.toSorted((a, b) => Number(a.metadata['slot']) - Number(b.metadata['slot']))

/** Marsaglia's generator of 32 bits, with the shifts 13, 17 and 5. From 0 to 1. */
function xorshift(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 2 ** 32
  }
}

console.log('the list           requests  failed  endpoints  most of one  list changes  replaced')
for (const [what, state] of [
  ['all instances', 'any'],
  ['the ready ones', 'ready'],
] as const) {
  const seen = await run((registry) => () => inOrder(registry.lookupAll(NAME, undefined, { state })))
  const cells = [
    ROUNDS * REQUESTS,
    seen.failed,
    `${seen.fewest}–${seen.most}`,
    seen.busiest,
    seen.changes,
    seen.replaced,
  ]
  const widths = [10, 8, 11, 13, 14, 10]
  console.log(what.padEnd(17) + cells.map((cell, at) => String(cell).padStart(widths[at] ?? 0)).join(''))
}

console.log('\ncached for   resolves  requests to instances already gone')
for (const rounds of [0, 2, 4, 8, 24]) {
  let resolves = 0
  const seen = await run((registry) => {
    const resolver = registry.cachedResolver(NAME, { ttlMs: rounds * ROUND_MS })
    return () => {
      const instances = inOrder(resolver.resolve())
      resolves = resolver.resolves
      return instances
    }
  })
  console.log(
    `${String(rounds).padStart(2)} rounds${String(resolves).padStart(12)}${String(seen.gone).padStart(10)}`,
  )
}
