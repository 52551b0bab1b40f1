import type { Schema } from './openapi-types.ts'

export const text: Schema = { type: 'string' }
export const flag: Schema = { type: 'boolean' }
const count: Schema = { type: 'integer', minimum: 0 }
const ms: Schema = { type: 'number', minimum: 0, description: 'Milliseconds.' }

export const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
export const listOf = (items: Schema): Schema => ({ type: 'array', items })
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values })

/** An object that has all of these, unless they are in `optional`. */
export const record = (
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})

const callOptions = { timeoutMs: ms, retry: record({ limit: count, afterMs: ms }) }
const metadata: Schema = { type: 'object', additionalProperties: true }
const amount = record({ messages: count, bytes: count })
const traffic = record({ sent: amount, received: amount })
const sync = record({ begun: count, failed: count, frames: count })
const head = record({ incarnation: count, version: count })
export const state: Schema = oneOf('starting', 'ready', 'unready', 'draining')
const downReason = oneOf('silent', 'refused', 'left', 'replaced')
const suspicion = oneOf('unanswered', 'unreachable')

/** What a client says of a service. */
const spec = {
  name: { ...text, minLength: 1, description: 'At most 256 bytes, without control characters.' },
  version: { ...text, description: 'A semantic version.' },
  address: { ...text, description: 'A URL, or host:port.' },
  functions: mapOf(record(callOptions, ['timeoutMs', 'retry'])),
  ...callOptions,
  metadata,
  zone: text,
  weight: { type: 'number', minimum: 0 },
  state,
  reason: { ...text, description: 'Why it is in that state: at most 64 bytes.' },
  capabilities: mapOf(text),
} as const satisfies Readonly<Record<string, Schema>>

const instance = {
  id: text,
  node: text,
  nodeName: text,
  ...spec,
  functions: mapOf(record(callOptions)),
  state: { ...text, description: 'starting, ready, unready or draining; later versions may have others.' },
  since: { type: 'number', description: 'When it was registered: milliseconds since 1970.' },
} as const satisfies Readonly<Record<string, Schema>>

/** What answers and bodies are made of. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Instance: record(instance, ['address', 'zone', 'reason']),
  Node: record(
    {
      id: text,
      name: text,
      self: flag,
      status: oneOf('up', 'down'),
      reason: downReason,
      incarnation: count,
      addresses: listOf(text),
      zone: text,
      library: text,
      entries: count,
      silentMs: ms,
      suspect: suspicion,
      flapping: flag,
    },
    ['reason', 'zone', 'suspect'],
  ),
  Hit: record({ ok: { const: true }, service: ref('Instance'), stale: flag, degraded: flag }),
  Snapshot: record({
    service: text,
    epoch: text,
    revision: count,
    instances: listOf(ref('Instance')),
    stale: flag,
    degraded: flag,
    reset: flag,
  }),
  Explanation: record(
    {
      instance: ref('Instance'),
      node: text,
      returned: flag,
      reason: oneOf(
        ...['returned', 'stale', 'version', 'function', 'node', 'state', 'capability', 'older', 'weight'],
        ...['outlier', 'zone', 'suspect', 'flapping', 'down', 'invalid'],
      ),
      text,
    },
    ['instance'],
  ),
  Registration: record({ id: text, leaseMs: ms, instance: ref('Instance') }),
  RegistrationBody: {
    ...record(
      { ...spec, leaseMs: { type: 'number', minimum: 1_000, maximum: 86_400_000 } },
      Object.keys(spec).filter((field) => !['name', 'version'].includes(field)),
    ),
    additionalProperties: false,
  },
  RenewalBody: { ...record({ state, reason: text }, ['state', 'reason']), additionalProperties: false },
  DrainBody: {
    ...record({ settleMs: ms, graceMs: ms }, ['settleMs', 'graceMs']),
    additionalProperties: false,
  },
  Problem: record(
    {
      type: { const: 'about:blank' },
      title: text,
      status: { type: 'integer' },
      detail: text,
      code: { ...text, pattern: '^ROLLCALL_' },
    },
    [],
  ),
  Miss: record({
    type: { const: 'about:blank' },
    title: text,
    status: { type: 'integer' },
    detail: text,
    code: oneOf('noservice', 'noversion', 'nofunction', 'noinstance'),
    degraded: flag,
  }),
  Diagnostics: record({
    closed: flag,
    self: record({ id: text, name: text, incarnation: count, version: count, beat: count, entries: count }),
    nodes: listOf(
      record({
        id: text,
        name: text,
        status: oneOf('up', 'down', 'joining'),
        reason: orNull(downReason),
        silentMs: ms,
        head: orNull(head),
        claimed: head,
        behind: flag,
        behindMs: ms,
        neighbour: flag,
        holdsOfUs: orNull(record({ head: orNull(head), agoMs: ms })),
        doubt: orNull(oneOf('unanswered', 'unreachable', 'flapping')),
        probes: orNull(record({ asked: count, unanswered: count, roundTripMs: orNull(ms) })),
      }),
    ),
    traffic: record({ gossip: traffic, sync: traffic }),
    gaps: count,
    syncs: mapOf(sync),
    syncFailures: listOf(record({ peer: text, cause: text, code: text, message: text, agoMs: ms })),
    rejected: mapOf(count),
    lateTicks: record({ lastMs: ms, worstMs: ms, ticks: count }),
    doubts: record({ suspected: count, flapping: count }),
    awareness: count,
    dials: listOf(record({ where: text, failures: count, nextInMs: orNull(ms), lastFailure: orNull(text) })),
    services: record({ offered: count, rejected: count, avoided: count }),
    watches: record({ readers: count, snapshots: count, coalesced: count, lateMs: ms }),
    lookups: mapOf(count),
  }),
}
