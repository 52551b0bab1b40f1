import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRegistry, Monitor } from 'rollcall'
import type { Role } from './processes.ts'

// A process that offers services: an HTTP server, and registrations that live as long as it listens.

// The demo holds the other end of this channel. Without the demo there is nobody to serve.
if (!process.connected) process.exit()
process.once('disconnect', () => process.exit())
// Ctrl-C reaches every process of the terminal; it is the demo that ends its processes.
process.on('SIGINT', () => undefined)

const { name, services, join } = JSON.parse(process.argv[2] ?? '') as Role & { readonly join: string[] }

const server = createServer((_request, response) => response.end(name)).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo

const registry = await createRegistry({ name, join, flush: 'eager' })
const monitor = Monitor.of(server)
for (const service of services) {
  registry.register({ ...service, address: `http://127.0.0.1:${port}` }, { monitor })
}

process.once('SIGTERM', () => void close())

/** First everybody learns that it is gone, then it stops to answer. */
async function close(): Promise<void> {
  await registry.close()
  server.close(() => process.disconnect())
}
