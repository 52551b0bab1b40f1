import { expect } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import type { Diff } from '../../src/tracker/types.ts'
import type { SimNode } from '../../src/testing/index.ts'

/** Every state that an owner was in, in order, as text; by `node/incarnation`. */
type Histories = Map<string, string[]>

/**
 * Checks safety after every event of every node: what a node shows of an owner is some state that the owner was in,
 * never an earlier one than before, never of a life that a later one has followed; joins, updates and leaves
 * alternate per entry; and what is found agrees with what was reported.
 */
export class Witness {
  readonly #histories: Histories = new Map()
  readonly #faults: Error[] = []

  /** Watches the present life of a node, as an owner and as an observer. */
  watch(node: SimNode): void {
    const { tracker } = node
    const shown = new Map<string, Entry<Json>>()
    const reached = new Map<string, number>()
    const latest = new Map<string, number>()
    const read = () => tracker.topics().flatMap((topic) => tracker.list(topic))
    for (const entry of read()) shown.set(identity(entry), entry)
    this.#remember(tracker.id, read())

    const check = (diff: Diff): void => {
      follow(shown, diff)
      const visible = read().filter((entry) => entry.node === diff.node)
      // A lookup inside a listener agrees with the event.
      expect(text(visible)).toBe(text([...shown.values()].filter((entry) => entry.node === diff.node)))
      if (diff.node === tracker.id) this.#remember(tracker.id, visible)
      else if (visible.length > 0) this.#check(visible, reached, latest)
    }
    tracker.on('diff', (diff) => {
      // Thrown in a listener it would surface outside the test, without the seed.
      try {
        check(diff)
      } catch (error) {
        this.#faults.push(new Error(`seen by ${node.name}`, { cause: error }))
      }
    })
  }

  /** Throws the first fault that was found. */
  expectSafe(): void {
    const [first] = this.#faults
    if (first !== undefined) throw first
  }

  #remember(owner: string, entries: readonly Entry<Json>[]): void {
    const own = entries.filter((entry) => entry.node === owner)
    const life = lifeOf(own)
    if (life === undefined) return
    const states = this.#histories.get(life) ?? []
    this.#histories.set(life, states)
    states.push(text(own))
  }

  #check(visible: readonly Entry<Json>[], reached: Map<string, number>, latest: Map<string, number>): void {
    const life = lifeOf(visible) ?? ''
    const [{ node, incarnation }] = visible as [Entry<Json>]
    // J4: nothing of an old life after anything of a later one.
    expect(incarnation).toBeGreaterThanOrEqual(latest.get(node) ?? 0)
    latest.set(node, incarnation)
    // J1, J2: some state the owner was in, not before the one shown last.
    const states = this.#histories.get(life) ?? []
    const at = states.indexOf(text(visible), reached.get(life) ?? 0)
    expect(
      at,
      `${life} was never in the state ${text(visible)} after state ${reached.get(life) ?? 0}`,
    ).not.toBe(-1)
    reached.set(life, at)
  }
}

/** Each entry joins, is updated, leaves: in this order, and never twice the same. */
function follow(shown: Map<string, Entry<Json>>, { leaves, updates, joins }: Diff): void {
  for (const entry of leaves) {
    expect(shown.get(identity(entry))?.version).toBe(entry.version)
    shown.delete(identity(entry))
  }
  for (const { entry, previous } of updates) {
    expect(shown.get(identity(previous))?.version).toBe(previous.version)
    expect(entry.version).toBeGreaterThan(previous.version)
    shown.set(identity(entry), entry)
  }
  for (const entry of joins) {
    expect(shown.has(identity(entry))).toBe(false)
    shown.set(identity(entry), entry)
  }
}

const identity = ({ node, incarnation, ref }: Entry<Json>): string => `${node}/${incarnation}/${ref}`

/** The life whose entries these are; all of one owner are of one. */
function lifeOf(entries: readonly Entry<Json>[]): string | undefined {
  const lives = new Set(entries.map(({ node, incarnation }) => `${node}/${incarnation}`))
  expect(lives.size).toBeLessThanOrEqual(1)
  const [life] = lives
  return life
}

const text = (entries: readonly Entry<Json>[]): string =>
  entries
    .map(({ ref, version, topic, key, meta }) => `${ref}@${version} ${topic} ${key} ${JSON.stringify(meta)}`)
    .sort()
    .join('; ')
