export type Verdict = 'passing' | 'failing'

/** What the results of a probe amount to so far. */
export interface Streak {
  /** Undefined until the first time that enough results in a row agree. */
  readonly verdict: Verdict | undefined
  readonly passed: boolean
  /** The last results in a row that were all like `passed`. */
  readonly length: number
}

export const NO_RESULTS: Streak = { verdict: undefined, passed: true, length: 0 }

/**
 * Takes in one result. Pure. The verdict is `passing` after `rise` passes in a row, `failing` after `fall` failures
 * in a row, the first result included; else it stays what it was.
 */
export function count(
  before: Streak,
  passed: boolean,
  { rise, fall }: { readonly rise: number; readonly fall: number },
): Streak {
  const length = passed === before.passed ? before.length + 1 : 1
  if (length < (passed ? rise : fall)) return { verdict: before.verdict, passed, length }
  return { verdict: passed ? 'passing' : 'failing', passed, length }
}
