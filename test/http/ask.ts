import inject from 'light-my-request'
import { httpHandler } from '../../src/http/index.ts'
import type { HttpHandler, HttpOptions } from '../../src/http/index.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode, SimulatedNetwork } from '../../src/testing/index.ts'
import { checkContract } from './contract.ts'
import type { Answered } from './contract.ts'

interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, or as it is where it is a text or bytes. */
  readonly body?: unknown
  /** Of the client. */
  readonly from?: string
}

export interface Reply extends Answered {
  /** The body, read as JSON. */
  readonly json: unknown
}

/** Asks a handler without a socket: `GET /v1/nodes`. Throws where the answer is not what the document promises. */
export type Ask = (line: string, asking?: Asking) => Promise<Reply>

export const askOf =
  (handler: HttpHandler): Ask =>
  async (line, { headers = {}, body, from = '127.0.0.1' } = {}) => {
    const [, method = '', url = ''] = /^(\S+) (.*)$/.exec(line) ?? []
    const isWritten = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    const payload = isWritten ? body : JSON.stringify(body)
    const {
      statusCode,
      payload: text,
      headers: given,
    } = await inject((request, response) => handler(request, response), {
      method: method as 'GET',
      url,
      headers: { ...(payload !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(payload !== undefined && { payload }),
      remoteAddress: from,
    })
    const answered = {
      status: statusCode,
      text,
      headers: Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)])),
    }
    checkContract(method, url, payload?.toString().replace(/^\ufeff/, '') ?? '', answered)
    return { ...answered, json: text === '' ? undefined : JSON.parse(text) }
  }

export interface Stage {
  readonly ask: Ask
  readonly handler: HttpHandler
  readonly registry: Registry
  readonly node: SimNode
  readonly net: SimulatedNetwork
}

/** One node and its handler, on virtual time. */
export const onNode = (
  scenario: (stage: Stage) => Promise<void> | void,
  options: HttpOptions = {},
): Promise<void> =>
  simulate({ seed: 1 }, async (net) => {
    const [node] = (await cluster(1, { net })) as [SimNode]
    const { registry, clock } = node
    const handler = httpHandler(registry, { clock, ...options })
    await scenario({ ask: askOf(handler), handler, registry, node, net })
    handler.close()
  })

/** The code of a problem. */
export const codeIn = ({ json }: Reply): unknown => (json as { readonly code?: unknown }).code

/** What a problem says. */
export const detailIn = ({ json }: Reply): unknown => (json as { readonly detail?: unknown }).detail

export const bearer = (token: string): { readonly authorization: string } => ({
  authorization: `Bearer ${token}`,
})
