import type { IncomingMessage } from 'node:http'

/** A place in what a stream tells. */
export interface EventId {
  /** The life in which it is counted. */
  readonly epoch: string
  readonly number: number
}

/** Of an epoch that nothing has, so that nobody can go on from there. */
const NOWHERE: EventId = Object.freeze({ epoch: '', number: 0 })

/** Whole numbers without a sign or zeros in front, as they are written. */
const FORM = /^(.+):(0|[1-9]\d{0,15})$/u

/** `epoch:number`, on one line: an epoch is made of node ids and numbers, which have no control characters. */
export const writeEventId = ({ epoch, number }: EventId): string => `${epoch}:${number}`

/** Reads what `writeEventId` wrote. Any other text is a place that nobody can go on from. */
export function readEventId(text: string): EventId {
  const [, epoch, digits] = FORM.exec(text) ?? []
  const number = Number(digits)
  return epoch !== undefined && Number.isSafeInteger(number) ? { epoch, number } : NOWHERE
}

/**
 * The event that a reader saw last, as it says in the header `Last-Event-ID`, or else in the parameter `lastEventId`: an
 * `EventSource` sends the first request without the header, and every later one with both. Undefined: it begins.
 */
export function lastEventId({
  headers,
  url = '',
}: Pick<IncomingMessage, 'headers' | 'url'>): EventId | undefined {
  const header = headers['last-event-id']
  // Headers arrive as Latin-1, and this one is sent as UTF-8.
  const said = header === undefined ? '' : Buffer.from(String(header), 'latin1').toString()
  const text = said || new URLSearchParams(/\?.*/.exec(url)?.[0]).get('lastEventId')
  return text ? readEventId(text) : undefined
}
