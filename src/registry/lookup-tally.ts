import type { LookupError } from './types.ts'

/** What a lookup came to: an instance that is there, one that stands in (see `StaleOptions`), or why there is none. */
export type LookupResult = 'found' | 'stale' | LookupError

/** How many lookups came to what. Counted on the fastest path, so it is a plain object of one shape. */
export type LookupTally = Record<LookupResult, number>

export const noLookups = (): LookupTally => ({
  found: 0,
  stale: 0,
  noservice: 0,
  noversion: 0,
  nofunction: 0,
  noinstance: 0,
})
