import type { Registry } from '../../src/index.ts'
import { openNode, type Setup } from '../../test/processes/node.ts'
import { monotonicNow, serve, standAlone, tell } from '../../test/processes/served.ts'

// A node of the cluster that faults befall. What it sees it tells at once, at its time: monotonic ms, of one clock for
// all processes.

const SERVICE = 'provided'

/** Lookups that are one look: providers take turns, and there are fewer of them. */
const TURNS = 4

let registry: Registry | undefined
let returned = ''

function opened(): Registry {
  if (registry === undefined) throw new Error('not open')
  return registry
}

/** Tells which nodes lookups return, when that is not what it was. */
function look(): void {
  const found = new Set<string>()
  for (let turn = 0; turn < TURNS; turn++) {
    const answer = opened().lookup(SERVICE)
    found.add(answer.ok ? answer.service.node : answer.error)
  }
  const text = [...found].sort().join(' ')
  if (text === returned) return
  returned = text
  tell('returned', { text })
}

function report({ tracker }: Registry): void {
  opened().on('service_up', look)
  opened().on('service_down', ({ instance: { node }, reason }) => {
    tell('service_down', { node, reason })
    look()
  })
  tracker.on('node_suspected', ({ id }, why) => {
    tell('node_suspected', { node: id, reason: why })
    look()
  })
  tracker.on('node_flapping', look)
  tracker.on('node_trusted', look)
  tracker.on('node_down', ({ id }, reason) => tell('node_down', { node: id, reason }))
  tracker.on('isolated', (silent, known) => tell('isolated', { text: `${silent} of ${known}` }))
  tracker.on('error', ({ code, message }) => tell('error', { code, text: message }))
}

const commands = {
  /** Answers once the code is loaded. */
  loaded: () => true,

  /** Starts a node, and offers the service in the same turn. */
  async open(setup: Setup, does: 'offer' | 'observe') {
    const node = await openNode(setup, (made) => made)
    const listeningAt = monotonicNow()
    registry = node.registry
    if (does === 'offer') registry.register({ name: SERVICE, version: '1.0.0', address: '10.0.0.7:4000' })
    process.once('SIGTERM', () => void opened().close())
    standAlone()
    return { id: registry.tracker.id, address: registry.nodes()[0]?.addresses[0] ?? '', listeningAt }
  },

  /** Tells from now on what comes and goes, and looks besides every so many ms. */
  watch(everyMs: number): void {
    report(opened())
    setInterval(look, everyMs)
    look()
  },

  neighbours: (): readonly string[] =>
    opened()
      .tracker.diagnostics()
      .nodes.filter(({ neighbour }) => neighbour)
      .map(({ id }) => id),
}

export type FaultCommands = typeof commands

serve(commands)
