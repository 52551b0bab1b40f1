import { monitorState, type Monitor } from './monitor.ts'
import type { MonitorState } from './monitor-state.ts'

interface Account {
  readonly refs: Map<string, Map<string, number>>
  readonly unfollow: () => void
}

/**
 * Which entry of this node is tied to which monitor. Keyed by the life behind a monitor, so that it does not keep
 * a forgotten handle from being collected. Every operation costs what it returns.
 */
export class Ledger {
  readonly #accounts = new Map<MonitorState, Account>()
  readonly #closed: (refs: readonly number[], reason: unknown) => void
  #size = 0

  /** @param closed - a monitor closed, and these entries are to go in one batch. */
  constructor(closed: (refs: readonly number[], reason: unknown) => void) {
    this.#closed = closed
  }

  /** Entries in all. */
  get size(): number {
    return this.#size
  }

  get(monitor: Monitor, topic: string, key: string): number | undefined {
    return this.#accounts.get(monitorState(monitor))?.refs.get(topic)?.get(key)
  }

  add(monitor: Monitor, topic: string, key: string, ref: number): void {
    const account = this.#open(monitorState(monitor))
    let keys = account.refs.get(topic)
    if (keys === undefined) {
      keys = new Map()
      account.refs.set(topic, keys)
    }
    keys.set(key, ref)
    this.#size++
  }

  /** Takes out what the monitor has under a topic and key, under a topic, or at all. Returns the refs, oldest first. */
  take(monitor: Monitor, topic?: string, key?: string): number[] {
    const state = monitorState(monitor)
    const account = this.#accounts.get(state)
    if (account === undefined) return []
    const taken: number[] = []
    for (const [name, keys] of account.refs) {
      if (topic !== undefined && topic !== name) continue
      for (const [each, ref] of keys) {
        if (key !== undefined && key !== each) continue
        taken.push(ref)
        keys.delete(each)
      }
      if (keys.size === 0) account.refs.delete(name)
    }
    if (account.refs.size === 0) {
      account.unfollow()
      this.#accounts.delete(state)
    }
    this.#size -= taken.length
    return taken.sort((a, b) => a - b)
  }

  /** Lets go of every monitor. */
  clear(): void {
    for (const { unfollow } of this.#accounts.values()) unfollow()
    this.#accounts.clear()
    this.#size = 0
  }

  #open(state: MonitorState): Account {
    const known = this.#accounts.get(state)
    if (known !== undefined) return known
    const account: Account = { refs: new Map(), unfollow: state.onClose(() => this.#end(state)) }
    this.#accounts.set(state, account)
    return account
  }

  #end(state: MonitorState): void {
    const account = this.#accounts.get(state)
    if (account === undefined) return
    this.#accounts.delete(state)
    const refs = [...account.refs.values()].flatMap((keys) => [...keys.values()])
    this.#size -= refs.length
    this.#closed(
      refs.sort((a, b) => a - b),
      state.reason,
    )
  }
}
