import { setTimeout } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import type { Registry } from '../../src/index.ts'
import { OwnerState } from '../../src/core/owner-state.ts'
import { RegistrationHandle } from '../../src/registry/registration.ts'
import { MonitorState } from '../../src/tracker/monitor-state.ts'
import { FramedChannel } from '../../src/transports/libp2p/framed-channel.ts'
import type { NodeLike } from '../../src/transports/libp2p/libp2p-like.ts'
import type { Sample } from './plain.ts'

/**
 * Of which live objects are counted: what this package makes for each thing it does, and what anything is made of. No sets:
 * gossipsub keeps one for each message of the last two minutes.
 */
const CLASSES = { Map, OwnerState, MonitorState, RegistrationHandle, FramedChannel } as const

/** A timer may be under way at one moment and not at the next. */
const READINGS = 12
const BETWEEN_MS = 100

type Tally = Record<string, number>

/** What the process uses, all garbage collected. Blocks the event loop time and again while it counts. */
export async function sample(registry: Registry, libp2p: NodeLike, neighbours: number): Promise<Sample> {
  const resources: Tally[] = []
  const streams: Tally[] = []
  const connections: number[] = []
  for (let reading = 0; reading < READINGS; reading++) {
    await setTimeout(BETWEEN_MS)
    const open = libp2p.getConnections()
    connections.push(open.length)
    streams.push(tally(open.flatMap((each) => each.streams.map(({ protocol }) => protocol ?? 'none yet'))))
    const all = tally(process.getActiveResourcesInfo())
    resources.push({ ...all, TCPSocketWrap: Math.max(0, (all['TCPSocketWrap'] ?? 0) - open.length) })
  }
  const heapBytes = await heap()
  const objects: Tally = {}
  for (const [name, type] of Object.entries(CLASSES)) {
    // Collects garbage several times and looks at every object, which takes a third of a second.
    objects[name] = queryObjects(type, { format: 'count' })
    await setTimeout(BETWEEN_MS)
  }
  return {
    neighbours,
    connections: Math.min(...connections),
    heapBytes,
    objects,
    resources: least(resources),
    listeners: {
      ...listenersOf('registry', registry),
      ...listenersOf('tracker', registry.tracker),
      ...listenersOf('process', process),
    },
    streams: least(streams),
  }
}

async function heap(): Promise<number> {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('run with --expose-gc')
  gc()
  // What the first leaves to finalisers the second frees.
  await setTimeout(BETWEEN_MS)
  gc()
  return process.memoryUsage().heapUsed
}

interface Heard<Event> {
  eventNames(): Event[]
  listenerCount(event: Event): number
}

const listenersOf = <Event>(whose: string, emitter: Heard<Event>): Tally =>
  Object.fromEntries(
    emitter.eventNames().map((event) => [`${whose} ${String(event)}`, emitter.listenerCount(event)]),
  )

function tally(names: readonly string[]): Tally {
  const counts: Tally = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** Of each kind the lowest count. */
function least(tallies: readonly Tally[]): Tally {
  const kinds = new Set(tallies.flatMap((each) => Object.keys(each)))
  return Object.fromEntries(
    [...kinds]
      .map((kind) => [kind, Math.min(...tallies.map((each) => each[kind] ?? 0))] as const)
      .filter(([, count]) => count > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
