import type { Entry, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { DownReason } from '../core/membership.ts'
import type { RollcallError, RollcallErrorCode } from '../errors.ts'

export type { DownReason }

/** A node as this node sees it now. A frozen copy. */
export interface NodeInfo {
  readonly id: NodeId
  /** The label people read; '' until the node has said it. Not unique by law. */
  readonly name: string
  /** True for the node that answers. */
  readonly self: boolean
  readonly status: 'up' | 'down'
  /** Why it is down; undefined while up. `silent` becomes `refused` or `replaced` when there is proof of its death. */
  readonly reason: DownReason | undefined
  readonly incarnation: number
  readonly addresses: readonly string[]
  readonly zone: string | undefined
  /** Version of the rollcall library it runs. */
  readonly library: string
  /** Entries it owns, hidden ones included, its own `$node` entry excluded. */
  readonly entries: number
  /** Ms since it was last heard, on this node's clock. 0 for itself. */
  readonly silentMs: number
  /** Why it is suspected to be dead or hung, while up; undefined when it is not. Lookups prefer others. */
  readonly suspect: Suspicion | undefined
  /** It went down more than `flapLimit` times within `flapWindowMs`, and has not been steady since. Lookups prefer others. */
  readonly flapping: boolean
}

/**
 * `unanswered`: it is connected and answers no probe, nor does it answer others. `unreachable`: its connection is gone, and
 * a new one is neither refused nor made, nor does it answer others.
 */
export type Suspicion = 'unanswered' | 'unreachable'

/** Why lookups prefer other nodes while there are any. */
export type Doubt = Suspicion | 'flapping'

export interface EntryUpdate {
  readonly entry: Entry<Json>
  readonly previous: Entry<Json>
}

/** What one applied frame, one down or one up changed for readers. Lists are in the owner's write order. */
export interface Diff {
  readonly node: NodeId
  readonly joins: readonly Entry<Json>[]
  readonly leaves: readonly Entry<Json>[]
  readonly updates: readonly EntryUpdate[]
  /** By ref, why entries were removed, where their owner said it (`untrack`, `monitor.close`) and a snapshot did not say less. */
  readonly reasons?: ReadonlyMap<number, string> | undefined
  /** Why entries left: their owner went down for this reason, or (undefined) removed them itself. */
  readonly reason: DownReason | undefined
}

/** Payload by event name. All are past facts, dispatched after the state changed, in the order it changed. */
export interface TrackerEvents {
  /** Visible entries changed, local ones and those of the topic `$node` included. One event per applied frame, at most one per write batch. */
  diff: [diff: Diff]
  /** A node was heard for the first time, again, or in a new incarnation. Comes before the diff with its entries. */
  node_up: [node: NodeInfo]
  /** A node went silent past its promise and `downPeriodMs`, refused a dial, left, or was replaced. Comes after the diff that hides its entries. */
  node_down: [node: NodeInfo, reason: DownReason]
  /**
   * There is proof that a node which was down by silence is dead: it refused a dial, or another node, or a later life of it, has
   * its place. Nobody sees entries change.
   */
  node_dead: [node: NodeInfo, reason: 'refused' | 'replaced']
  /** A node that was down is forgotten. */
  node_purged: [node: NodeInfo]
  /**
   * A node that is up does not answer, so lookups prefer others. It is no verdict, and ends with `node_trusted` or
   * `node_down`.
   */
  node_suspected: [node: NodeInfo, why: Suspicion]
  /** A node went down so often that lookups prefer others until it has been steady. Ends with `node_trusted`. */
  node_flapping: [node: NodeInfo]
  /** A node is neither suspected nor flapping any more. */
  node_trusted: [node: NodeInfo]
  /** More than half of the known nodes fell silent together: the fault is likely here. */
  isolated: [silent: number, known: number]
  /** At most half of the known nodes are silent any more: the others were heard again, found dead, or forgotten. */
  isolation_ended: [silent: number, known: number]
  /** Two nodes with different identities use one name. The second is the one heard later. */
  name_conflict: [older: NodeInfo, newer: NodeInfo]
  /** A peer's frame or message was dropped whole. Counted in `tracker.rejected`. */
  rejected: [from: NodeId, code: RollcallErrorCode, message: string]
  /** Something is wrong between this node and a peer or a seed, or with its state file; retried. `where` is a node id, an address or a path. */
  problem: [where: string, error: RollcallError]
  /** The node cannot go on (identity conflict). It has closed itself. Thrown as uncaught when nobody listens. */
  error: [error: RollcallError]
  /** The node has closed, by `close` or by itself. Nothing comes after it. */
  close: []
}
