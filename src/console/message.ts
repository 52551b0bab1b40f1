import { StringDecoder } from 'node:string_decoder'
import { isRecord } from '../tracker/check.ts'

/**
 * The wire between a console and a client: each message is one line of JSON with a `kind`, both ways, in UTF-8. The
 * client says `hello` first, then what is typed and how its terminal is resized; the console answers with what is to be
 * shown, and last, if it still can, with `bye`. Line editing is done by the console, so a key is sent as it is typed.
 */
export type ClientMessage =
  | ({ readonly kind: 'hello' } & Face)
  | { readonly kind: 'input'; readonly text: string }
  | ({ readonly kind: 'resize' } & Size)
  /** There is no more input. */
  | { readonly kind: 'end' }

export type ConsoleMessage =
  | { readonly kind: 'output'; readonly text: string }
  /** Nothing follows: who ended the session, and why, in words. */
  | { readonly kind: 'bye'; readonly by: 'user' | 'console'; readonly text: string }

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
type Fields = Readonly<Record<string, 'string' | 'boolean' | 'size'>>
export type Kinds<M extends Message> = Readonly<Record<M['kind'], Fields>>

const SIZE: Fields = { columns: 'size', rows: 'size' }

export const CLIENT_KINDS: Kinds<ClientMessage> = {
  hello: { terminal: 'boolean', colours: 'boolean', ...SIZE },
  input: { text: 'string' },
  resize: SIZE,
  end: {},
}

export const CONSOLE_KINDS: Kinds<ConsoleMessage> = {
  output: { text: 'string' },
  bye: { by: 'string', text: 'string' },
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
    const fits = fields.every(([field, type]) =>
      type === 'size' ? isSize(message[field]) : typeof message[field] === type,
    )
    // Checked just now, which the type system cannot follow from field to field.
    return fits ? (message as unknown as M) : undefined
  }
}

const isSize = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0
