import { STATUS_CODES } from 'node:http'
import { RollcallError } from '../errors.ts'
import type { RollcallErrorCode } from '../errors.ts'
import type { Answer } from './answer.ts'

type Headers = Readonly<Record<string, string>>

/** A request that is not met, for a reason that only HTTP knows. Never leaves the face. */
export class Refusal extends RollcallError {
  readonly status: number
  readonly headers: Headers

  constructor(code: RollcallErrorCode, status: number, detail: string, headers: Headers = {}) {
    super(code, detail)
    this.status = status
    this.headers = headers
  }
}

/** Of codes that the registry throws, the caller's fault unless it says otherwise. */
const STATUSES: Partial<Record<RollcallErrorCode, number>> = {
  ROLLCALL_CLOSED: 503,
  ROLLCALL_HTTP_BUSY: 503,
  ROLLCALL_HTTP_FAILED: 500,
}

/** An error as RFC 9457 has it. Of one that is not of this package nothing is told. */
export function problemOf(error: unknown): Answer {
  if (!(error instanceof RollcallError)) return problemOf(new RollcallError('ROLLCALL_HTTP_FAILED'))
  const { code, message } = error
  return error instanceof Refusal
    ? problem(error.status, code, message, {}, error.headers)
    : problem(STATUSES[code] ?? 400, code, message)
}

/** An answer that says why there is no other. `more`: further fields for programs. */
export function problem(
  status: number,
  code: string,
  detail: string,
  more: Readonly<Record<string, unknown>> = {},
  headers: Headers = {},
): Answer {
  const title = STATUS_CODES[status] ?? ''
  return {
    status,
    type: 'application/problem+json',
    text: JSON.stringify({ type: 'about:blank', title, status, detail, code, ...more }),
    headers,
  }
}
