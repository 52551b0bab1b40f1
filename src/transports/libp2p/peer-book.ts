import type { NodeId } from '../../core/frame.ts'
import { endpointOf, isLoopback, multiaddrOf, withoutPeer, type Endpoint } from './addresses.ts'
import type { ConnectionLike } from './libp2p-like.ts'

/** Where a peer is, and how we know. */
interface PeerPlaces {
  /** What the cluster says, multiaddrs without identity; undefined when it says nothing. */
  learned: readonly string[] | undefined
  /** What the peer said itself when it was connected. */
  identified: readonly string[]
  /** Where a dial found this very identity. */
  readonly proven: Set<string>
  /** From which hosts it was connected. */
  readonly hosts: Set<string>
}

function plainHost(host: string): string {
  return host.replace(/^::ffff:(?=\d+\.)/, '')
}

/** Knows where peers are. */
export class PeerBook {
  readonly #places = new Map<NodeId, PeerPlaces>()

  #place(peer: NodeId): PeerPlaces {
    let place = this.#places.get(peer)
    if (place === undefined) {
      place = { learned: undefined, identified: [], proven: new Set(), hosts: new Set() }
      this.#places.set(peer, place)
    }
    return place
  }

  learn(peer: NodeId, addresses: readonly string[]): void {
    this.#place(peer).learned = addresses.map(withoutPeer)
  }

  identify(peer: NodeId, addresses: readonly string[]): void {
    this.#place(peer).identified = addresses.map(withoutPeer)
  }

  meet(connection: ConnectionLike): void {
    const place = this.#place(connection.remotePeer.toString())
    const address = withoutPeer(connection.remoteAddr.toString())
    const endpoint = endpointOf(address)
    if (endpoint === undefined) return
    place.hosts.add(plainHost(endpoint.host))
    if (connection.direction === 'outbound') place.proven.add(multiaddrOf(endpoint))
  }

  forget(peer: NodeId): void {
    this.#places.delete(peer)
  }

  knows(peer: NodeId): boolean {
    return this.#places.has(peer)
  }

  isLearned(peer: NodeId): boolean {
    return this.#places.get(peer)?.learned !== undefined
  }

  /** Peers that the cluster speaks of. */
  learned(): NodeId[] {
    return [...this.#places].flatMap(([peer, { learned }]) => (learned === undefined ? [] : [peer]))
  }

  /** Where to dial the peer, what worked before first. Multiaddrs without identity. */
  addresses(peer: NodeId): readonly string[] {
    const place = this.#places.get(peer)
    if (place === undefined) return []
    const known = new Set(place.learned ?? place.identified)
    const proven = [...place.proven].filter((address) => known.has(address) || place.learned === undefined)
    return [...new Set([...proven, ...known])]
  }

  /** Peers known to be at an endpoint. */
  at(endpoint: Endpoint): readonly NodeId[] {
    const address = multiaddrOf(endpoint)
    return [...this.#places].flatMap(([peer, { learned, identified, proven }]) =>
      proven.has(address) || (learned ?? identified).includes(address) ? [peer] : [],
    )
  }

  /**
   * The endpoints whose refusal says something about the peer. An address that others report may mean another
   * machine here: loopback, a container's network, a private network elsewhere. So once the peer was met, only
   * addresses count that a dial found it at, or whose host it was connected from.
   *
   * @param loopbackCounts - whether the loopback address of a peer never met is on this host
   */
  telling(peer: NodeId, loopbackCounts: boolean): readonly Endpoint[] {
    const place = this.#places.get(peer)
    if (place === undefined) return []
    return this.addresses(peer).flatMap((address) => {
      const endpoint = endpointOf(address)
      if (endpoint === undefined) return []
      const met = place.hosts.size > 0
      const counts = met
        ? place.proven.has(multiaddrOf(endpoint)) || place.hosts.has(plainHost(endpoint.host))
        : loopbackCounts || !isLoopback(endpoint.host)
      return counts ? [endpoint] : []
    })
  }
}
