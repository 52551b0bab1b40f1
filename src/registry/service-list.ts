import type { Instance } from './types.ts'
import { compareVersions } from './version.ts'

/** What `util.inspect`, and so `console.log`, asks an object for. Named here so that no Node module is needed. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

const COLUMNS = ['name', 'version', 'state', 'node', 'address', 'zone'] as const

/**
 * Instances by name, then the highest version first, then by node. An ordinary frozen array, except that
 * `console.log` shows it as a table.
 */
export function serviceList(instances: readonly Instance[]): readonly Instance[] {
  const list = instances.toSorted(
    (a, b) =>
      compare(a.name, b.name) ||
      compareVersions(b.version, a.version) ||
      compare(a.nodeName, b.nodeName) ||
      compare(a.id, b.id),
  )
  Object.defineProperty(list, INSPECT, { value: () => printServices(list) })
  return Object.freeze(list)
}

/** A table in plain text, one line per instance. */
function printServices(instances: readonly Instance[]): string {
  if (instances.length === 0) return '(no services)'
  const rows = instances.map(({ name, version, state, node, nodeName, address = '', zone = '' }) => ({
    name,
    version,
    state,
    node: nodeName || node,
    address,
    zone,
  }))
  const columns = COLUMNS.filter((column) => rows.some((row) => row[column] !== ''))
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column].length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(columns), ...rows.map((row) => line(columns.map((column) => row[column])))].join('\n')
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
