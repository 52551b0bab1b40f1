import type { JsonObject } from '../../src/index.ts'
import type { SeededRandom } from '../../src/testing/index.ts'
import type { Child } from '../processes/fleet.ts'
import { lineOf, type Write } from './plain.ts'
import type { SoakCommands } from './worker.ts'

/** What a process offers, as it was told to. */
interface Offer {
  readonly name: string
  readonly version: string
  readonly metadata: JsonObject
  readonly monitor: number | undefined
  /** Unique in the life of its node. */
  readonly ref: string
}

/** One life of a process. */
export interface Life {
  readonly child: Child<SoakCommands>
  readonly id: string
  readonly address: string
  readonly offers: Map<number, Offer>
}

/** Where one of the five lives: one process after another, under one label. */
export interface Place {
  readonly name: string
  readonly line: 2 | 3
  /** Never killed or closed, so it is measured from the beginning to the end. */
  readonly resident: boolean
  readonly flush: 'eager' | 'period'
}

const NAMES = 12
const MAX_PAD = 400

/** One of the five, alive or not. */
export class Member {
  readonly place: Place
  /** Undefined while it is dead. */
  life: Life | undefined
  /** Counts identities; each has a file of its own. */
  generation = 0
  /** Where its last life listened. */
  lastAddress: string | undefined
  /** Resolves when it goes on, while it is stopped. */
  stopped: Promise<void> | undefined
  #next = 0

  constructor(place: Place) {
    this.place = place
  }

  get name(): string {
    return this.place.name
  }

  /** Alive and able to answer. */
  get running(): Life | undefined {
    return this.stopped === undefined ? this.life : undefined
  }

  /** Has it do these, and remembers what it then offers. */
  async apply(writes: readonly Write[]): Promise<void> {
    const { life } = this
    if (life === undefined) throw new Error(`${this.name} is dead`)
    const ids = await life.child.ask('apply', writes)
    for (const [index, write] of writes.entries()) follow(life.offers, write, ids[index] ?? '')
  }

  /** Some registrations, changes and ends, by chance. What comes later may be about what comes earlier. */
  writes(random: SeededRandom, count: number): Write[] {
    const keys = new Set(this.life?.offers.keys())
    return Array.from({ length: count }, () => {
      const draw = random.next()
      if (keys.size === 0 || draw < (keys.size > 150 ? 0.1 : 0.4)) {
        const write = this.registration(random)
        keys.add(write.key)
        return write
      }
      const key = random.pick([...keys])
      if (draw < 0.75) return { kind: 'update', key, metadata: this.metadata(random) }
      keys.delete(key)
      return { kind: 'unregister', key }
    })
  }

  /** Half of the names are used by many, half are used once. */
  registration(random: SeededRandom, monitor?: number): Write & { readonly kind: 'register' } {
    const key = this.#next++
    const shared = `shared-${Math.floor(random.between(0, NAMES))}`
    return {
      kind: 'register',
      key,
      name: random.chance(0.5) ? shared : `once-${this.name}-${this.generation}-${key}`,
      version: `${Math.floor(random.between(1, 4))}.${Math.floor(random.between(0, 10))}.0`,
      metadata: this.metadata(random),
      monitor,
    }
  }

  /** Never the same twice. */
  metadata(random: SeededRandom): JsonObject {
    return { change: this.#next++, pad: 'x'.repeat(Math.floor(random.next() ** 3 * MAX_PAD)) }
  }

  /** The lines that every reader must see of it. */
  expected(incarnation: number): string[] {
    const { life } = this
    if (life === undefined) return []
    return [...life.offers.values()].map(({ ref, ...offer }) =>
      lineOf({ ...offer, node: life.id, state: 'ready', id: `${life.id}/${incarnation}/${ref}` }),
    )
  }
}

function follow(offers: Map<number, Offer>, write: Write, id: string): void {
  switch (write.kind) {
    case 'register': {
      const { name, version, metadata, monitor } = write
      offers.set(write.key, { name, version, metadata, monitor, ref: id.split('/')[2] ?? '' })
      return
    }
    case 'update': {
      const offer = offers.get(write.key)
      if (offer !== undefined) offers.set(write.key, { ...offer, metadata: write.metadata })
      return
    }
    case 'unregister':
      offers.delete(write.key)
      return
    case 'close monitor':
      for (const [key, { monitor }] of offers) if (monitor === write.monitor) offers.delete(key)
      return
    case 'end all':
      offers.clear()
  }
}
