import { createHash, timingSafeEqual } from 'node:crypto'
import { Refusal } from './problem.ts'

/** `open`: whoever asks. */
export type Access = 'open' | 'read' | 'write'

export interface Tokens {
  readonly token: string | undefined
  readonly readToken: string | undefined
}

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="rollcall"' }

/** Says who may read and write, by bearer tokens (RFC 6750). */
export class Auth {
  readonly #write: Buffer | undefined
  readonly #read: Buffer | undefined

  constructor({ token, readToken }: Tokens) {
    this.#write = token === undefined ? undefined : digest(token)
    this.#read = readToken === undefined ? undefined : digest(readToken)
  }

  /** Throws `ROLLCALL_HTTP_UNAUTHORIZED` and `ROLLCALL_HTTP_FORBIDDEN`. `header`: the value of `Authorization`. */
  check(access: Access, header: string | undefined): void {
    if (access === 'open' || (access === 'read' && this.#read === undefined)) return
    if (access === 'write' && this.#write === undefined) {
      throw new Refusal('ROLLCALL_HTTP_FORBIDDEN', 403, 'Nobody may write here: no token is set')
    }
    const given = bearerOf(header)
    if (given === undefined) throw unauthorized('A bearer token is needed')
    // Both are always compared: how long it takes says nothing of which was nearly right.
    const mayWrite = isSame(given, this.#write)
    const mayRead = isSame(given, this.#read)
    if (mayWrite || (access === 'read' && mayRead)) return
    if (mayRead) throw new Refusal('ROLLCALL_HTTP_FORBIDDEN', 403, 'This token may read, and not write')
    throw unauthorized('The bearer token is wrong')
  }
}

const unauthorized = (detail: string): Refusal =>
  new Refusal('ROLLCALL_HTTP_UNAUTHORIZED', 401, detail, CHALLENGE)

function bearerOf(header: string | undefined): Buffer | undefined {
  const token = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1]
  return token === undefined ? undefined : digest(token)
}

/** Of one length whatever the token's, so that comparing takes one time. */
const digest = (token: string): Buffer => createHash('sha256').update(token).digest()

const isSame = (given: Buffer, expected: Buffer | undefined): boolean =>
  expected !== undefined && timingSafeEqual(given, expected)
