import { describe } from 'vitest'
import { LINES } from '../processes/cluster.ts'
import { whyNot } from './lab.ts'

type Lines = readonly (2 | 3)[]

/** Why there is no lab on this machine. Where everything must be tested that is a failure, not an excuse. */
export const missing = process.env['CI'] === 'true' ? undefined : whyNot()

/** Which clusters a scenario is tried on. */
export const EACH_LINE: readonly (typeof LINES)[number][] = LINES.slice(0, 2)
export const MIXED: readonly (typeof LINES)[number][] = LINES.slice(2)

/** Describes what befalls clusters. They live side by side, each with its tests in their order. */
export function describeFaults(what: string, clusters: typeof EACH_LINE, body: (lines: Lines) => void): void {
  describe.skipIf(missing !== undefined)(what, () => {
    for (const { called, lines } of clusters) {
      describe.concurrent(called, () => {
        describe(what, { concurrent: false, timeout: 60_000 }, () => body(lines))
      })
    }
  })
}
