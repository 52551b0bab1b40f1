import { createHash } from 'node:crypto'
import type * as Crypto from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import type { HttpOptions } from '../../src/http/index.ts'
import { bearer, codeIn, onNode } from './ask.ts'

const SERVICE = { name: 'S', version: '1.0.0', leaseMs: 10_000 }
const READS = [
  '/v1/services',
  '/v1/services/S',
  '/v1/lookup/S',
  '/v1/explain/S',
  '/v1/nodes',
  '/v1/diagnostics',
]
const WRITES = [
  'PUT /v1/registrations/a',
  'POST /v1/registrations/a/renew',
  'POST /v1/registrations/a/drain',
  'DELETE /v1/registrations/a',
]

const both = { token: 'write-me', readToken: 'read-me' }

/** The status of one request, and the code where it is refused. */
const outcome = async (line: string, options: HttpOptions, headers = {}): Promise<unknown> => {
  let seen: unknown
  await onNode(async ({ ask, registry }) => {
    registry.register({ name: 'S', version: '1.0.0' })
    const reply = await ask(line, { headers, ...(line.startsWith('PUT') && { body: SERVICE }) })
    seen = reply.status < 400 ? reply.status : [reply.status, codeIn(reply)]
  }, options)
  return seen
}

const UNAUTHORIZED = [401, 'ROLLCALL_HTTP_UNAUTHORIZED']
const FORBIDDEN = [403, 'ROLLCALL_HTTP_FORBIDDEN']

describe('without a token', () => {
  test.each(WRITES)('nobody writes, whatever they bring: %s', async (line) => {
    expect(await outcome(line, {})).toEqual(FORBIDDEN)
    expect(await outcome(line, {}, bearer(''))).toEqual(FORBIDDEN)
    expect(await outcome(line, {}, bearer('undefined'))).toEqual(FORBIDDEN)
    expect(await outcome(line, { readToken: 'read-me' }, bearer('read-me'))).toEqual(FORBIDDEN)
  })

  test.each(READS)('everybody reads: %s', async (path) => {
    expect(await outcome(`GET ${path}`, {})).toBe(200)
    expect(await outcome(`GET ${path}`, { token: 'write-me' })).toBe(200)
    expect(await outcome(`GET ${path}`, { token: 'write-me' }, bearer('nonsense'))).toBe(200)
  })
})

describe('with tokens', () => {
  test.each(WRITES)('writes need the one for writing: %s', async (line) => {
    const done = line.startsWith('PUT') ? 201 : [404, 'ROLLCALL_HTTP_NOT_FOUND']
    expect(await outcome(line, both, bearer('write-me'))).toEqual(done)
    expect(await outcome(line, both)).toEqual(UNAUTHORIZED)
    expect(await outcome(line, both, bearer('write-m'))).toEqual(UNAUTHORIZED)
    expect(await outcome(line, both, bearer('write-mee'))).toEqual(UNAUTHORIZED)
    expect(await outcome(line, both, bearer('Write-me'))).toEqual(UNAUTHORIZED)
    expect(await outcome(line, both, bearer('read-me'))).toEqual(FORBIDDEN)
  })

  test.each([...READS, '/v1/registrations'])('reads need either: %s', async (path) => {
    expect(await outcome(`GET ${path}`, both, bearer('read-me'))).toBe(200)
    expect(await outcome(`GET ${path}`, both, bearer('write-me'))).toBe(200)
    expect(await outcome(`GET ${path}`, both)).toEqual(UNAUTHORIZED)
    expect(await outcome(`GET ${path}`, both, bearer('nonsense'))).toEqual(UNAUTHORIZED)
  })

  test.each(['/healthz', '/readyz', '/openapi.json'])('%s needs none', async (path) => {
    expect(await outcome(`GET ${path}`, both)).toBe(200)
  })

  test.each([
    ['bearer write-me', 404],
    ['BEARER  write-me ', 404],
    ['Bearer write-me, Bearer other', 401],
    ['Basic write-me', 401],
    ['write-me', 401],
    ['Bearer', 401],
    ['Bearer write me', 401],
    ['Bearer write-me too', 401],
    ['Bearer wr\u00efte-me', 401],
  ])('the header %s', async (authorization, status) => {
    await onNode(async ({ ask }) => {
      const reply = await ask('DELETE /v1/registrations/a', { headers: { authorization } })
      expect(reply.status).toBe(status)
      if (status === 401) expect(reply.headers['www-authenticate']).toBe('Bearer realm="rollcall"')
    }, both)
  })
})

const compared = vi.hoisted(() => [] as string[][])
vi.mock('node:crypto', async (original) => {
  const real = await original<typeof Crypto>()
  return {
    ...real,
    timingSafeEqual: (a: Buffer, b: Buffer) => {
      compared.push([a.toString('hex'), b.toString('hex')])
      return real.timingSafeEqual(a, b)
    },
  }
})

test('tokens are compared in constant time, by digests of one length', async () => {
  compared.length = 0
  expect(await outcome('GET /v1/nodes', both, bearer('nonsense'))).toEqual(UNAUTHORIZED)
  const digest = (token: string): string => createHash('sha256').update(token).digest('hex')
  expect(compared).toEqual([
    [digest('nonsense'), digest('write-me')],
    [digest('nonsense'), digest('read-me')],
  ])
})
