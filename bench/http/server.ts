import { serveHttp } from '../../src/http/index.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'
import { INSTANCES, nameOf, SERVICES, VERSION } from './services.ts'

/** A process that serves a registry, and says what it has cost. */
const transport = memoryTransport(new MemoryNetwork(), { address: '/memory/a' })
const registry = await createRegistry({ transport, name: 'a' })
for (let service = 0; service < SERVICES; service++) {
  const name = nameOf(service)
  for (let instance = 0; instance < INSTANCES; instance++) {
    registry.register({ name, version: VERSION, address: `10.0.0.${instance}:4000`, zone: 'north' })
  }
  registry.register({ name, version: '3.0.0' })
}
const server = await serveHttp(registry, { port: 0, requestsPerSecond: Infinity })
process.on('message', () => process.send?.(process.cpuUsage()))
process.on('disconnect', () => process.exit())
process.send?.(server.port)
