import type { Explanation, Instance } from '../../../registry/types.ts'
import type { NodeInfo } from '../../../tracker/types.ts'
import { ReadError } from './read-error.ts'

/** After which a read is given up. */
const READ_TIMEOUT_MS = 10_000

export interface ServicesAnswer {
  readonly node: { readonly id: string; readonly name: string }
  readonly degraded: boolean
  readonly services: readonly Instance[]
}

/** Reads from the server that the page came from. Rejects with `ReadError`, or as `fetch`. */
export class Api {
  readonly #token: () => string | undefined

  constructor(token: () => string | undefined) {
    this.#token = token
  }

  services(): Promise<ServicesAnswer> {
    return this.#read('services')
  }

  async nodes(): Promise<readonly NodeInfo[]> {
    return (await this.#read<{ readonly nodes: readonly NodeInfo[] }>('nodes')).nodes
  }

  /** Why each instance of a service would or would not be returned; `query` as of a lookup. */
  async explain(name: string, query: Readonly<Record<string, string>>): Promise<readonly Explanation[]> {
    const search = new URLSearchParams(query).toString()
    const path = `explain/${pathSegment(name)}${search && `?${search}`}`
    return (await this.#read<{ readonly explanations: readonly Explanation[] }>(path)).explanations
  }

  /** The stream of events after the one with this id; '' for from now on. */
  async events(lastId: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) }
    const { body } = await this.#ask('events', headers, signal)
    if (body === null) throw new ReadError(200, 'the stream of events has no body')
    return body
  }

  async #read<Answer>(path: string): Promise<Answer> {
    const signal = AbortSignal.timeout(READ_TIMEOUT_MS)
    const response = await this.#ask(path, { accept: 'application/json' }, signal)
    return (await response.json()) as Answer
  }

  async #ask(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const token = this.#token()
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`v1/${path}`, {
      headers: { ...headers, ...authorization },
      cache: 'no-store',
      signal,
    })
    if (!response.ok) throw await readError(response)
    return response
  }
}

/** What the server says is wrong, or at least the status. */
async function readError(response: Response): Promise<ReadError> {
  const problem = (await response.json().catch(() => ({}))) as { readonly detail?: unknown }
  const { status } = response
  return new ReadError(
    status,
    typeof problem.detail === 'string' ? problem.detail : `the server answered ${status}`,
  )
}

/** A URL cannot carry `.` and `..` as segments: it takes them, encoded or not, for steps. */
function pathSegment(name: string): string {
  if (name === '.' || name === '..') throw new ReadError(0, `a browser cannot ask for the name ${name}`)
  return encodeURIComponent(name)
}
