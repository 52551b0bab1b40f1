import type { Socket } from 'node:net'
import { openConsole } from '../../src/console/console.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'

/** A process with a console at the path that it is given. Says `open`; any line on its stdin makes it hang. */
const transport = memoryTransport(new MemoryNetwork(), { address: '/memory/a' })
const registry = await createRegistry({ transport, name: 'billing-1', flush: 'eager' })
registry.register({ name: 'Orders', version: '1.2.0' })
await openConsole(registry, { path: process.argv[2] })
process.stdout.write('open\n')
process.stdin.once('data', () => {
  for (;;);
})
// Only the registry keeps this process alive.
;(process.stdin as Socket).unref()
