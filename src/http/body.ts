import type { IncomingMessage } from 'node:http'
import { print } from '../tracker/check.ts'
import { hasBody } from './answer.ts'
import { Refusal } from './problem.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the JSON of a request; undefined where it has no body. `willRead` is called when all that is known before the
 * body is in order. What a parser before this one has made of the body (`request.body`, as of Express) is taken as it is.
 *
 * Rejects with `ROLLCALL_HTTP_BODY`: status 415 for another type, charset or encoding, 413 above `maxBytes`, 400 for what is
 * no JSON or breaks off.
 */
export async function readBody(
  request: IncomingMessage & { readonly body?: unknown },
  maxBytes: number,
  willRead: () => void,
): Promise<unknown> {
  if (!hasBody(request)) return undefined
  if (request.readableEnded) return request.body
  checkType(request)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLong(maxBytes)
  willRead()
  return parse(await collect(request, maxBytes))
}

function checkType({ headers }: IncomingMessage): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  if (type.trim() !== 'application/json') {
    throw refusal(415, `The content type is ${print(type)}: must be application/json`)
  }
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=')
    if (name.trim() === 'charset' && !/^"?utf-?8"?$/.test(value.trim())) {
      throw refusal(415, `The charset is ${print(value)}: must be utf-8`)
    }
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') {
    throw refusal(415, `The content encoding is ${print(encoding)}: must be none`)
  }
}

function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const read = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes <= maxBytes) chunks.push(chunk)
      else settle(() => reject(tooLong(maxBytes)))
    }
    const end = (): void => settle(() => resolve(Buffer.concat(chunks)))
    const breakOff = (): void => settle(() => reject(refusal(400, 'The body breaks off')))
    const settle = (say: () => void): void => {
      request.off('data', read).off('end', end).off('error', breakOff)
      say()
    }
    request.on('data', read).on('end', end).on('error', breakOff)
  })
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes))
  } catch {
    throw refusal(400, 'The body is not JSON in UTF-8')
  }
}

const tooLong = (maxBytes: number): Refusal =>
  refusal(413, `The body is longer than ${maxBytes} bytes (see the option maxBodyBytes)`)

const refusal = (status: number, detail: string): Refusal => new Refusal('ROLLCALL_HTTP_BODY', status, detail)
