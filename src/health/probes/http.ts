import { argumentError, checkKeys, isRecord } from '../../tracker/check.ts'
import type { Check } from '../types.ts'

export interface HttpProbeOptions {
  /** The status, or any of those, that passes. Default: any from 200 to 299. A redirect is not followed. */
  readonly expectStatus?: number | readonly number[] | undefined
  /**
   * What the answer must carry, so that a stranger who has taken over the address does not count. `value` is chosen
   * by the instance and differs from one life to the next. Default header `x-rollcall-instance`.
   */
  readonly instanceId?: { readonly header?: string | undefined; readonly value: string } | undefined
  /** Default `GET`. */
  readonly method?: 'GET' | 'HEAD' | undefined
  /** Sent with the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const DEFAULT_HEADER = 'x-rollcall-instance'

/** A check that passes when `url` answers a request as expected. Throws `ROLLCALL_INVALID_ARGUMENT`. */
export function httpProbe(url: string | URL, options: HttpProbeOptions = {}): Check {
  const target = readUrl(url)
  checkKeys('The options', options, ['expectStatus', 'instanceId', 'method', 'headers'])
  const { expectStatus, instanceId, method = 'GET' } = options
  const expected = readStatuses(expectStatus)
  const identity = instanceId === undefined ? undefined : readIdentity(instanceId)
  if (!['GET', 'HEAD'].includes(method))
    throw argumentError('The option method', method, 'must be GET or HEAD')
  const headers = readHeaders(options.headers)

  return async (signal) => {
    const response = await fetch(target, { method, headers, signal, redirect: 'manual' })
    // Unread, it would hold the connection.
    await response.body?.cancel()
    if (!(expected?.includes(response.status) ?? response.ok)) {
      throw new Error(`answered with status ${response.status}`)
    }
    if (identity === undefined) return
    const found = response.headers.get(identity.header)
    if (found === null) throw new Error(`answered without ${identity.header}`)
    if (found !== identity.value) throw new Error(`answered by another instance: ${JSON.stringify(found)}`)
  }
}

function readUrl(url: string | URL): URL {
  const rule = 'must be an http or https URL without a user'
  if (!URL.canParse(String(url))) throw argumentError('The url', url, rule)
  const target = new URL(url)
  if (!/^https?:$/.test(target.protocol) || target.username !== '' || target.password !== '') {
    throw argumentError('The url', url, rule)
  }
  return target
}

function readStatuses(expectStatus: HttpProbeOptions['expectStatus']): readonly number[] | undefined {
  if (expectStatus === undefined) return undefined
  const statuses = [expectStatus].flat()
  if (statuses.length === 0 || !statuses.every(isStatus)) {
    throw argumentError('The option expectStatus', expectStatus, 'must be a status from 200 to 599, or some')
  }
  return statuses
}

const isStatus = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599

function readIdentity(instanceId: NonNullable<HttpProbeOptions['instanceId']>): {
  readonly header: string
  readonly value: string
} {
  checkKeys('The option instanceId', instanceId, ['header', 'value'])
  const { header = DEFAULT_HEADER, value } = instanceId
  if (toHeaders({ [header]: 'x' }) === undefined) {
    throw argumentError('The option instanceId.header', header, 'must be the name of a header')
  }
  // A header loses the space around its value, which would then never be found.
  if (typeof value !== 'string' || value === '' || toHeaders({ [header]: value })?.get(header) !== value) {
    throw argumentError(
      'The option instanceId.value',
      value,
      'must be a string that a header carries unchanged',
    )
  }
  return { header, value }
}

function readHeaders(given: HttpProbeOptions['headers'] = {}): Headers {
  const headers = isRecord(given) ? toHeaders(given) : undefined
  if (headers === undefined)
    throw argumentError('The option headers', given, 'must be names and values of headers')
  return headers
}

function toHeaders(entries: Readonly<Record<string, string>>): Headers | undefined {
  try {
    return new Headers(entries)
  } catch {
    return undefined
  }
}
