import { VirtualClock } from '../src/testing/virtual-clock.ts'
import type { Clock, Timer } from '../src/tracker/ports.ts'
import { settle } from './settle.ts'

/** A virtual clock that knows how many timers are pending. */
export class CountedClock implements Clock {
  pending = 0
  readonly #clock = new VirtualClock()

  now(): number {
    return this.#clock.now()
  }

  wallNow(): number {
    return this.#clock.wallNow()
  }

  setTimer(callback: () => void, ms: number): Timer {
    let isPending = true
    const end = (): void => {
      if (isPending) this.pending--
      isPending = false
    }
    this.pending++
    const timer = this.#clock.setTimer(() => {
      end()
      callback()
    }, ms)
    return {
      cancel: () => {
        end()
        timer.cancel()
      },
    }
  }

  /** Lets so many ms pass, and what they bring about arrive. */
  async pass(ms: number): Promise<void> {
    await settle()
    await this.#clock.advance(ms)
    await settle()
  }
}
