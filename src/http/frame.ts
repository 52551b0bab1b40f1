import { writeEventId } from './event-id.ts'
import type { EventId } from './event-id.ts'

/** How much is handed to a connection at a time; the rest waits where readers share it. Node's own measure. */
export const PIECE_BYTES = 16_384

/** One server-sent event. JSON escapes line ends, so that the data is one line, whatever is in it. */
export const frame = (event: string, id: EventId, data: object): Buffer =>
  Buffer.from(`event: ${event}\nid: ${writeEventId(id)}\ndata: ${JSON.stringify(data)}\n\n`)
