const FIRST_MS = 1_000
const LONGEST_MS = 15_000

/**
 * How long to wait after so many failures in a row: twice as long each time, up to 15 s. `chance` in [0, 1) takes up to half
 * of it off, so that the readers of a server that restarts do not come back all at once.
 */
export const backoffMs = (failures: number, chance: number): number =>
  Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS) * (1 - chance / 2)
