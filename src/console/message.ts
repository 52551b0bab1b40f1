import { StringDecoder } from 'node:string_decoder'
import { isRecord } from '../tracker/check.ts'

/**
 * The wire between a console and a client: each message is one line of JSON with a `kind`, both ways, in UTF-8.
 *
 * For a session with a person the client says `hello` first, then what is typed and how its terminal is resized; the
 * console answers with what is to be shown, and last, if it still can, with `bye`. Line editing is done by the console,
 * so a key is sent as it is typed.
 *
 * For one command the client says `call` and nothing else; the console answers with an `item` per value, and last with
 * `done` or `failure`; with `bye` where it closes before. Nothing is evaluated.
 */
export type ClientMessage =
  | ({ readonly kind: 'hello' } & Face)
  | { readonly kind: 'input'; readonly text: string }
  | ({ readonly kind: 'resize' } & Size)
  /** There is no more input. */
  | { readonly kind: 'end' }
  | ({ readonly kind: 'call' } & Call)

export type ConsoleMessage =
  | { readonly kind: 'output'; readonly text: string }
  /** Nothing follows: who ended the session, and why, in words. */
  | { readonly kind: 'bye'; readonly by: 'user' | 'console'; readonly text: string }
  | { readonly kind: 'item'; readonly value: unknown }
  /** All has been said. */
  | { readonly kind: 'done' }
  /** Nothing follows. The code is that of a `RollcallError`, or of a later version. */
  | { readonly kind: 'failure'; readonly code: string; readonly message: string }

/** A command to run, and what it is told. Who runs it checks both. */
export interface Call {
  readonly command: string
  readonly args: Readonly<Record<string, unknown>>
}

/** What a console says in its `bye` to whoever sends what it cannot read: an older one does so to a `call`. */
export const OTHER_PROTOCOL = 'the client speaks another protocol'

/** Of a terminal, in characters. */
export interface Size {
  readonly columns: number
  readonly rows: number
}

/** What a client can show. */
export interface Face extends Size {
  /** Whether a person sits at a terminal; else plain text is read and written. */
  readonly terminal: boolean
  readonly colours: boolean
}

type Message = ClientMessage | ConsoleMessage
type Fields = Readonly<Record<string, 'string' | 'boolean' | 'size' | 'record' | 'any'>>
export type Kinds<M extends Message> = Readonly<Record<M['kind'], Fields>>

const SIZE: Fields = { columns: 'size', rows: 'size' }

export const CLIENT_KINDS: Kinds<ClientMessage> = {
  hello: { terminal: 'boolean', colours: 'boolean', ...SIZE },
  input: { text: 'string' },
  resize: SIZE,
  end: {},
  call: { command: 'string', args: 'record' },
}

export const CONSOLE_KINDS: Kinds<ConsoleMessage> = {
  output: { text: 'string' },
  bye: { by: 'string', text: 'string' },
  item: { value: 'any' },
  done: {},
  failure: { code: 'string', message: 'string' },
}

/** Longer lines come from no client of this package. In UTF-16 units. */
export const MAX_LINE_LENGTH = 8 * 1024 * 1024

export const encodeMessage = (message: Message): string => `${JSON.stringify(message)}\n`

/** Puts messages together from the chunks they come in. */
export class MessageReader<M extends Message> {
  readonly #kinds: Kinds<M>
  readonly #decoder = new StringDecoder()
  #rest = ''

  constructor(kinds: Kinds<M>) {
    this.#kinds = kinds
  }

  /** The messages that this chunk completes; undefined once it holds what is none. */
  read(chunk: Buffer): M[] | undefined {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n')
    this.#rest = lines.pop() ?? ''
    const messages = lines.map((line) => this.#parse(line))
    if (this.#rest.length > MAX_LINE_LENGTH) return undefined
    return messages.every((message) => message !== undefined) ? messages : undefined
  }

  #parse(line: string): M | undefined {
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      return undefined
    }
    if (!isRecord(message) || typeof message['kind'] !== 'string') return undefined
    if (!Object.hasOwn(this.#kinds, message['kind'])) return undefined
    const fields = Object.entries<string>(this.#kinds[message['kind'] as M['kind']])
    const fits = fields.every(([field, type]) => isOf(type, message[field]))
    // Checked just now, which the type system cannot follow from field to field.
    return fits ? (message as unknown as M) : undefined
  }
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'any') return value !== undefined
  if (type === 'record') return isRecord(value)
  if (type === 'size') return Number.isInteger(value) && Number(value) > 0
  return typeof value === type
}
