import type { Timer } from '../tracker/ports.ts'

/** Whose process a timer runs in, and whether it runs now. */
export interface TimerOwner {
  readonly killed: boolean
  /** Virtual ms at which its stall ends; in the past when there is none. */
  readonly stalledUntil: number
}

/** A pending callback, and the handle to it in one object: a run makes a great many. */
export class VirtualTimer implements Timer {
  /** Virtual ms at which it runs. Moved when its owner is stalled. */
  due: number
  /** Virtual ms it was set for. Decides between timers that a stall has moved to one moment. */
  readonly setFor: number
  /** Rises with every timer set. */
  readonly order: number
  readonly owner: TimerOwner | undefined
  /** Undefined: cancelled. */
  callback: (() => void) | undefined

  constructor(due: number, order: number, callback: () => void, owner: TimerOwner | undefined) {
    this.due = due
    this.setFor = due
    this.order = order
    this.callback = callback
    this.owner = owner
  }

  cancel(): void {
    this.callback = undefined
  }
}

const isBefore = (a: VirtualTimer, b: VirtualTimer): boolean =>
  a.due !== b.due ? a.due < b.due : a.setFor !== b.setFor ? a.setFor < b.setFor : a.order < b.order

/** Binary heap of timers: first due, then first set for, then first set. */
export class TimerHeap {
  readonly #timers: VirtualTimer[] = []

  peek(): VirtualTimer | undefined {
    return this.#timers[0]
  }

  push(timer: VirtualTimer): void {
    const timers = this.#timers
    let index = timers.length
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = timers[above] as VirtualTimer
      if (!isBefore(timer, parent)) break
      timers[index] = parent
      index = above
    }
    timers[index] = timer
  }

  pop(): VirtualTimer | undefined {
    const timers = this.#timers
    const first = timers[0]
    const last = timers.pop()
    if (first === undefined || last === undefined || timers.length === 0) return first
    let index = 0
    for (;;) {
      let below = 2 * index + 1
      if (below >= timers.length) break
      const right = timers[below + 1]
      if (right !== undefined && isBefore(right, timers[below] as VirtualTimer)) below += 1
      const child = timers[below] as VirtualTimer
      if (!isBefore(child, last)) break
      timers[index] = child
      index = below
    }
    timers[index] = last
    return first
  }
}
