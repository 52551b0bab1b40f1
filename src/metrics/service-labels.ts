/** The label value of all services that have none of their own. */
const OTHER = 'other'

/**
 * Which services have a label value of their own: those seen first. They keep it for good, so that one that is gone is
 * seen to have no instances, and names that are used once do not add up.
 */
export class ServiceLabels {
  readonly #max: number
  readonly #own = new Set<string>()

  constructor(max: number) {
    this.#max = max
  }

  /** Those that were given out, in the order in which they were. */
  get own(): Iterable<string> {
    return this.#own
  }

  of(name: string): string {
    if (name === OTHER || this.#own.has(name)) return name
    if (this.#own.size >= this.#max) return OTHER
    this.#own.add(name)
    return name
  }
}
