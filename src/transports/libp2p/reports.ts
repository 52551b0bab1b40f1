import type { NodeId } from '../../core/frame.ts'
import { RollcallError, type RollcallErrorCode } from '../../errors.ts'
import type { DialFailure } from './dial-outcome.ts'

/** Connects the parts of a node that turn strangers away with the transport that reports them. */
export interface Door {
  turnedAway: (where: string, why: string) => void
}

/** Places remembered at once; the oldest gives way. A stranger may come from any number of addresses. */
const MOST_PLACES = 1_000

const FAILURES = {
  unreachable: 'no answer, or none in time,',
  self: 'the address is this node itself',
  'other-identity': 'another node than the expected one answers',
  refused: 'what answers is no member of this cluster, or refuses this node',
} as const satisfies Record<DialFailure, string>

/** Says each thing that is wrong once: what is tried for ever would otherwise be reported for ever. */
export class Reports {
  /** By place: all that was said of it since it was last well, for a seed may fail in two ways by turns. */
  readonly #said = new Map<string, Set<string>>()
  readonly #say: (where: string, error: RollcallError) => void

  constructor(say: (where: string, error: RollcallError) => void) {
    this.#say = say
  }

  /** @param cause - what is wrong in one word; the message may vary without being news */
  report(where: string, cause: string, code: RollcallErrorCode, message: string): void {
    const news = `${code} ${cause}`
    const said = this.#said.get(where) ?? new Set()
    if (said.has(news)) return
    this.#said.delete(where)
    this.#said.set(where, said.add(news))
    const [oldest] = this.#said.keys()
    if (this.#said.size > MOST_PLACES && oldest !== undefined) this.#said.delete(oldest)
    this.#say(where, new RollcallError(code, message))
  }

  /** It is over: the next time is news. */
  clear(where: string): void {
    this.#said.delete(where)
  }

  /** A dial failed. */
  unwell(where: string, failure: DialFailure, message: string): void {
    const code = failure === 'unreachable' ? 'ROLLCALL_PEER_UNREACHABLE' : 'ROLLCALL_PEER_REFUSED'
    this.report(where, failure, code, `${FAILURES[failure]} at ${where}: ${message}`)
  }

  /** A connected peer never became a neighbour. */
  stranger(where: string): void {
    const why = 'the peer did not join the cluster: it belongs to another one, or is no rollcall node'
    this.report(where, 'refused', 'ROLLCALL_PEER_REFUSED', why)
  }

  /** Somebody was turned away before there was a connection. */
  turnedAway(where: string, why: string): void {
    // The port of an inbound connection is another one each time.
    this.report(where.replace(/\/tcp\/\d+.*$/, ''), why, 'ROLLCALL_PEER_REFUSED', why)
  }

  /**
   * Compares what a peer speaks with what this node speaks.
   *
   * @param protocol - ours; its last part is the version
   */
  versions(peer: NodeId, protocol: string, protocols: readonly string[]): void {
    if (protocols.includes(protocol)) return
    const family = protocol.replace(/[^/]+$/, '')
    const version = (each: string): string => each.slice(family.length)
    const theirs = protocols.filter((each) => each.startsWith(family)).map(version)
    if (theirs.length === 0) return
    const words = `the peer speaks version ${theirs.join(' and ')} of the sync protocol, this node ${version(protocol)}`
    this.report(peer, 'version', 'ROLLCALL_PROTOCOL_MISMATCH', `${words}; upgrade the older of the two`)
  }

  oversized(via: NodeId, bytes: number, limit: number): void {
    const sizes = `${String(bytes)} bytes, at most ${String(limit)}`
    this.report(via, 'oversized', 'ROLLCALL_FRAME_LIMIT', `a gossip message of ${sizes}, was dropped`)
  }
}
