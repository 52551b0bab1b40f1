import type { NodeId } from '../../core/frame.ts'
import type { Timer } from '../../tracker/ports.ts'
import type { DialOutcome, Listener, MemoryNetwork } from './network.ts'
import type { Target } from './redialler.ts'

/** A dial under way. */
interface Course {
  readonly address: string
  /** Who must be there. Undefined: anyone. */
  readonly expected: NodeId | undefined
}

/** Dials targets for one node, and knows whom it is dialling now. */
export class Dialler {
  readonly #network: MemoryNetwork
  readonly #from: Listener
  readonly #underWay = new Set<Course>()

  constructor(network: MemoryNetwork, from: Listener) {
    this.#network = network
    this.#from = from
  }

  /** A dial is under way that connects with this node if it is answered. One for a former node there will be refused. */
  isDialling(address: string, id: NodeId): boolean {
    return [...this.#underWay].some(
      (course) => course.address === address && (course.expected === undefined || course.expected === id),
    )
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
    const course = { address, expected }
    this.#underWay.add(course)
    const dial = this.#network.dial({
      from: this.#from,
      address,
      expected,
      done: (outcome) => {
        this.#underWay.delete(course)
        done(outcome)
      },
    })
    return {
      cancel: () => {
        this.#underWay.delete(course)
        dial.cancel()
      },
    }
  }
}
