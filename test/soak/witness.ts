import type { Instance, NodeInfo, Registry } from '../../src/index.ts'
import { tell } from '../processes/served.ts'
import { lineOf, type Told } from './plain.ts'

/** More says nothing new, and would not end. */
const MAX_FAULTS = 20

/**
 * Listens to a registry and notes what a listener may rely on and does not get: per instance up, any changed, down, each
 * once in turn, with the instance as it was told last; nothing of a life that is over; per node up and down, suspected
 * and trusted by turns; and a lookup in a listener that agrees.
 */
export class Witness {
  readonly faults: string[] = []
  readonly events: Record<string, number> = {}
  readonly #registry: Registry
  readonly #shown = new Map<string, string>()
  readonly #up = new Map<string, number>()
  readonly #suspects = new Set<string>()
  /** The last life shown of a node, and whether its goodbye was heard. */
  readonly #lives = new Map<string, { readonly incarnation: number; readonly left: boolean }>()
  #told: Told[] | undefined

  constructor(registry: Registry) {
    this.#registry = registry
    for (const instance of registry.services()) this.#shown.set(instance.id, lineOf(instance))
    for (const { id, status, incarnation } of registry.nodes()) {
      if (status === 'up') this.#up.set(id, incarnation)
    }
    registry.on('service_up', ({ instance }) => this.#instance('up', instance, undefined))
    registry.on('service_changed', ({ instance, previous }) => this.#instance('changed', instance, previous))
    registry.on('service_down', ({ instance }) => this.#instance('down', instance, instance))
    registry.on('service_rejected', ({ message }) => this.fault(`service_rejected: ${message}`))
    const { tracker } = registry
    tracker.on('node_up', (node) => this.#nodeUp(node))
    tracker.on('node_down', (node, reason) => this.#nodeDown(node, reason))
    tracker.on('node_purged', (node) => {
      this.#count('node_purged')
      if (this.#up.has(node.id)) this.fault(`node_purged of ${node.id}, which is up`)
      tell('node_purged', about(node))
    })
    tracker.on('node_suspected', (node, why) => {
      this.#count('node_suspected')
      if (!this.#up.has(node.id)) this.fault(`node_suspected of ${node.id}, which is not up`)
      if (this.#suspects.has(node.id)) this.fault(`node_suspected of ${node.id} twice`)
      this.#suspects.add(node.id)
      tell('node_suspected', { ...about(node), reason: why })
    })
    tracker.on('node_trusted', (node) => {
      this.#count('node_trusted')
      this.#suspects.delete(node.id)
      tell('node_trusted', about(node))
    })
    tracker.on('node_flapping', (node) => {
      this.#count('node_flapping')
      tell('node_flapping', about(node))
    })
    tracker.on('isolated', (silent, known) => {
      this.#count('isolated')
      tell('isolated', { text: `${silent} of ${known}` })
    })
    tracker.on('name_conflict', (older, newer) => {
      this.#count('name_conflict')
      tell('name_conflict', { node: older.id, text: newer.id })
    })
    tracker.on('rejected', (from, code, text) => this.fault(`rejected ${code} from ${from}: ${text}`))
    tracker.on('error', ({ message }) => this.fault(`error: ${message}`))
    tracker.on('problem', (where, { code, message }) => {
      this.#count('problem')
      tell('problem', { node: where, code, text: message })
    })
  }

  /** What must not be has been. */
  fault(text: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(text)
  }

  /** Remembers what is told of instances from now on. */
  record(): void {
    this.#told = []
  }

  /** What was told since `record`, which ends. */
  recorded(): Told[] {
    const told = this.#told ?? []
    this.#told = undefined
    return told
  }

  /** Notes a fault where readers see other instances than they were told of. */
  compare(): void {
    const visible = new Map(this.#registry.services().map((instance) => [instance.id, lineOf(instance)]))
    for (const [id, line] of visible) {
      if (this.#shown.get(id) !== line) this.fault(`visible and not told: ${line}`)
    }
    for (const [id, line] of this.#shown) {
      if (!visible.has(id)) this.fault(`told and not visible: ${line}`)
    }
  }

  #instance(event: Told['event'], instance: Instance, previous: Instance | undefined): void {
    this.#count(`service_${event}`)
    const { id, name } = instance
    const line = lineOf(instance)
    const before = this.#shown.get(id)
    if (before !== (previous === undefined ? undefined : lineOf(previous))) {
      this.fault(`${event} of ${line}, shown until then as ${before ?? 'nothing'}`)
    }
    if (event === 'changed' && line === before) this.fault(`changed, and is the same: ${line}`)
    if (event === 'up') this.#judgeLife(instance)
    if (event === 'down') this.#shown.delete(id)
    else this.#shown.set(id, line)
    const isFound = this.#registry
      .lookupAll(name, undefined, { state: 'any' })
      .some((found) => found.id === id)
    if (isFound !== (event !== 'down')) this.fault(`${event} of ${id}, and a lookup says otherwise`)
    this.#told?.push({ event, id, name })
  }

  #judgeLife({ id, node }: Instance): void {
    const incarnation = Number(id.split('/')[1])
    const last = this.#lives.get(node) ?? { incarnation: 0, left: false }
    if (incarnation < last.incarnation) this.fault(`up of ${id} after a later life (${last.incarnation})`)
    if (incarnation === last.incarnation && last.left) this.fault(`up of ${id}, which had left`)
  }

  #nodeUp(node: NodeInfo): void {
    this.#count('node_up')
    const { id, incarnation } = node
    if (this.#up.has(id)) this.fault(`node_up of ${id}, which is up`)
    const last = this.#lives.get(id)
    if (last !== undefined && incarnation < last.incarnation) {
      this.fault(`node_up of ${id} in life ${incarnation} after life ${last.incarnation}`)
    }
    if (last?.left === true && incarnation === last.incarnation) {
      this.fault(`node_up of ${id} in life ${incarnation}, which had left`)
    }
    this.#up.set(id, incarnation)
    this.#lives.set(id, { incarnation, left: false })
    tell('node_up', about(node))
  }

  #nodeDown(node: NodeInfo, reason: string): void {
    this.#count('node_down')
    const { id, incarnation } = node
    if (!this.#up.delete(id)) this.fault(`node_down of ${id}, which is not up`)
    this.#suspects.delete(id)
    if (reason === 'left') this.#lives.set(id, { incarnation, left: true })
    if (this.#registry.services(id).length > 0) this.fault(`node_down of ${id}, and its services are found`)
    tell('node_down', { ...about(node), reason })
  }

  #count(event: string): void {
    this.events[event] = (this.events[event] ?? 0) + 1
  }
}

const about = ({ id, name, incarnation }: NodeInfo) => ({ node: id, name, incarnation })
