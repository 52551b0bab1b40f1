import { monotonicNow } from '../processes/served.ts'

/** For so long after the end of a deed others may still judge by it: a down period, a period, and a late timer. */
const AFTERMATH_MS = 5_000

interface Span {
  readonly from: number
  to: number
}

/** When what was done to which node: what others then think of it is no mistake of theirs. */
export class Deeds {
  readonly #spans = new Map<string, Span[]>()

  /** Something is being done to a node until `end`. */
  begin(id: string): void {
    this.#of(id).push({ from: monotonicNow(), to: Infinity })
  }

  /** Nothing is being done to it any more. */
  end(id: string): void {
    for (const span of this.#of(id)) span.to = Math.min(span.to, monotonicNow())
  }

  /** Something was done to it, and is over. */
  touch(id: string, from = monotonicNow(), to = from): void {
    this.#of(id).push({ from, to })
  }

  /** Something was done to one of these not long before. */
  explain(at: number, ...ids: readonly string[]): boolean {
    return ids.some((id) => this.#of(id).some(({ from, to }) => at >= from && at <= to + AFTERMATH_MS))
  }

  #of(id: string): Span[] {
    const spans = this.#spans.get(id) ?? []
    this.#spans.set(id, spans)
    return spans
  }
}
