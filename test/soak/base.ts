import type { Crew } from './crew.ts'
import type { Sample } from './plain.ts'

/** Of how many readings at the beginning and the end the least counts: garbage and caches only ever add. */
const ENDS = 3
/** Growth of the heap that is not taken for a leak: caches of libp2p fill, and code is compiled, for minutes. */
const HEAP_SHARE = 0.1
const HEAP_BYTES = 5e6
/** Of objects that anything is made of. */
const OBJECT_SHARE = 0.1
/** Objects for each identity that has come and gone: libp2p remembers addresses and keys of peers for hours. */
const OBJECTS_PER_IDENTITY = 8
const OBJECTS = 150

/** What this package makes is gone when it is over, to the last one. */
const OWN_CLASSES = [
  'Monitor',
  'MonitorState',
  'RegistrationHandle',
  'SyncSession',
  'WatchedChannel',
  'FramedChannel',
  'OwnerState',
]

interface Reading extends Sample {
  readonly identities: number
}

/** What each resident uses at moments that are alike: all connected, nothing offered, no dead node known. */
export class Base {
  readonly #crew: Crew
  readonly #readings = new Map<string, Reading[]>()

  constructor(crew: Crew) {
    this.#crew = crew
  }

  get readings(): number {
    return Math.max(0, ...[...this.#readings.values()].map(({ length }) => length))
  }

  /** Reads. One after the other, for it costs them CPU. */
  async read(): Promise<void> {
    const identities = this.#crew.guests.reduce((sum, { generation }) => sum + generation, 0)
    for (const { name, life } of this.#crew.residents) {
      if (life === undefined) continue
      const readings = this.#readings.get(name) ?? []
      this.#readings.set(name, readings)
      readings.push({ ...(await life.child.ask('sample')), identities })
    }
  }

  /** Throws where the last reading, or the heap of the last few, is above what it was at first. */
  check(): void {
    const wrong = [...this.#readings].flatMap(([name, readings]) =>
      faultsOf(readings).map((each) => `  ${name}: ${each}`),
    )
    if (wrong.length > 0) throw new Error(['not back to base:', ...wrong, ...this.lines()].join('\n'))
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
        `${name}: streams ${text(last.streams)}; at first ${text(first.streams)}`,
        `${name}: listeners ${sum(last.listeners)}; at first ${sum(first.listeners)}`,
        `${name}: objects ${text(last.objects)}; at first ${text(first.objects)}`,
      ]
    })
  }
}

function faultsOf(readings: readonly Reading[]): string[] {
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
  const identities = last.identities - first.identities
  const isOwn = (kind: string): boolean => OWN_CLASSES.includes(kind)
  compare('listeners', ({ listeners }) => listeners, exactly)
  if (first.neighbours === last.neighbours) compare('handles', ({ resources }) => resources, exactly)
  compare(
    'objects',
    ({ objects }) => objects,
    (before, kind) =>
      isOwn(kind) ? before : before * (1 + OBJECT_SHARE) + OBJECTS + OBJECTS_PER_IDENTITY * identities,
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

const exactly = (before: number): number => before

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const sum = (tally: Readonly<Record<string, number>>): number =>
  Object.values(tally).reduce((total, each) => total + each, 0)

const text = (tally: Readonly<Record<string, number>>): string =>
  Object.entries(tally)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ')
