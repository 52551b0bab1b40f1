import type { IncomingMessage } from 'node:http'

/** What a request is answered with. */
export interface Answer {
  readonly status: number
  /** Media type of the text. */
  readonly type?: string | undefined
  readonly text: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

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

/** Done, and there is nothing to say. */
export const NOTHING: Answer = { status: 204, text: '' }

/** Whether a body comes with a request. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
