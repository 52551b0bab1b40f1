import { setTimeout } from 'node:timers/promises'
import type { Crew } from './crew.ts'
import type { Sample } from './plain.ts'

/** Of how many readings at the beginning and the end the least counts: garbage and caches only ever add. */
const ENDS = 3
/** Growth of the heap that is not taken for a leak: caches of libp2p fill, and code is compiled, for minutes. */
const HEAP_SHARE = 0.1
const HEAP_BYTES = 5e6
/** Of objects that anything is made of. */
const OBJECT_SHARE = 0.1
const OBJECTS = 30

/** What this package makes is gone when it is over, to the last one. */
const OWN: readonly string[] = ['OwnerState', 'MonitorState', 'RegistrationHandle']
/** A reading that is not back to base may have come at a bad moment. */
const TRIES = 3

/** gossipsub keeps what it has heard for five of its heartbeats, of a second each, and calls it in once more. */
const SETTLE_MS = 6_000

/** What each resident uses at moments that are alike: all connected, nothing offered, no dead node known. */
export class Base {
  readonly #crew: Crew
  readonly #readings = new Map<string, Sample[]>()

  constructor(crew: Crew) {
    this.#crew = crew
  }

  get readings(): number {
    return Math.max(0, ...[...this.#readings.values()].map(({ length }) => length))
  }

  /**
   * Reads, one after the other, for it costs them CPU. Throws where a reading, or the heap of the last few, is above what
   * it was at first.
   */
  async read(): Promise<void> {
    const wrong: string[] = []
    for (const { name } of this.#crew.residents) {
      const before = this.#readings.get(name) ?? []
      let faults: string[] = []
      for (let tries = 0; tries === 0 || (faults.length > 0 && tries < TRIES); tries++) {
        await setTimeout(SETTLE_MS)
        const after = [...before, await this.#readOne(name)]
        this.#readings.set(name, after)
        faults = faultsOf(after)
      }
      wrong.push(...faults.map((each) => `  ${name}: ${each}`))
    }
    if (wrong.length > 0) throw new Error(['not back to base:', ...wrong, ...this.lines()].join('\n'))
  }

  async #readOne(name: string): Promise<Sample> {
    const life = this.#crew.members.find((member) => member.name === name)?.life
    if (life === undefined) throw new Error(`${name} is dead`)
    return life.child.ask('sample')
  }

  /** What was read, in lines. */
  lines(): string[] {
    return [...this.#readings].flatMap(([name, readings]) => {
      const [first, last] = [readings[0], readings.at(-1)]
      if (first === undefined || last === undefined) return []
      const { before, after } = heapOf(readings)
      return [
        `${name}: heap ${mb(before)} at first, ${mb(after)} at last (least of up to ${ENDS} readings; all: ` +
          `${readings.map(({ heapBytes }) => mb(heapBytes)).join(', ')})`,
        `${name}: handles ${text(last.resources)}; at first ${text(first.resources)}`,
        `${name}: ${connectionsOf(last)}; at first ${connectionsOf(first)}`,
        `${name}: listeners ${sum(last.listeners)}; at first ${sum(first.listeners)}`,
        `${name}: objects ${Object.keys(last.objects)
          .map((kind) => `${kind} ${readings.map(({ objects }) => objects[kind]).join(' ')}`)
          .join(', ')} (all readings)`,
      ]
    })
  }
}

function faultsOf(readings: readonly Sample[]): string[] {
  const [first, last] = [readings[0], readings.at(-1)]
  if (first === undefined || last === undefined || readings.length < 2) return []
  const wrong: string[] = []
  const compare = (
    what: string,
    of: (sample: Sample) => Readonly<Record<string, number>>,
    most: (before: number, kind: string) => number,
  ): void => {
    for (const kind of new Set([...Object.keys(of(first)), ...Object.keys(of(last))])) {
      const [before, after] = [of(first)[kind] ?? 0, of(last)[kind] ?? 0]
      if (after > most(before, kind)) wrong.push(`${what} ${kind}: ${before} at first, ${after} at last`)
    }
  }
  compare('listeners', ({ listeners }) => listeners, exactly)
  if (first.neighbours === last.neighbours) {
    // A spare connection has a timer, and so has a channel that waits for its peer.
    const more =
      Math.max(0, last.connections - first.connections) + Math.max(0, channelsOf(last) - channelsOf(first))
    compare(
      'handles',
      ({ resources }) => resources,
      (before, kind) => before + (kind === 'Timeout' ? more : 0),
    )
    // Those for probes are opened when there is something to ask.
    compare(
      'streams',
      ({ streams }) => streams,
      (before) => Math.max(before, 2 * last.neighbours),
    )
  }
  if (last.connections > 2 * last.neighbours) {
    wrong.push(`connections: ${last.connections} with ${last.neighbours} neighbours`)
  }
  compare(
    'objects',
    ({ objects }) => objects,
    (before, kind) => {
      // Two for probes with each neighbour, and a sync that may be under way.
      if (kind === 'FramedChannel') return 2 * last.neighbours + 1
      return OWN.includes(kind) ? before : before * (1 + OBJECT_SHARE) + OBJECTS
    },
  )
  const { before, after } = heapOf(readings)
  if (after > Math.max(before * (1 + HEAP_SHARE), before + HEAP_BYTES)) {
    wrong.push(`heap: ${mb(before)} at first, ${mb(after)} at last`)
  }
  return wrong
}

function heapOf(readings: readonly Sample[]): { readonly before: number; readonly after: number } {
  const many = Math.max(1, Math.min(ENDS, Math.floor(readings.length / 2)))
  const least = (some: readonly Sample[]) => Math.min(...some.map(({ heapBytes }) => heapBytes))
  return { before: least(readings.slice(0, many)), after: least(readings.slice(-many)) }
}

const connectionsOf = ({ neighbours, connections, streams }: Sample): string =>
  `neighbours ${neighbours}, connections ${connections}, streams ${text(streams)}`

/** Streams of this package's own protocols. */
const channelsOf = ({ streams }: Sample): number =>
  Object.entries(streams).reduce(
    (total, [protocol, count]) => total + (protocol.startsWith('/rollcall/') ? count : 0),
    0,
  )

const exactly = (before: number): number => before

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const sum = (tally: Readonly<Record<string, number>>): number =>
  Object.values(tally).reduce((total, each) => total + each, 0)

const text = (tally: Readonly<Record<string, number>>): string =>
  Object.entries(tally)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ')
