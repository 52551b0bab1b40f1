import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../tracker/ports.ts'

/** What a request is answered with. */
export interface Answer {
  readonly status: number
  /** Media type of the text. */
  readonly type?: string | undefined
  readonly text: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** How long a client may go on sending what nobody reads, before it is cut off with the answer on its way. */
const LINGER_MS = 1_000

/** No answer is kept by anyone, taken for another type, or told to others where a link leads. */
export const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
} as const

export const json = (value: unknown, status = 200): Answer => ({
  status,
  type: 'application/json',
  text: JSON.stringify(value),
})

export const NOTHING: Answer = { status: 204, text: '' }

/** Sends an answer, and nothing where the client is gone. */
export function send(request: IncomingMessage, response: ServerResponse, answer: Answer, clock: Clock): void {
  if (response.destroyed || response.headersSent) return
  const { status, type, text, headers } = answer
  const unread = hasBody(request) && !request.complete && !request.readableEnded
  response.writeHead(status, {
    ...COMMON_HEADERS,
    ...(type === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }),
    ...(unread ? { Connection: 'close' } : {}),
    ...headers,
  })
  if (unread) linger(request, response, text, clock)
  else response.end(text)
}

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * A connection that is closed while its client still sends may lose the answer on the way: so what comes is let pass for a while,
 * and the connection ends after it.
 */
function linger(request: IncomingMessage, response: ServerResponse, text: string, clock: Clock): void {
  const end = (): void => {
    timer.cancel()
    request.off('end', end).off('close', end)
    response.end()
  }
  const timer = clock.setTimer(end, LINGER_MS)
  if (text !== '') response.write(text)
  request.on('end', end).on('close', end).resume()
}
