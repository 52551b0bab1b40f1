import type { Clock, Timer } from '../../tracker/ports.ts'
import type { CallOutcome, Instance } from '../types.ts'
import { afterError, NO_STREAK } from './outlier.ts'
import type { OutlierRules, Streak } from './outlier.ts'

/** The calls of this process to one instance. */
export interface Account {
  readonly id: string
  /** Of the service. */
  readonly name: string
  /** Calls in flight. */
  pending: number
  streak: Streak
  /** Runs while the instance is avoided. */
  timer: Timer | undefined
}

interface CallBookParts {
  readonly clock: Clock
  readonly rules: OutlierRules
  /** An instance of this service is avoided from now on, or no longer. */
  readonly changed: (service: string) => void
}

/**
 * What this process has learnt of instances by calling them: calls in flight, and whom to avoid. Shared by all selectors, told to
 * nobody else. Holds nothing of an instance that is gone, nor of one without a call in flight whose last call succeeded.
 */
export class CallBook {
  readonly #parts: CallBookParts
  readonly #accounts = new Map<string, Account>()
  #avoided = 0

  constructor(parts: CallBookParts) {
    this.#parts = parts
  }

  /** Instances of which anything is held. */
  get size(): number {
    return this.#accounts.size
  }

  /** Instances that are avoided now. */
  get avoided(): number {
    return this.#avoided
  }

  /** Calls in flight to an instance. */
  pendingOf(id: string): number {
    return this.#accounts.get(id)?.pending ?? 0
  }

  avoids(id: string): boolean {
    return this.#accounts.get(id)?.timer !== undefined
  }

  /** A call to an instance begins; `end` it by the account. */
  begin({ id, name }: Instance): Account {
    let account = this.#accounts.get(id)
    if (account === undefined) {
      account = { id, name, pending: 0, streak: NO_STREAK, timer: undefined }
      this.#accounts.set(id, account)
    }
    account.pending++
    return account
  }

  /** A call is over. Without an outcome it says nothing of the instance. */
  end(account: Account, outcome?: CallOutcome): void {
    account.pending--
    // The instance is gone since, and may have come back.
    if (this.#accounts.get(account.id) !== account) return
    if (outcome === 'ok') {
      account.streak = NO_STREAK
      if (account.timer !== undefined) this.#readmit(account)
    } else if (outcome === 'error') this.#fail(account)
    if (account.pending === 0 && account.streak === NO_STREAK) this.#accounts.delete(account.id)
  }

  /** An instance is gone. */
  forget(id: string): void {
    const account = this.#accounts.get(id)
    if (account === undefined) return
    if (account.timer !== undefined) this.#readmit(account)
    this.#accounts.delete(id)
  }

  clear(): void {
    for (const id of this.#accounts.keys()) this.forget(id)
  }

  #fail(account: Account): void {
    // Calls that began before, or because there was nobody else, say nothing new.
    if (account.timer !== undefined) return
    const { clock, rules, changed } = this.#parts
    const { streak, avoidMs } = afterError(account.streak, rules)
    account.streak = streak
    if (avoidMs === undefined) return
    account.timer = clock.setTimer(() => this.#readmit(account), avoidMs)
    this.#avoided++
    changed(account.name)
  }

  #readmit(account: Account): void {
    account.timer?.cancel()
    account.timer = undefined
    this.#avoided--
    this.#parts.changed(account.name)
  }
}
