import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { Diff, DownReason, EntryUpdate } from '../tracker/types.ts'

/** What became of one entry in between: what was shown of it, and what is to be. */
interface Turn {
  readonly before: Entry<Json> | undefined
  readonly after: Entry<Json> | undefined
  /** Of the node, and the owner's own word, where it went. */
  readonly reason: DownReason | undefined
  readonly word: string | undefined
}

/**
 * Diffs that are kept from readers, put together node by node to what they come to: what came and went is left out, and what
 * changed many times has changed once. Holds the size of the difference, however long it is held.
 */
export class HeldDiffs {
  readonly #byNode = new Map<NodeId, Map<string, Turn>>()

  add({ node, joins, leaves, updates, reasons, reason }: Diff): void {
    const turns = this.#byNode.get(node) ?? new Map<string, Turn>()
    for (const entry of leaves) {
      put(turns, { before: entry, after: undefined, reason, word: reasons?.get(entry.ref) })
    }
    for (const { entry, previous } of updates) put(turns, { before: previous, after: entry, ...GOES_ON })
    for (const entry of joins) put(turns, { before: undefined, after: entry, ...GOES_ON })
    if (turns.size > 0) this.#byNode.set(node, turns)
    else this.#byNode.delete(node)
  }

  /**
   * Takes out the next diff; undefined when nothing is left. One for each node, in the order in which nodes were first heard of,
   * with one more before it for each reason for which entries of the node went, as a diff has but one: so all of a former life goes
   * before anything of the next one comes.
   */
  shift(): Diff | undefined {
    for (const [node, turns] of this.#byNode) {
      const gone = [...turns.values()].filter(({ after }) => after === undefined)
      const reason = gone.find((turn) => turn.reason !== undefined)?.reason
      const own = gone.filter((turn) => turn.reason === undefined)
      if (reason === undefined) {
        this.#byNode.delete(node)
        return diffOf(node, [...turns.values()], undefined)
      }
      // What the owner removed itself comes first: its node may be down from then on.
      const first = own.length > 0 ? own : gone.filter((turn) => turn.reason === reason)
      for (const { before } of first) if (before !== undefined) turns.delete(keyOf(before))
      if (turns.size === 0) this.#byNode.delete(node)
      return diffOf(node, first, own.length > 0 ? undefined : reason)
    }
    return undefined
  }

  clear(): void {
    this.#byNode.clear()
  }
}

const GOES_ON = { reason: undefined, word: undefined } as const

const keyOf = ({ incarnation, ref }: Entry<Json>): string => `${incarnation}/${ref}`

function put(turns: Map<string, Turn>, turn: Turn): void {
  const entry = turn.after ?? turn.before
  if (entry === undefined) return
  const key = keyOf(entry)
  const known = turns.get(key)
  const before = known === undefined ? turn.before : known.before
  // Of one life and one ref, the same write is the same entry (J6).
  if (before?.version === turn.after?.version) turns.delete(key)
  else turns.set(key, { ...turn, before })
}

function diffOf(node: NodeId, turns: readonly Turn[], reason: DownReason | undefined): Diff {
  const joins: Entry<Json>[] = []
  const leaves: Entry<Json>[] = []
  const updates: EntryUpdate[] = []
  const reasons = new Map<number, string>()
  for (const { before, after, word } of turns) {
    if (before === undefined) {
      if (after !== undefined) joins.push(after)
    } else if (after === undefined) {
      leaves.push(before)
      if (word !== undefined) reasons.set(before.ref, word)
    } else updates.push({ entry: after, previous: before })
  }
  return Object.freeze({ node, joins, leaves, updates, reasons, reason })
}
