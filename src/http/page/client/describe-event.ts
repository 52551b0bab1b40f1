import type { Instance } from '../../../registry/types.ts'
import type { NodeInfo } from '../../../tracker/types.ts'
import type { Tone } from './cell.ts'
import { nodeLabel } from './node-name.ts'

/** An event as people read it. */
export interface EventLine {
  readonly name: string
  readonly tone: Tone
  /** Whom it befell. */
  readonly who: string
  readonly what: string
}

/** The fields of all payloads; which are there depends on the event. */
interface Payload {
  readonly instance?: Instance
  readonly previous?: Instance
  readonly node?: NodeInfo
  readonly name?: string
  readonly reason?: string
  readonly why?: string
  readonly silent?: number
  readonly known?: number
}

/** Puts an event of the stream into words. `data` is its payload as JSON; throws for what is none. */
export function describeEvent(name: string, data: string): EventLine {
  const payload = JSON.parse(data) as Payload
  return { name, tone: TONES.get(name) ?? 'mild', who: whoOf(payload), what: whatOf(name, payload) }
}

const TONES: ReadonlyMap<string, Tone> = new Map<string, Tone>([
  ['service_up', 'good'],
  ['service_down', 'bad'],
  ['service_stale', 'bad'],
  ['node_up', 'good'],
  ['node_trusted', 'good'],
  ['node_down', 'bad'],
  ['node_dead', 'bad'],
  ['node_suspected', 'warn'],
  ['node_flapping', 'warn'],
  ['degraded', 'warn'],
  ['isolated', 'warn'],
  ['restored', 'good'],
  ['isolation_ended', 'good'],
])

function whoOf({ instance, node, name }: Payload): string {
  if (instance !== undefined) return `${instance.name} ${instance.version}`
  if (node !== undefined) return nodeLabel(node.id, node.name)
  return name ?? ''
}

function whatOf(name: string, { instance, previous, reason, why, silent, known }: Payload): string {
  if (name === 'reset') return 'some events may be missing before this one'
  if (name === 'service_stale') return 'is answered by what was'
  if (silent !== undefined && known !== undefined) return `${silent} of ${known} nodes are silent`
  const place = instance === undefined ? '' : `on ${nodeLabel(instance.node, instance.nodeName)}`
  if (instance !== undefined && previous !== undefined) return `${place}: ${changes(instance, previous)}`
  const more = reason ?? why ?? (name === 'service_up' ? instance?.state : undefined)
  return [place, more].filter(Boolean).join(', ')
}

/** `state ready → draining, metadata`: short values as they were and are, others by their name alone. */
function changes(now: Instance, before: Instance): string {
  const changed = (Object.keys({ ...before, ...now }) as (keyof Instance)[]).filter(
    (field) => JSON.stringify(now[field]) !== JSON.stringify(before[field]),
  )
  const said = changed.map((field) => {
    const [was, is] = [short(before[field]), short(now[field])]
    return was === undefined || is === undefined ? field : `${field} ${was} → ${is}`
  })
  return said.join(', ')
}

/** Undefined for what takes more than a word or two. */
function short(value: unknown): string | undefined {
  if (value === undefined) return 'none'
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
