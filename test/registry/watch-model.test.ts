import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import type { Snapshot } from '../../src/registry/watch-types.ts'
import { entry } from './replica.ts'
import type { Meta } from './replica.ts'
import { EPOCH, settle, Watched } from './watched.ts'

const NAMES = ['s', 't'] as const
const NODES = ['n1', 'n2', 'n3'] as const
const VERSIONS = ['1.0.0', '1.1.0', '2.0.0'] as const
const REQUIREMENTS = [undefined, '~> 1.0'] as const

type Name = (typeof NAMES)[number]
type Asked = { readonly name: Name; readonly requirement: (typeof REQUIREMENTS)[number] }

/** What is registered, as plainly as can be: all entries in the order in which this node came to know them. */
class World {
  readonly watched = new Watched()
  /** What consumers found wrong, which those who call them would not hear of. */
  readonly faults: unknown[] = []
  /** What was to be seen at each revision of a service, by what is asked. */
  readonly #lists = new Map<string, string>()
  #shown: Entry<Json>[] = []
  #hidden: Entry<Json>[] = []
  #refs = 0
  #writes = 0

  constructor() {
    this.#note()
  }

  register(name: Name, node: string, version: string, state: string): void {
    const made = entry(name, this.#meta(version, state), { node, ref: ++this.#refs })
    if (this.#hidden.some((each) => each.node === node)) this.#hidden.push(made)
    else this.#apply([...this.#shown, made], { node, joins: [made] })
  }

  update(pick: number, state: string): void {
    const previous = this.#shown[pick % this.#shown.length]
    if (previous === undefined) return
    const next = { ...previous, meta: this.#meta((previous.meta as { version: string }).version, state) }
    const shown = this.#shown.map((each) => (each === previous ? next : each))
    this.#apply(shown, { node: next.node, updates: [{ entry: next, previous }] })
  }

  unregister(pick: number): void {
    const gone = this.#shown[pick % this.#shown.length]
    if (gone === undefined) return
    this.#apply(
      this.#shown.filter((each) => each !== gone),
      { node: gone.node, leaves: [gone] },
    )
  }

  /** The node goes down, or comes back with all it had. */
  turn(node: string): void {
    const away = this.#hidden.filter((each) => each.node === node)
    this.#hidden = this.#hidden.filter((each) => each.node !== node)
    if (away.length > 0) {
      this.#apply([...this.#shown, ...away], { node, joins: away })
      return
    }
    const leaves = this.#shown.filter((each) => each.node === node)
    if (leaves.length === 0) return
    this.#hidden.push(...leaves)
    this.#apply(
      this.#shown.filter((each) => each.node !== node),
      { node, leaves, reason: 'silent' },
    )
  }

  revision(name: Name): number {
    return this.watched.fed.index.revisionOf(name)
  }

  /** As it was at a revision; undefined when there was none such. */
  listAt(asked: Asked, revision: number): string | undefined {
    return this.#lists.get(keyOf(asked, revision))
  }

  present(asked: Asked): string {
    const found = this.#shown.filter(({ key, meta }) => {
      const { version, state } = meta as { version: string; state: string }
      return key === asked.name && state === 'ready' && (asked.requirement === undefined || version < '2')
    })
    const version = ({ meta }: Entry<Json>): string => (meta as { version: string }).version
    found.sort((a, b) => (version(a) < version(b) ? 1 : version(a) > version(b) ? -1 : 0))
    return found.map(({ ref, meta }) => `${ref}:${(meta as { weight: number }).weight}`).join(' ')
  }

  #meta(version: string, state: string): Meta {
    return { version, state, weight: ++this.#writes }
  }

  #apply(shown: Entry<Json>[], diff: Parameters<Watched['apply']>[0]): void {
    this.#shown = shown
    this.watched.apply(diff)
    this.#note()
  }

  #note(): void {
    for (const name of NAMES) {
      for (const requirement of REQUIREMENTS) {
        const asked = { name, requirement }
        this.#lists.set(keyOf(asked, this.revision(name)), this.present(asked))
      }
    }
  }
}

const keyOf = ({ name, requirement }: Asked, revision: number): string =>
  `${name} ${requirement ?? ''} ${revision}`

const printed = ({ instances }: Snapshot): string =>
  instances.map(({ id, weight }) => `${id.split('/')[2] ?? ''}:${weight}`).join(' ')

/** One who watches, and checks all that it is told. */
class Consumer {
  readonly asked: Asked
  readonly #world: World
  readonly #controller = new AbortController()
  readonly #loop: AsyncIterator<Snapshot, undefined> | undefined
  /** It may be told again what it has seen: it was away. */
  #isNew: boolean
  #resets: boolean
  #waits = false
  last: Snapshot | undefined
  ended = false

  constructor(world: World, asked: Asked, kind: 'loop' | 'listener', from?: Snapshot, epoch = EPOCH) {
    this.asked = asked
    this.#world = world
    this.last = from
    this.#resets = from !== undefined && epoch !== EPOCH
    this.#isNew = this.#resets || from?.revision !== world.revision(asked.name)
    const { signal } = this.#controller
    const since = from && { epoch, revision: from.revision }
    const watch = world.watched.watch(asked.name, asked.requirement, { signal, since })
    if (kind === 'loop') this.#loop = watch[Symbol.asyncIterator]()
    else watch.subscribe((snapshot) => this.#take(snapshot))
  }

  /** Asks for the next snapshot, as a consumer that has done its work does. */
  pull(): void {
    if (this.#loop === undefined || this.#waits || this.ended) return
    this.#waits = true
    void this.#loop.next().then(
      (answer) => {
        this.#waits = false
        if (answer.done === true) this.ended = true
        else this.#take(answer.value)
      },
      (error: unknown) => {
        this.ended = true
        if (error !== this.#controller.signal.reason) this.#world.faults.push(error)
      },
    )
  }

  end(): void {
    this.#controller.abort()
    this.ended = true
  }

  /** Takes all there is, and has then to know the present state. */
  async expectPresent(): Promise<void> {
    this.pull()
    await settle()
    this.pull()
    await settle()
    expect(this.last === undefined ? undefined : printed(this.last)).toBe(this.#world.present(this.asked))
  }

  #take(snapshot: Snapshot): void {
    try {
      this.#check(snapshot)
    } catch (error) {
      this.#world.faults.push(error)
    }
    this.#resets = false
    this.#isNew = false
    this.last = snapshot
  }

  #check(snapshot: Snapshot): void {
    // A loop may have been answered in the turn of its end, and read it after.
    if (this.#loop === undefined) expect(this.ended).toBe(false)
    expect(printed(snapshot)).toBe(this.#world.listAt(this.asked, snapshot.revision))
    expect(snapshot.reset).toBe(this.#resets)
    if (this.last !== undefined) {
      if (this.#isNew) expect(snapshot.revision).toBeGreaterThanOrEqual(this.last.revision)
      else expect(snapshot.revision).toBeGreaterThan(this.last.revision)
    }
  }
}

const pick = fc.nat(30)
const name = fc.constantFrom(...NAMES)
const node = fc.constantFrom(...NODES)
const state = fc.constantFrom('ready', 'ready', 'unready')
const kind = fc.constantFrom<'loop' | 'listener'>('loop', 'listener')
const act = fc.oneof(
  fc.record({
    do: fc.constant('register' as const),
    name,
    node,
    version: fc.constantFrom(...VERSIONS),
    state,
  }),
  fc.record({ do: fc.constant('update' as const), pick, state }),
  fc.record({ do: fc.constant('unregister' as const), pick }),
  fc.record({ do: fc.constant('turn' as const), node }),
  fc.record({ do: fc.constant('watch' as const), name, requirement: fc.constantFrom(...REQUIREMENTS), kind }),
  fc.record({ do: fc.constant('pull' as const), pick }),
  fc.record({ do: fc.constant('end' as const), pick }),
  fc.record({
    do: fc.constant('resume' as const),
    pick,
    kind,
    epoch: fc.constantFrom(EPOCH, EPOCH, 'other'),
  }),
  fc.record({ do: fc.constant('settle' as const) }),
)

test('C60 C61 C62: whoever watches, at whatever pace, sees states that were, in order, and in the end the last', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 60, size: 'max' }), async (acts) => {
      const world = new World()
      const consumers: Consumer[] = []
      for (const each of acts) {
        switch (each.do) {
          case 'register':
            world.register(each.name, each.node, each.version, each.state)
            break
          case 'update':
            world.update(each.pick, each.state)
            break
          case 'unregister':
            world.unregister(each.pick)
            break
          case 'turn':
            world.turn(each.node)
            break
          case 'watch':
            consumers.push(new Consumer(world, each, each.kind))
            break
          case 'pull':
            consumers[each.pick % consumers.length]?.pull()
            break
          case 'end':
            consumers[each.pick % consumers.length]?.end()
            break
          case 'resume': {
            const left = consumers.filter(({ ended, last }) => ended && last !== undefined)
            const from = left[each.pick % left.length]
            if (from !== undefined) {
              consumers.push(new Consumer(world, from.asked, each.kind, from.last, each.epoch))
            }
            break
          }
          case 'settle':
            await settle()
        }
      }
      await settle()
      for (const consumer of consumers) if (!consumer.ended) await consumer.expectPresent()
      for (const consumer of consumers) consumer.end()
      await settle()
      expect(world.faults).toEqual([])
      expect(world.watched.watches.size).toBe(0)
    }),
    { numRuns: 1_000 },
  )
})
