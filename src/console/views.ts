import type { Registry, RegistryDiagnostics } from '../registry/registry.ts'
import type { Explanation, Instance, LookupAnswer } from '../registry/types.ts'
import type { Snapshot } from '../registry/watch-types.ts'
import { printable, printTable, shownAs } from './table.ts'
import type { Columns } from './table.ts'
import { inspect } from 'node:util'

type Node = ReturnType<Registry['nodes']>[number]

const SERVICE: Columns<Instance> = {
  name: ({ name }) => name,
  version: ({ version }) => version,
  node: ({ node, nodeName }) => nodeName || node,
  address: ({ address = '' }) => address,
  state: ({ state }) => state,
  since: ({ since }) => printTime(since),
}

const NODE: Columns<Node> = {
  name: ({ name }) => name,
  node: ({ id }) => id,
  status: ({ self, status, reason }) =>
    self ? 'here' : reason === undefined ? status : `${status} (${reason})`,
  doubt: ({ suspect, flapping }) => suspect ?? (flapping ? 'flapping' : ''),
  zone: ({ zone = '' }) => zone,
  address: ({ addresses: [first = ''] }) => first,
  entries: ({ entries }) => String(entries),
  silent: ({ silentMs }) => `${(silentMs / 1_000).toFixed(1)} s`,
}

const EXPLANATION: Columns<Explanation> = {
  returned: ({ returned }) => (returned ? 'yes' : 'no'),
  reason: ({ reason }) => reason,
  text: ({ text }) => text,
}

export const printServices = (instances: readonly Instance[], width: number): string =>
  instances.length === 0 ? '(no services)' : printTable(instances, SERVICE, width)

export const printNodes = (nodes: readonly Node[], width: number): string => printTable(nodes, NODE, width)

export const printExplanations = (list: readonly Explanation[], width: number): string =>
  list.length === 0 ? '(no instances)' : printTable(list, EXPLANATION, width)

export const printAnswer = (answer: LookupAnswer, width: number): string =>
  (answer.ok ? printTable([answer.service], SERVICE, width) : `(${answer.error})`) +
  printMarks(answer.ok && answer.stale, answer.degraded)

/** Instances as data that a console shows as a table of this width. */
export const viewServices = (instances: readonly Instance[], width: number): readonly Instance[] =>
  shownAs(instances, () => printServices(instances, width))

export const viewNodes = (nodes: readonly Node[], width: number): readonly Node[] =>
  shownAs(nodes, () => printNodes(nodes, width))

export const viewExplanations = (list: readonly Explanation[], width: number): readonly Explanation[] =>
  shownAs(list, () => printExplanations(list, width))

export const viewAnswer = (answer: LookupAnswer, width: number): LookupAnswer =>
  shownAs(answer, () => printAnswer(answer, width))

export const viewDiagnostics = (diagnostics: RegistryDiagnostics): RegistryDiagnostics =>
  shownAs(diagnostics, () => inspect(diagnostics, { depth: null }))

/** A snapshot on one line. */
export function printSnapshot({ service, revision, instances, stale, degraded }: Snapshot): string {
  const each = instances.map(({ version, node, nodeName }) => `${version} on ${nodeName || node}`)
  return printable(
    `${service} at revision ${revision}: ${each.join(', ') || 'nobody'}${printMarks(stale, degraded)}`,
  )
}

const printMarks = (stale: boolean, degraded: boolean): string =>
  (stale ? ' (stale)' : '') + (degraded ? ' (degraded)' : '')

/** The last moment that a date can be, ms since the epoch. */
const MAX_TIME_MS = 8.64e15

/** `2026-01-31 13:05:00Z`; nothing for a time that is not known. What peers send may be any number. */
export const printTime = (ms: number): string =>
  ms > 0 && ms <= MAX_TIME_MS ? new Date(ms).toISOString().replace('T', ' ').replace(/\.\d+/, '') : ''
