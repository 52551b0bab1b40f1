import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRegistry, Monitor } from 'rollcall'

// A provider: an HTTP server that is found in two ways. Somebody else keeps a lease for it, which it renews as long as it
// lives; and it is a node of the cluster itself.

const RENEW_MS = 300

/** What a provider says to who keeps its lease. */
export interface Renewal {
  readonly address: string
  readonly state: 'ready' | 'unready'
}

if (!process.connected) process.exit()
process.once('disconnect', () => process.exit())

const [name = '', ...join] = process.argv.slice(2)
let isBroken = false

const server = createServer((_request, response) => {
  response.statusCode = isBroken ? 503 : 200
  response.end()
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const registry = await createRegistry({ name, join, profile: 'local' })
const health = { readiness: { check: () => !isBroken, periodMs: RENEW_MS, fall: 1 } }
registry.register({ name: 'orders', version: '1.0.0', address }, { monitor: Monitor.of(server), health })

const renew = (): void => {
  process.send?.({ address, state: isBroken ? 'unready' : 'ready' } satisfies Renewal)
}
renew()
setInterval(renew, RENEW_MS)
process.on('message', () => (isBroken = true))
