import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createRegistry, Monitor } from 'rollcall'

// An HTTP service that offers itself to a cluster, and calls another service that it finds there by name.
//
//   tsx examples/service.ts Billing                              prints where it can be joined
//   tsx examples/service.ts Orders Billing /ip4/127.0.0.1/tcp/…  calls Billing, and joins there

const [own = 'Billing', needed, ...join] = process.argv.slice(2)

const server = createServer((_request, response) => void answer(response))
await once(server.listen(0, '127.0.0.1'), 'listening')
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// The logger is told of every service that comes or goes.
const registry = await createRegistry({ name: own.toLowerCase(), join, flush: 'eager', logger: console })
registry.on('service_down', ({ instance: { name } }) => {
  if (name === needed && !registry.lookup(name).ok)
    console.warn(`no ${name} is left: answering 503 until one is back`)
})

// Offered for as long as the server listens. How long to wait and how often to try again is up to the owner.
const registration = registry.register(
  { name: own, version: '1.0.0', address, timeoutMs: 1_000, retry: { limit: 2, afterMs: 100 } },
  { monitor: Monitor.of(server) },
)
console.log(`${own} answers at ${address}; join at ${registry.nodes()[0]?.addresses.join(' or ') ?? ''}`)

async function answer(response: ServerResponse): Promise<void> {
  try {
    response.end(needed === undefined ? `${own} says hello` : `${own}, and ${await call(needed, '1.0.0')}`)
  } catch (error) {
    response.writeHead(503).end(String(error))
  }
}

/** Calls a service as its owner asks to be called. Each try looks it up anew, so it may go to another instance. */
async function call(name: string, requirement: string): Promise<string> {
  for (let tries = 0; ; tries++) {
    const found = registry.lookup(name, requirement)
    if (!found.ok) throw new Error(`${name} ${requirement}: ${found.error}`)
    const { timeoutMs, retry } = registry.callOptions(found.service, 'hello/0')
    try {
      const response = await fetch(found.service.address ?? '', { signal: AbortSignal.timeout(timeoutMs) })
      if (response.ok) return await response.text()
      throw new Error(`${name} answered ${response.status}`)
    } catch (error) {
      if (tries >= retry.limit) throw error
      await setTimeout(retry.afterMs)
    }
  }
}

/** In this order nobody calls in vain: stop being found, answer what is under way, leave. */
async function stop(): Promise<void> {
  registration.update({ state: 'draining' })
  await setTimeout(100) // The news is everywhere in a few ms; calls that are on their way still find a server.
  await once(server.close(), 'close')
  await registry.close()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
