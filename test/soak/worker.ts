import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { Monitor, type RegistrationHandle, type Registry, type Transport } from '../../src/index.ts'
import type { Setup } from '../processes/node.ts'
import { serve, standAlone, tell } from '../processes/served.ts'
import { openNode, type OpenNode } from './node.ts'
import { lineOf, type Counts, type Reading, type Sample, type Told, type View, type Write } from './plain.ts'
import { sample } from './resources.ts'
import { Witness } from './witness.ts'

// A node of the soak: does what it is told, watches what it sees.

/** A block of the event loop that may explain what others see of this process. */
const LAG_MS = 250
const LAG_PROBE_MS = 20
const LOOKUPS_PER_TURN = 500

interface Crew extends OpenNode {
  readonly witness: Witness
}

let crew: Crew | undefined
const cut = new Set<string>()
const registrations = new Map<number, RegistrationHandle>()
const monitors = new Map<number, Monitor>()
const traffic = { published: 0, heard: 0, syncs: 0 }
let beats: Moment[] | undefined
let worstLagMs = 0

interface Moment {
  readonly at: number
  /** For how long the main thread was ready to run until now, and was not run. */
  readonly waitedMs: number
}

const moment = (): Moment => ({ at: performance.now(), waitedMs: waited() })

function waited(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    // Only Linux tells.
    return 0
  }
}

function opened(): Crew {
  if (crew === undefined) throw new Error('not open')
  return crew
}

/** Counts what passes. */
function overhear(transport: Transport): void {
  const publish = transport.publish.bind(transport)
  const open = transport.open.bind(transport)
  const start = transport.start.bind(transport)
  transport.publish = (message) => {
    traffic.published++
    beats?.push(moment())
    return publish(message)
  }
  transport.open = (peer, purpose, signal) => {
    if (purpose === 'sync') traffic.syncs++
    return open(peer, purpose, signal)
  }
  transport.start = (events) =>
    start({
      ...events,
      gossip: (author, via, message) => {
        traffic.heard++
        return events.gossip(author, via, message)
      },
    })
}

function watchLag(): void {
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    const lagMs = now - last - LAG_PROBE_MS
    last = now
    worstLagMs = Math.max(worstLagMs, lagMs)
    if (lagMs > LAG_MS) tell('lagged', { text: lagMs.toFixed(0) })
  }, LAG_PROBE_MS).unref()
}

function hangUp(peers: readonly string[] | 'all'): void {
  for (const connection of opened().libp2p.getConnections()) {
    if (peers === 'all' || peers.includes(connection.remotePeer.toString())) {
      connection.abort(new Error('dropped on purpose'))
    }
  }
}

const visible = (): string[] => opened().registry.services().map(lineOf).sort()

function write(registry: Registry, each: Write): string {
  switch (each.kind) {
    case 'register': {
      const { name, version, metadata } = each
      const monitor = each.monitor === undefined ? undefined : monitorOf(each.monitor)
      const registration = registry.register({ name, version, metadata }, { monitor })
      registrations.set(each.key, registration)
      return registration.instance.id
    }
    case 'update':
      registrations.get(each.key)?.update({ metadata: each.metadata })
      return ''
    case 'unregister':
      registrations.get(each.key)?.unregister()
      registrations.delete(each.key)
      return ''
    case 'close monitor':
      monitors.get(each.monitor)?.close()
      monitors.delete(each.monitor)
      for (const [key, { active }] of registrations) if (!active) registrations.delete(key)
      return ''
    case 'end all':
      for (const registration of registrations.values()) registration.unregister()
      for (const monitor of monitors.values()) monitor.close()
      registrations.clear()
      monitors.clear()
      return ''
  }
}

function monitorOf(key: number): Monitor {
  const monitor = monitors.get(key) ?? new Monitor()
  monitors.set(key, monitor)
  return monitor
}

const quantile = (sorted: Float64Array, at: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(at * sorted.length))] ?? 0

const commands = {
  async open(setup: Setup): Promise<{ id: string; address: string }> {
    const node = await openNode(setup, cut, overhear)
    const witness = new Witness(node.registry)
    crew = { ...node, witness }
    process.on('warning', ({ name, message }) => {
      if (name !== 'ExperimentalWarning' && name !== 'DeprecationWarning')
        witness.fault(`${name}: ${message}`)
    })
    watchLag()
    standAlone()
    return { id: node.registry.tracker.id, address: node.libp2p.getMultiaddrs()[0]?.toString() ?? '' }
  },

  /** Does all of it in one turn. Answers with the ids of instances, '' where there is none. */
  apply: (writes: readonly Write[]): string[] => writes.map((each) => write(opened().registry, each)),

  view(): View {
    const { registry, transport, witness } = opened()
    witness.compare()
    const nodes = registry.nodes()
    const rejected = Object.values(registry.tracker.rejected).reduce((sum, each) => sum + each, 0)
    return {
      id: registry.tracker.id,
      incarnation: nodes[0]?.incarnation ?? 0,
      neighbours: transport.neighbours().length,
      digest: createHash('sha256').update(visible().join('\n')).digest('hex'),
      nodes: nodes.map(({ id, incarnation, status, suspect }) => ({ id, incarnation, status, suspect })),
      rejected: rejected + registry.rejected,
      faults: witness.faults,
    }
  },

  /** All instances that are seen, in lines. */
  visible,

  /** Breaks all connections, or those with some peers, as a reset on the wire does. */
  drop: (peers: readonly string[] | 'all'): void => hangUp(peers),

  /** Splits off from these peers until `heal`. */
  cut(peers: readonly string[]): void {
    for (const peer of peers) cut.add(peer)
    hangUp(peers)
  },

  heal(): void {
    cut.clear()
  },

  record: (): void => opened().witness.record(),

  recorded: (): Told[] => opened().witness.recorded(),

  /** Looks these names up, again and again, while it has something to say in every period. */
  async read(names: readonly string[], ms: number): Promise<Reading> {
    const { registry, witness } = opened()
    const changedBefore = witness.events['service_changed'] ?? 0
    const busy = registry.register({ name: `reader-${process.pid}`, version: '1.0.0' })
    const times: number[] = []
    beats = []
    const first = moment()
    const startedAt = first.at
    let own = 0
    for (let index = 0, now = startedAt; now < startedAt + ms; now = performance.now()) {
      for (let each = 0; each < LOOKUPS_PER_TURN; each++, index++) {
        const before = performance.now()
        registry.lookup(names[index % names.length] ?? '')
        times.push(performance.now() - before)
      }
      busy.update({ metadata: { own: ++own } })
      await turn()
    }
    const published = [first, ...beats, moment()]
    const gaps = published.slice(1).map(({ at, waitedMs }, index) => {
      const before = published[index] ?? first
      return { ms: at - before.at, ownMs: at - before.at - (waitedMs - before.waitedMs) }
    })
    beats = undefined
    busy.unregister()
    const sorted = Float64Array.from(times).sort()
    const changes = (witness.events['service_changed'] ?? 0) - changedBefore - own
    return {
      lookups: times.length,
      medianUs: 1_000 * quantile(sorted, 0.5),
      p99Us: 1_000 * quantile(sorted, 0.99),
      changes,
      longestBeatMs: Math.max(...gaps.map(({ ms: gapMs }) => gapMs)),
      longestOwnBeatMs: Math.max(...gaps.map(({ ownMs }) => ownMs)),
    }
  },

  /** Changes what it offers under these keys in turn, `perSecond` times a second, in a burst every 10 ms. */
  async churn(keys: readonly number[], perSecond: number, ms: number): Promise<number> {
    const startedAt = performance.now()
    let done = 0
    for (let elapsed = 0; elapsed < ms; elapsed = performance.now() - startedAt) {
      for (const due = Math.floor((elapsed * perSecond) / 1_000); done < due; done++) {
        registrations.get(keys[done % keys.length] ?? -1)?.update({ metadata: { churn: done } })
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return done
  },

  async sample(): Promise<Sample> {
    const { registry, transport, libp2p } = opened()
    const lagBefore = worstLagMs
    const taken = await sample(registry, libp2p, transport.neighbours().length)
    // Counting blocks the loop; that is no lag of the node's.
    worstLagMs = lagBefore
    return taken
  },

  counts: (): Counts => ({ ...traffic, events: opened().witness.events, worstLagMs }),

  async close(): Promise<void> {
    await opened().registry.close()
  },
}

export type SoakCommands = typeof commands

serve(commands)
