/** Counts what the readers of watches are given. */
export class WatchTally {
  snapshots = 0
  /** Changes that a reader was shown together with a later one, because it came for them too late. */
  coalesced = 0
}
