import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import type { NodeId } from '../../core/frame.ts'
import { endpointOf, isLoopback, multiaddrOf, peerOf, withoutPeer, type Endpoint } from './addresses.ts'
import { dialFailure, dialMessage } from './dial-outcome.ts'
import { examine, type Verdict } from './evidence.ts'
import type { ConnectionLike } from './libp2p-like.ts'
import type { DialResult } from './mesh.ts'
import type { PeerBook } from './peer-book.ts'
import type { CheckedStack } from './stack-check.ts'

/** One fast look at a peer; on a local network an answer takes a few ms. */
const EVIDENCE_MS = 1_000
/** The node with the higher id leaves the other this long to dial first. */
const YIELD_MS = 150
/** Second connections are closed once they have settled and carry nothing. */
const SPARE_AGE_MS = 5_000
/** libp2p's own chores, which a connection without use still carries. */
const CHORES = /^\/(?:ipfs|libp2p)\//

class TimeoutError extends Error {
  override readonly name = 'TimeoutError'

  constructor(ms: number) {
    super(`no answer within ${String(Math.round(ms))} ms`)
  }
}

/** The connections of a node: made, looked at, and closed. Everything it waits for ends with `stop`. */
export class Links {
  readonly #stack: CheckedStack
  readonly #book: PeerBook
  readonly #self: NodeId
  readonly #pending = new Set<AbortController>()
  #stopped = false

  constructor(stack: CheckedStack, book: PeerBook) {
    this.#stack = stack
    this.#book = book
    this.#self = stack.node.peerId.toString()
  }

  stop(): void {
    this.#stopped = true
    for (const controller of this.#pending) controller.abort()
  }

  /** Open connections with a peer. */
  of(peer: NodeId): readonly ConnectionLike[] {
    return this.#stack.node
      .getConnections()
      .filter(({ remotePeer, status }) => status === 'open' && remotePeer.toString() === peer)
  }

  /** Tries multiaddrs in order: all with one identity, or all with none. Never rejects. */
  async dial(addresses: readonly string[], timeoutMs: number): Promise<DialResult> {
    try {
      const targets = addresses.map((address) => multiaddr(address))
      const connection = await this.#within(timeoutMs, (signal) => this.#stack.node.dial(targets, { signal }))
      const peer = connection.remotePeer.toString()
      const expected = peerOf(addresses[0] ?? '') ?? peer
      // Line 2 does not compare them. The connection may stay: it is as good as if the other one had dialled.
      if (peer !== expected) return { ok: false, failure: 'other-identity', message: `${peer} is there` }
      return { ok: true, peer }
    } catch (error) {
      return { ok: false, failure: dialFailure(error), message: dialMessage(error) }
    }
  }

  /** Drops every connection with a peer at once. */
  hangUp(peer: NodeId, why: string): void {
    for (const connection of this.of(peer)) connection.abort(new Error(why))
  }

  /** Asks a connected peer who it is, which it answers if it is alive. The answer arrives as 'peer:identify'. */
  async identify(peer: NodeId): Promise<boolean> {
    const [connection] = this.of(peer)
    if (connection === undefined) return false
    try {
      await this.#within(EVIDENCE_MS, (signal) => this.#stack.identify.identify(connection, { signal }))
      return true
    } catch {
      return false
    }
  }

  /** Where this node listens. */
  #listening(): readonly string[] {
    return this.#stack.node.getMultiaddrs().map((address) => withoutPeer(address.toString()))
  }

  isSelf(endpoint: Endpoint): boolean {
    return this.#listening().includes(multiaddrOf(endpoint))
  }

  /** Looks whether the process of a peer without a connection lives. */
  examine(peer: NodeId): Promise<Verdict> {
    const onlyLoopback = this.#listening().every((address) => isLoopback(endpointOf(address)?.host ?? ''))
    const endpoints = this.#book.telling(peer, onlyLoopback).filter((endpoint) => !this.isSelf(endpoint))
    const until = performance.now() + EVIDENCE_MS
    return this.#within(EVIDENCE_MS, (signal) =>
      examine({
        endpoints,
        signal,
        dial: async (open) => {
          if (this.#self > peer) await this.#yieldTo(peer, signal)
          if (this.of(peer).length > 0) return 'connected'
          const addresses = open.map((endpoint) => `${multiaddrOf(endpoint)}/p2p/${peer}`)
          const result = await this.dial(addresses, Math.max(1, until - performance.now()))
          if (result.ok) return 'connected'
          return result.failure === 'other-identity' ? 'other-identity' : 'failed'
        },
      }),
    )
  }

  #yieldTo(peer: NodeId, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const started = performance.now()
      const look = (): void => {
        const over = performance.now() - started >= YIELD_MS || signal.aborted || this.of(peer).length > 0
        if (over) resolve()
        else setTimeout(look, 10)
      }
      look()
    })
  }

  /**
   * Closes connections that two nodes made at once and that carry nothing. Only the lower id does, or each might
   * close the one that the other uses.
   */
  closeSpares(peers: readonly NodeId[]): void {
    for (const peer of peers) {
      const connections = this.of(peer)
      if (connections.length < 2 || this.#self > peer) continue
      const spares = connections.filter(
        ({ timeline, streams }) =>
          Date.now() - timeline.open > SPARE_AGE_MS &&
          streams.every(({ protocol }) => CHORES.test(protocol ?? '')),
      )
      // One stays, whatever it carries.
      const closing = spares.length === connections.length ? spares.slice(1) : spares
      for (const spare of closing) void spare.close().catch(() => undefined)
    }
  }

  /**
   * Has libp2p forget a peer: it keeps what it learned of each that it ever met, some 7 KB, for as long as it runs. Not
   * while there is a connection: by what is kept gossipsub is told of its end. Never rejects.
   */
  async forget(peer: NodeId): Promise<void> {
    const { node } = this.#stack
    if (node.getConnections().some(({ remotePeer }) => remotePeer.toString() === peer)) return
    try {
      await node.peerStore?.delete(peerIdFromString(peer))
    } catch {
      // An id that others made up, or a store that fails: what is not forgotten only takes room.
    }
  }

  async #within<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    if (this.#stopped) controller.abort()
    const timer = setTimeout(() => controller.abort(new TimeoutError(timeoutMs)), timeoutMs)
    this.#pending.add(controller)
    try {
      return await work(controller.signal)
    } finally {
      clearTimeout(timer)
      this.#pending.delete(controller)
    }
  }
}
