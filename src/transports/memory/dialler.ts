import type { NodeId } from '../../core/frame.ts'
import type { Timer } from '../../tracker/ports.ts'
import type { DialOutcome, Listener, MemoryNetwork } from './network.ts'
import type { Target } from './redialler.ts'

/** Dials targets for one node, and knows which addresses it is dialling now. */
export class Dialler {
  readonly #network: MemoryNetwork
  readonly #from: Listener
  /** How many dials are under way, by address. */
  readonly #underWay = new Map<string, number>()

  constructor(network: MemoryNetwork, from: Listener) {
    this.#network = network
    this.#from = from
  }

  isDialling(address: string): boolean {
    return this.#underWay.has(address)
  }

  /** Dials every address of a target at once. Connected if one is; refused only if all are. Never synchronous. */
  dial({ addresses, peer }: Target, done: (outcome: DialOutcome) => void): Timer {
    let left = addresses.length
    let worst: DialOutcome = 'refused'
    let over = false
    const dials = addresses.map((address) =>
      this.#dialOne(address, peer, (outcome) => {
        left -= 1
        if (outcome === 'unknown') worst = outcome
        const good = outcome === 'connected' || outcome === 'met'
        if (over || (!good && left > 0)) return
        over = true
        done(good ? outcome : worst)
      }),
    )
    return {
      cancel() {
        over = true
        for (const dial of dials) dial.cancel()
      },
    }
  }

  #dialOne(address: string, expected: NodeId | undefined, done: (outcome: DialOutcome) => void): Timer {
    this.#underWay.set(address, (this.#underWay.get(address) ?? 0) + 1)
    let released = false
    const release = (): void => {
      if (released) return
      released = true
      const others = (this.#underWay.get(address) ?? 1) - 1
      if (others > 0) this.#underWay.set(address, others)
      else this.#underWay.delete(address)
    }
    const dial = this.#network.dial({
      from: this.#from,
      address,
      expected,
      done: (outcome) => {
        release()
        done(outcome)
      },
    })
    return {
      cancel() {
        release()
        dial.cancel()
      },
    }
  }
}
