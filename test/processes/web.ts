import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createRegistry } from '../../src/index.ts'
import { serve, standAlone } from './served.ts'

// An HTTP server that offers itself, and at SIGTERM drains before it ends.

/** What a request takes. */
const WORK_MS = 10

let inFlight = 0
let idle: () => void = () => undefined

const server = createServer((_request, response) => {
  inFlight++
  void setTimeout(WORK_MS).then(() => {
    response.end(String(process.pid))
    inFlight--
    if (inFlight === 0) idle()
  })
})

const commands = {
  async open({ name, join }: { readonly name: string; readonly join: readonly string[] }) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const registry = await createRegistry({ name, join, maxBackoffMs: 500 })
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    registry.register({ name: 'web', version: '1.0.0', address })
    const untilIdle = () => (inFlight === 0 ? undefined : new Promise<void>((resolve) => (idle = resolve)))
    void registry.shutdown({ signals: ['SIGTERM'], until: untilIdle })
    standAlone()
  },
}

export type WebCommands = typeof commands

serve(commands)
