import type { LiveEvent } from '../console/live-events.ts'
import { printable } from '../console/table.ts'
import { printTime } from '../console/views.ts'
import { isRecord } from '../tracker/check.ts'

type Data = Readonly<Record<string, unknown>>

const GREEN = 32
const YELLOW = 33
const RED = 31

const COLOURS: Readonly<Record<string, number>> = {
  service_up: GREEN,
  node_up: GREEN,
  node_trusted: GREEN,
  restored: GREEN,
  isolation_ended: GREEN,
  service_down: RED,
  node_down: RED,
  node_dead: RED,
  degraded: RED,
  isolated: RED,
}

/** The longest name of an event, so that what follows stands in one column. */
const NAME_WIDTH = 'service_rejected'.length

/** An event on one line: when, what, and of whom. One of a later version is shown by what its payload holds. */
export function printEvent({ event, at, data }: LiveEvent, colours: boolean): string {
  const name = printable(event).padEnd(NAME_WIDTH)
  const shown = colours
    ? `\x1b[${Object.hasOwn(COLOURS, event) ? COLOURS[event] : YELLOW}m${name}\x1b[39m`
    : name
  const text = Object.entries(data)
    .map(([field, value]) => printField(field, value))
    .filter((part) => part !== '')
  return `${printTime(at)}  ${shown}  ${printable(text.join(', '))}`
}

function printField(field: string, value: unknown): string {
  if (!isRecord(value)) return typeof value === 'string' ? value : `${field} ${JSON.stringify(value)}`
  switch (field) {
    case 'instance':
      return printInstance(value)
    case 'previous':
      return `was ${text(value, 'state')}`
    case 'node':
    case 'older':
    case 'newer':
      return `${text(value, 'name')} (${text(value, 'id')})`
    case 'error':
      return `${text(value, 'message')} (${text(value, 'code')})`
    default:
      return `${field} ${JSON.stringify(value)}`
  }
}

const printInstance = (instance: Data): string =>
  `${text(instance, 'name')} ${text(instance, 'version')} on ${text(instance, 'nodeName') || text(instance, 'node')}, ${text(instance, 'state')}`

function text(data: Data, field: string): string {
  const value = data[field]
  return typeof value === 'string' ? value : ''
}
