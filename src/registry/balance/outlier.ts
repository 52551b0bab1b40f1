/** When an instance is avoided by those who call it, and for how long. */
export interface OutlierRules {
  /** Errors in a row that make it avoided. Infinity: never. */
  readonly outlierErrors: number
  /** For how long the first time. Doubled with every further time. */
  readonly outlierBackoffMs: number
  readonly maxOutlierBackoffMs: number
}

/** What calls to an instance have come to since the last that succeeded. */
export interface Streak {
  readonly errors: number
  /** How often they have made it avoided. */
  readonly avoidances: number
}

export const NO_STREAK: Streak = Object.freeze({ errors: 0, avoidances: 0 })

/**
 * What one more error makes of a streak, and for how many ms the instance is to be avoided; undefined: not at all. Only a
 * success ends a streak, so who has been avoided is avoided anew after a single error.
 */
export function afterError(
  { errors, avoidances }: Streak,
  { outlierErrors, outlierBackoffMs, maxOutlierBackoffMs }: OutlierRules,
): { readonly streak: Streak; readonly avoidMs: number | undefined } {
  if (errors + 1 < outlierErrors) return { streak: { errors: errors + 1, avoidances }, avoidMs: undefined }
  const avoidMs = Math.min(maxOutlierBackoffMs, outlierBackoffMs * 2 ** avoidances)
  return { streak: { errors: errors + 1, avoidances: avoidances + 1 }, avoidMs }
}
