import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRegistry } from '../../src/index.ts'
import { bundle } from './bundle.ts'
import { Fleet, until, type Child } from './fleet.ts'
import type { WebCommands } from './web.ts'

const PROVIDERS = 3
/** Requests at any time. */
const WORKERS = 8

export interface Rolling {
  readonly requests: number
  /** What went wrong, one line each. */
  readonly failures: readonly string[]
  /** Processes that answered. */
  readonly answered: number
  readonly restarts: number
}

/** Restarts three HTTP servers one after the other, so many times, while callers call them without a pause. */
export async function rollingRestarts(rounds: number): Promise<Rolling> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-rolling-'))
  const fleet = new Fleet<WebCommands>(await bundle(new URL('./web.ts', import.meta.url), folder))
  const registry = await createRegistry({ name: 'caller', maxBackoffMs: 500 })
  const selector = registry.select('web', undefined, { balance: 'least-pending' })
  const failures: string[] = []
  const answered = new Set<string>()
  let requests = 0
  let isOver = false

  const start = async (slot: number): Promise<Child<WebCommands>> => {
    const child = fleet.spawn()
    const before = registry.lookupAll('web').length
    await child.ask('open', { name: `web-${slot}`, join: registry.addresses })
    await until(() => registry.lookupAll('web').length > before, { what: `web-${slot} is found` })
    return child
  }
  const call = async (): Promise<void> => {
    while (!isOver) {
      const pick = selector.acquire()
      requests++
      try {
        const address = pick.service?.address
        if (address === undefined) throw new Error('nobody is found')
        const response = await fetch(address, { signal: AbortSignal.timeout(5_000) })
        if (!response.ok) throw new Error(`answered ${response.status}`)
        answered.add(await response.text())
        pick.report('ok')
      } catch (error) {
        const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
        failures.push(`${String(error)}${cause}`)
        pick.report('error')
      }
    }
  }

  try {
    const running: Child<WebCommands>[] = []
    for (let slot = 0; slot < PROVIDERS; slot++) running.push(await start(slot))
    const workers = Array.from({ length: WORKERS }, call)
    for (let round = 0; round < rounds; round++) {
      for (const [slot, child] of running.entries()) {
        child.signal('SIGTERM')
        await child.ended
        running[slot] = await start(slot)
      }
    }
    // The one that was started last as well.
    const all = PROVIDERS * (rounds + 1)
    await until(() => answered.size >= all, { what: `${all} processes have answered` })
    isOver = true
    await Promise.all(workers)
    return { requests, failures, answered: answered.size, restarts: rounds * PROVIDERS }
  } finally {
    isOver = true
    await registry.close()
    await fleet.end()
    await rm(folder, { recursive: true, force: true })
  }
}
