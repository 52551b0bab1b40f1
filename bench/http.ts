import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { quantile } from './cluster/report.ts'
import { Connection } from './http/connection.ts'
import { INSTANCES, nameOf, SERVICES, VERSION } from './http/services.ts'

/**
 * Lookups over HTTP, at a rate that does not wait for answers: each is timed from the moment at which it was due. A fifth more
 * than the 10,000 that are to be answered.
 */
const RATE = 12_000
const WARM_UP_MS = 2_000
const MEASURED_MS = 5_000
const CONNECTIONS = 64

interface Run {
  readonly times: number[]
  readonly faults: string[]
  readonly found: Set<string>
  readonly tookMs: number
}

/** What is wrong with an answer. */
function faultOf(service: number, reply: { status: number; body: string } | undefined, found: Set<string>) {
  if (reply?.status !== 200) return `${nameOf(service)}: ${reply?.status ?? 'no'} answer`
  const answer = JSON.parse(reply.body) as {
    ok: boolean
    service: { name: string; version: string; id: string }
  }
  const { name, version, id } = answer.service
  found.add(id)
  return name === nameOf(service) && version === VERSION
    ? undefined
    : `${nameOf(service)}: found ${name} ${version}`
}

async function run(port: number, lastsMs: number): Promise<Run> {
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection(port))
  const idle = [...connections]
  const waiting: { readonly service: number; readonly dueAt: number }[] = []
  const [times, faults, found]: [number[], string[], Set<string>] = [[], [], new Set()]
  const total = (RATE * lastsMs) / 1_000
  const startedAt = performance.now()
  const send = (): void => {
    for (let next = waiting.at(0); next !== undefined && idle.length > 0; next = waiting.at(0)) {
      const { service, dueAt } = next
      const connection = idle.pop()
      waiting.shift()
      connection?.get(`/v1/lookup/${nameOf(service)}?version=~%3E+2.0`, (reply) => {
        times.push(performance.now() - dueAt)
        const fault = faultOf(service, reply, found)
        if (fault !== undefined) faults.push(fault)
        idle.push(connection)
        send()
      })
    }
  }
  for (let due = 0; due < total;) {
    const now = performance.now()
    const upTo = Math.min(total, Math.floor(((now - startedAt) / 1_000) * RATE))
    for (; due < upTo; due++)
      waiting.push({ service: due % SERVICES, dueAt: startedAt + (due / RATE) * 1_000 })
    send()
    await setTimeout(1)
  }
  while (times.length < total) await setTimeout(1)
  const tookMs = performance.now() - startedAt
  for (const connection of connections) connection.close()
  return { times, faults, found, tookMs }
}

const server = fork(new URL('http/server.ts', import.meta.url))
const usage = async (): Promise<number> => {
  server.send('usage')
  const [{ user, system }] = (await once(server, 'message')) as [NodeJS.CpuUsage]
  return (user + system) / 1_000
}

const [port] = (await once(server, 'message')) as [number]
await run(port, WARM_UP_MS)
const before = await usage()
const { times, faults, found, tookMs } = await run(port, MEASURED_MS)
const cpuMs = (await usage()) - before
server.disconnect()

const reached = (times.length / tookMs) * 1_000
console.log(
  `${times.length.toLocaleString('en')} lookups of ${SERVICES.toLocaleString('en')} services × ${INSTANCES} instances: ` +
    `${reached.toFixed(0)} a second, ${faults.length} errors`,
)
const [median, p99, worst] = [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(2))
console.log(
  `median ${median} ms, p99 ${p99} ms, worst ${worst} ms; the server took ${((cpuMs / tookMs) * 100).toFixed(0)} % of a core`,
)

if (faults.length > 0) throw new Error(`${faults.length} errors, the first: ${faults[0]}`)
if (found.size !== SERVICES * INSTANCES)
  throw new Error(`${found.size} of ${SERVICES * INSTANCES} instances had a turn`)
if (reached < 0.99 * RATE)
  throw new Error(`${reached.toFixed(0)} lookups a second, and ${RATE} were asked for`)
