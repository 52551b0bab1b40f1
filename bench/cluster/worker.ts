import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { Registry, Transport } from '../../src/index.ts'
import { SERVICE_TOPIC } from '../../src/registry/instance.ts'
import { openNode, type Setup } from '../../test/processes/node.ts'
import { monotonicNow, serve } from '../../test/processes/served.ts'
import { collectGarbage } from '../services.ts'
import { tap } from './tap.ts'

// A node of the cluster that is measured. Times are monotonic ms, the same clock in every process.

/** An instance came or went, as the node that saw it was told. */
export interface Seen {
  readonly at: number
  readonly name: string
  readonly found: boolean
  readonly reason: string | undefined
}

let registry: Registry | undefined
let transport: Transport | undefined
let firstConnectedAt: number | undefined
let chunks = 0
/** Services of others in the replica, and when there were how many first. */
let held = 0
const reached: { readonly count: number; readonly at: number }[] = []
let seen: Seen[] = []
const loopDelay = monitorEventLoopDelay({ resolution: 1 })
let longestGapMs = 0
let mostCpuMs = 0

function opened(): Registry {
  if (registry === undefined) throw new Error('not open')
  return registry
}

/** Records what comes and goes, and whether a lookup at that very moment agrees. */
function record(): void {
  opened().on('service_up', ({ instance: { name } }) => {
    seen.push({ at: monotonicNow(), name, found: opened().lookup(name).ok, reason: undefined })
  })
  opened().on('service_down', ({ instance: { name }, reason }) => {
    seen.push({ at: monotonicNow(), name, found: opened().lookup(name).ok, reason })
  })
}

/** Follows how many services of others are here, at the cost of a frame, not of an entry. */
function count(): void {
  const self = opened().tracker.id
  opened().tracker.on('diff', ({ node, joins, leaves }) => {
    if (node === self) return
    held += services(joins) - services(leaves)
    reached.push({ count: held, at: monotonicNow() })
  })
}

function forgetBlocks(): void {
  loopDelay.reset()
  longestGapMs = 0
  mostCpuMs = 0
}

/** For how long the main thread has been on a CPU, ms. What a block takes longer than that it waited for other processes. */
const cpuNow = (): number => Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6

const services = (entries: readonly { readonly topic: string }[]): number =>
  entries.filter(({ topic }) => topic === SERVICE_TOPIC).length

const commands = {
  async open(setup: Setup, listens: 'records' | 'counts' | 'idle') {
    const node = await openNode({ ...setup, atHand: true }, (made) =>
      tap(made, {
        connected: () => {
          if (firstConnectedAt !== undefined) return
          firstConnectedAt = monotonicNow()
          forgetBlocks()
        },
        chunk: () => chunks++,
      }),
    )
    registry = node.registry
    transport = node.transport
    if (listens === 'records') record()
    if (listens === 'counts') count()
    return { id: registry.tracker.id, address: registry.nodes()[0]?.addresses[0] ?? '' }
  },

  /** Offers one service. Returns when, taken before. */
  register(name: string): number {
    const at = monotonicNow()
    opened().register({ name, version: '1.0.0', address: '10.0.0.7:4000' })
    return at
  },

  /** Offers many, each under a name of its own, with about 150 bytes of meta. */
  async registerMany(prefix: string, many: number): Promise<void> {
    for (let index = 0; index < many; index++) {
      opened().register({
        name: `${prefix}-service-${index}`,
        version: `2.${index % 10}.0`,
        address: `10.0.${index % 250}.7:4000`,
        functions: { 'get/1': { timeoutMs: 500, retry: { limit: 1, afterMs: 10 } } },
      })
      if (index % 500 === 0) await setImmediate()
    }
  },

  neighbours: () => transport?.neighbours().length ?? 0,

  found: (name: string) => opened().lookup(name).ok,

  services: () => opened().tracker.list(SERVICE_TOPIC).length,

  /** What was recorded since the last call. */
  takeSeen(): Seen[] {
    const taken = seen
    seen = []
    return taken
  },

  /** When the node was first connected, and when it first held so many services of others. */
  filled: (many: number) => ({
    connectedAt: firstConnectedAt,
    filledAt: reached.find((each) => each.count >= many)?.at,
  }),

  watchLoop(): void {
    collectGarbage()
    loopDelay.enable()
    let last = monotonicNow()
    let lastCpu = cpuNow()
    setInterval(() => {
      const now = monotonicNow()
      const cpu = cpuNow()
      longestGapMs = Math.max(longestGapMs, now - last - 5)
      mostCpuMs = Math.max(mostCpuMs, cpu - lastCpu)
      last = now
      lastCpu = cpu
    }, 5).unref()
    forgetBlocks()
  },

  /** The longest block of the event loop since the last call or the first connection, by two probes, and the most CPU that was used between two ticks of the second. */
  takeBlocks() {
    const blocks = { wallMs: Math.max(loopDelay.max / 1e6, longestGapMs), cpuMs: mostCpuMs }
    forgetBlocks()
    return blocks
  },

  collect(): void {
    collectGarbage()
  },

  chunks: () => chunks,

  /** Says goodbye. Returns when that began. */
  async close(): Promise<number> {
    const at = monotonicNow()
    await opened().close()
    return at
  },
}

export type WorkerCommands = typeof commands

serve(commands)
