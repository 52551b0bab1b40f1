/** The first retry comes within half a second: most failures are a process that is just starting. */
const FIRST_MS = 500

/**
 * How long to wait after a number of failures in a row: doubling from 500 ms to `capMs`, each wait between half
 * of that and all of it, so that nodes that failed together do not dial together.
 *
 * @param chance - uniform in [0, 1)
 */
export function backoffMs(failures: number, capMs: number, chance: number): number {
  const full = Math.min(capMs, FIRST_MS * 2 ** Math.min(failures - 1, 30))
  return full * (0.5 + chance / 2)
}
