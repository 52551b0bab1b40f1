/**
 * Whole clusters on virtual time and a network with faults from a seed. Needs no test framework.
 *
 *     await simulate({ seed: 42, loss: 0.1 }, async (net) => {
 *       const [a, b, c, d] = await cluster(4, { net })
 *       net.partition([a, b], [c, d])
 *       await net.run(60_000)
 *       net.heal()
 *       await net.run(4_500)
 *       expectSame(a, b, c, d)
 *     })
 *
 * What goes wrong is thrown with the seed, which replays the run.
 */

export { cluster, haveMet } from './cluster.ts'
export type { ClusterOptions } from './cluster.ts'
export { differences, expectSame } from './differences.ts'
export type { LinkFaults } from './links.ts'
export { LINK_DEFAULTS } from './links.ts'
export { simulate, SimulatedNetwork, SimulationFailure } from './network.ts'
export type { Member, Members, Passage, SimulatedNetworkOptions, Traffic } from './network.ts'
export type { NodeEventName, NodeEvents, RecordedEvent } from './node-events.ts'
export { SeededRandom } from './random.ts'
export { from, simAddress, SimNode } from './sim-node.ts'
export type { SimNodeOptions, SimNodeSetup } from './sim-node.ts'
export { NodeClock, VIRTUAL_WALL_START, VirtualClock } from './virtual-clock.ts'
export { MemoryNetwork } from '../transports/memory/network.ts'
export type { LinkMessage, LinkPolicy, MemoryNetworkOptions } from '../transports/memory/settings.ts'
export { MEMORY_NETWORK_DEFAULTS } from '../transports/memory/settings.ts'
export { memoryTransport, MemoryTransport } from '../transports/memory/transport.ts'
export type { MemoryTransportOptions } from '../transports/memory/transport.ts'
