import type { LookupHit } from '../types.ts'

/** How instances that may all be returned take turns. One belongs to one selector. */
export interface Balancer {
  /**
   * A place in `hits`, which are never empty. A list that instances come to or go from is another list, so what is known
   * of one holds for as long as it is the same. `key` is '' for who is not asked by key. Allocates nothing for a list that it knows.
   */
  pick(hits: readonly LookupHit[], key: string): number
}
