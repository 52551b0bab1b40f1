import { writeSync } from 'node:fs'
import { setImmediate as turn, setTimeout } from 'node:timers/promises'
import type { RegistrationHandle, Registry, ServicePatch, ServiceSpec, Transport } from '../../src/index.ts'
import { openNode, type Setup } from './node.ts'
import { monotonicNow, serve, standAlone, tell } from './served.ts'

// A registry in a process of its own, for tests that stop, kill and restart it.

let registry: Registry | undefined
let transport: Transport | undefined
/** What keeps the process before there is a registry. */
let before: readonly string[] = []
const registrations = new Map<string, RegistrationHandle>()

function opened(): Registry {
  if (registry === undefined) throw new Error('not open')
  return registry
}

/** Tells the parent of every event, at its time. */
function report({ tracker, ...rest }: { tracker: Registry['tracker']; registry: Registry }): void {
  const services = rest.registry
  services.on('service_up', ({ instance: { node, name, id } }) =>
    tell('service_up', { node, name, text: id }),
  )
  services.on('service_down', ({ instance: { node, name, id }, reason }) => {
    tell('service_down', { node, name, reason, text: id })
  })
  services.on('service_changed', ({ instance: { node, name, id, metadata, state } }) => {
    tell('service_changed', { node, name, reason: state, text: `${id} ${JSON.stringify(metadata)}` })
  })
  tracker.on('node_purged', ({ id, name, incarnation }) =>
    tell('node_purged', { node: id, name, incarnation }),
  )
  tracker.on('node_up', ({ id, name, incarnation }) => tell('node_up', { node: id, name, incarnation }))
  tracker.on('node_down', ({ id, name, incarnation }, reason) => {
    tell('node_down', { node: id, name, incarnation, reason })
  })
  tracker.on('node_suspected', ({ id }, why) => tell('node_suspected', { node: id, reason: why }))
  tracker.on('node_trusted', ({ id }) => tell('node_trusted', { node: id }))
  tracker.on('isolated', (silent, known) => tell('isolated', { text: `${silent} of ${known}` }))
  tracker.on('name_conflict', (older, newer) => tell('name_conflict', { node: older.id, text: newer.id }))
  tracker.on('rejected', (node, code, text) => tell('rejected', { node, code, text }))
  tracker.on('problem', (node, { code, message }) => tell('problem', { node, code, text: message }))
  tracker.on('error', ({ code, message }) => tell('error', { code, text: message }))
}

const commands = {
  /** Starts the registry. */
  async open(setup: Setup) {
    before = process.getActiveResourcesInfo()
    const opening = openNode(setup, (made) => made)
    const node = await opening
    registry = node.registry
    transport = node.transport
    report({ registry, tracker: registry.tracker })
    standAlone()
    const [self] = registry.nodes()
    return { id: registry.tracker.id, addresses: self?.addresses ?? [], incarnation: self?.incarnation ?? 0 }
  },

  register(spec: ServiceSpec): string {
    const registration = opened().register(spec)
    registrations.set(registration.instance.id, registration)
    return registration.instance.id
  },

  /** Offers what can serve only after a while, as its readiness probe finds. */
  registerProbed(spec: ServiceSpec, wellAfterMs: number): string {
    const wellAt = monotonicNow() + wellAfterMs
    const readiness = { check: () => monotonicNow() >= wellAt, periodMs: 100, timeoutMs: 100, rise: 2 }
    const { instance } = opened().register(spec, { health: { readiness, reentryMs: 0 } })
    return instance.id
  },

  /** Offers so many services, and closes in the same turn. */
  async burst(count: number): Promise<void> {
    for (let index = 0; index < count; index++)
      opened().register({ name: `burst-${index}`, version: '1.0.0' })
    await opened().close()
  },

  update(id: string, patch: ServicePatch): void {
    registrations.get(id)?.update(patch)
  },

  unregister(id: string): void {
    registrations.get(id)?.unregister()
  },

  lookup: (name: string, requirement?: string) => opened().lookup(name, requirement),

  /** Ids of the nodes that lookups of a service return, in turn. */
  returned(name: string): string[] {
    const answers = Array.from({ length: 2 * opened().lookupAll(name).length }, () => opened().lookup(name))
    return [...new Set(answers.flatMap((answer) => (answer.ok ? [answer.service.node] : [])))].sort()
  },

  /** Ids of the nodes that offer a service. */
  offers: (name: string): string[] =>
    opened()
      .lookupAll(name)
      .map(({ node }) => node),

  nodes: () => opened().nodes(),

  neighbours: () => transport?.neighbours(),

  /** All that it shows its readers, one line per fact. */
  view: (): string[] => [
    ...opened()
      .nodes()
      .filter(({ status }) => status === 'up')
      .map(({ id, name, incarnation }) => `node ${id} ${name} in its life ${incarnation}`),
    ...opened()
      .services()
      .map(
        ({ id, name, version, node, state, metadata }) =>
          `service ${id} ${name} ${version} of ${node} ${state} ${JSON.stringify(metadata)}`,
      ),
  ],

  /** Ms of CPU that the process has used. */
  cpuMs: (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1_000,

  wallNow: (): number => Date.now(),

  closed: () => opened().closed,

  /** Closes, and closes again. The process must now end by itself; its last line says when. */
  async close() {
    const startedAt = monotonicNow()
    const first = opened().close()
    const same = opened().close() === first
    await first
    const closedAt = monotonicNow()
    await opened().close()
    return { startedAt, closedAt, same, left: await resources() }
  },

  /** Opens and closes at once. */
  async openAndClose(setup: Setup) {
    before = process.getActiveResourcesInfo()
    const node = await openNode(setup, (made) => made)
    standAlone()
    await node.registry.close()
    return { closedAt: monotonicNow(), left: await resources() }
  },

  /** What SIGTERM does from now on. */
  closeOnTerm(): void {
    process.once('SIGTERM', () => void opened().close())
  },

  /** What is offered is drained at SIGTERM, while the last call takes so long. */
  shutDownOnTerm({ graceMs, callMs }: { graceMs: number; callMs: number }): void {
    void opened().shutdown({ signals: ['SIGTERM'], graceMs, settleMs: 100, until: () => setTimeout(callMs) })
  },

  /** Listens for SIGTERM itself, and does nothing about it. */
  listenForTerm(): void {
    process.on('SIGTERM', () => tell('terminated'))
  },

  exit(): void {
    setImmediate(() => process.exit(0))
  },

  /** An error that nobody catches. */
  crash(): void {
    setImmediate(() => {
      throw new Error('crashed on purpose')
    })
  },
}

export type ChildCommands = typeof commands

/**
 * What keeps the process alive that did not before, the pipes to its parent excepted. Node counts what was closed in
 * this turn of the event loop until its end.
 */
async function resources(): Promise<readonly string[]> {
  for (let turns = 0; turns < 3; turns++) await turn()
  const known = [...before]
  return process.getActiveResourcesInfo().filter((each) => {
    if (each === 'PipeWrap') return false
    const at = known.indexOf(each)
    if (at >= 0) known.splice(at, 1)
    return at < 0
  })
}

process.on('exit', () => {
  // Synchronous, for nothing else is written at this time.
  writeSync(1, `exit at ${monotonicNow()}\n`)
})

serve(commands)
