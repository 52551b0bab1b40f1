import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createRegistry, type RegistrationHandle } from 'rollcall'
import type { Renewal } from './discovery-window/provider.ts'

// What does a caller lose between a death and the moment that it is known? Of three providers one is killed and one breaks;
// then there is a fourth. At each stage six requests are made, in turn, to what is found in three ways:
//
//   file      a list of addresses that was written at the start
//   leases    entries that somebody keeps for the providers, for 900 ms, renewed every 300 ms
//   monitors  the providers as nodes of the cluster themselves, with entries that die with them

const LEASE_MS = 900
const REQUESTS = 6
const BY_LEASE = 'orders, by lease'
const BY_MONITOR = 'orders'
const COLUMNS = ['file', 'leases', 'records', 'routable', 'monitors'] as const

await using registry = await createRegistry({ name: 'caller', profile: 'local' })
const children: ChildProcess[] = []
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
/** What is kept for the providers, by their address. */
const leases = new Map<string, RegistrationHandle>()

const started = [await start(), await start(), await start()]
const [, victim = ''] = started
let turn = 0
const ways = {
  file: () => started[turn++ % started.length],
  leases: picker(BY_LEASE),
  monitors: picker(BY_MONITOR),
}

console.log(''.padEnd(26) + COLUMNS.map((column) => column.padStart(column.length + 2)).join(''))
await until(() => routable(BY_LEASE) === 3 && routable(BY_MONITOR) === 3)
await stage('all alive')

const [, second, third] = children
second?.kill('SIGKILL')
if (second !== undefined) await once(second, 'exit')
const { leases: toLease, monitors: toMonitor } = await stage('one killed, asked at once')

await until(() => leases.get(victim)?.active === false)
await stage('lease expired')

third?.send('break')
await until(() => routable(BY_LEASE) === 1 && routable(BY_MONITOR) === 1)
await stage('one broken, but alive')

await start()
await until(() => routable(BY_LEASE) === 2 && routable(BY_MONITOR) === 2)
await stage('a fourth is added')

console.log(`To the dead provider, of six: ${toLease} by lease, ${toMonitor} by monitor.`)
for (const child of children) child.kill('SIGKILL')

/** Starts a provider, keeps a lease for it, and returns its address. */
async function start(): Promise<string> {
  const script = fileURLToPath(new URL('./discovery-window/provider.ts', import.meta.url))
  const child = fork(script, [`provider-${children.length + 1}`, ...registry.addresses])
  children.push(child)
  child.on('message', (message) => {
    const { address, state } = message as Renewal
    const lease = leases.get(address)
    if (lease?.active === true) lease.renew({ state })
    else
      leases.set(
        address,
        registry.register({ name: BY_LEASE, version: '1.0.0', address }, { lease: LEASE_MS }),
      )
  })
  const [first] = (await once(child, 'message')) as [Renewal]
  return first.address
}

/** Asks in each way, and prints what came of it. Returns how many requests went to the killed provider. */
async function stage(name: string): Promise<Record<keyof typeof ways, number>> {
  const answered = { file: 0, leases: 0, monitors: 0 }
  const toVictim = { file: 0, leases: 0, monitors: 0 }
  const [records, ready] = [
    registry.lookupAll(BY_LEASE, undefined, { state: 'any' }).length,
    routable(BY_LEASE),
  ]
  for (const way of ['monitors', 'leases', 'file'] as const) {
    for (let request = 0; request < REQUESTS; request++) {
      const address = ways[way]()
      if (address === victim) toVictim[way]++
      if (await isAnswered(address)) answered[way]++
    }
  }
  const of = (way: keyof typeof ways): string => `${answered[way]}/${REQUESTS}`
  const cells = [of('file'), of('leases'), String(records), String(ready), of('monitors')]
  console.log(
    name.padEnd(26) + cells.map((cell, at) => cell.padStart((COLUMNS[at]?.length ?? 0) + 2)).join(''),
  )
  return toVictim
}

async function isAnswered(address: string | undefined): Promise<boolean> {
  if (address === undefined) return false
  try {
    const { ok } = await fetch(address, { signal: AbortSignal.timeout(1_000) })
    return ok
  } catch {
    return false
  }
}

function picker(name: string): () => string | undefined {
  const selector = registry.select(name)
  return () => {
    const answer = selector.next()
    return answer.ok ? answer.service.address : undefined
  }
}

function routable(name: string): number {
  return registry.lookupAll(name).length
}

async function until(isSo: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 10_000
  while (!isSo()) {
    if (performance.now() > giveUpAt) throw new Error(`not so in ten seconds: ${String(isSo)}`)
    await setTimeout(5)
  }
}
