import { describe, expect, test } from 'vitest'
import { bearer, codeIn, detailIn, onNode } from './ask.ts'
import type { Reply } from './ask.ts'

const MAIL = JSON.stringify({ name: 'Mail', version: '1.0.0', leaseMs: 10_000 })

/** What a PUT of this is answered. */
async function put(body: string | Buffer, headers: object = {}, maxBodyBytes = 65_536): Promise<Reply> {
  let reply: Reply | undefined
  await onNode(
    async ({ ask }) => {
      reply = await ask('PUT /v1/registrations/mail', { body, headers: { ...bearer('t'), ...headers } })
    },
    { token: 't', maxBodyBytes },
  )
  if (reply === undefined) throw new Error('no reply')
  return reply
}

describe('the type of a body', () => {
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; charset=utf8',
    'application/json; profile=x',
  ])('may be %s', async (type) => {
    expect((await put(MAIL, { 'content-type': type })).status).toBe(201)
  })

  test.each([
    ['', 'The content type is "": must be application/json'],
    ['text/plain', 'The content type is "text/plain": must be application/json'],
    ['application/jsonx', 'The content type is "application/jsonx": must be application/json'],
    ['application/x-www-form-urlencoded', /must be application\/json$/],
    ['application/json; charset=latin1', 'The charset is "latin1": must be utf-8'],
    ['application/json; charset=utf-16', 'The charset is "utf-16": must be utf-8'],
    ['application/json; charset', 'The charset is "": must be utf-8'],
  ])('may not be %s', async (type, detail) => {
    const reply = await put(MAIL, { 'content-type': type })
    expect([reply.status, codeIn(reply)]).toEqual([415, 'ROLLCALL_HTTP_BODY'])
    expect(detailIn(reply)).toMatch(detail)
  })

  test('is that of a text that is not encoded', async () => {
    const reply = await put(MAIL, { 'content-encoding': 'gzip' })
    expect([reply.status, detailIn(reply)]).toEqual([415, 'The content encoding is "gzip": must be none'])
    expect((await put(MAIL, { 'content-encoding': 'identity' })).status).toBe(201)
  })
})

describe('what a body is', () => {
  test.each(['{', '{"a":1}x', "{'a':1}", '{"a":NaN}', 'undefined'])('not %s', async (body) => {
    const reply = await put(body)
    expect([reply.status, codeIn(reply), detailIn(reply)]).toEqual([
      400,
      'ROLLCALL_HTTP_BODY',
      'The body is not JSON in UTF-8',
    ])
  })

  test.each(['[', '{"a":', '{"metadata":{"a":'])(
    '%s nested to the limit of its length is refused, and harmless',
    async (open) => {
      const depth = Math.floor(60_000 / (open.length + 1))
      const close = open.startsWith('[') ? ']' : open.includes('metadata') ? '}}' : '}'
      const broken = await put(open.repeat(depth))
      expect(broken.status).toBe(400)
      const whole = await put(`${open.repeat(depth / 2)}1${close.repeat(depth / 2)}`)
      expect(whole.status).toBe(400)
    },
  )

  test('nested metadata is refused by its limit', async () => {
    const metadata = `${'['.repeat(100)}${']'.repeat(100)}`
    const reply = await put(MAIL.replace('}', `,"metadata":{"a":${metadata}}}`))
    expect([reply.status, codeIn(reply)]).toEqual([400, 'ROLLCALL_LIMIT_EXCEEDED'])
  })

  test('not what is no UTF-8', async () => {
    const reply = await put(Buffer.from(MAIL.replace('Mail', 'M\u00e9l'), 'latin1'))
    expect([reply.status, codeIn(reply)]).toEqual([400, 'ROLLCALL_HTTP_BODY'])
    expect((await put(MAIL.replace('Mail', 'M\u00e9l'))).json).toMatchObject({
      instance: { name: 'M\u00e9l' },
    })
  })

  test('a mark of the byte order before it is nothing', async () => {
    expect((await put(`\ufeff${MAIL}`)).status).toBe(201)
  })

  test('as long as the limit, to the byte', async () => {
    const bytes = Buffer.byteLength(MAIL)
    expect((await put(MAIL, {}, bytes)).status).toBe(201)
    const reply = await put(MAIL, {}, bytes - 1)
    expect([reply.status, codeIn(reply), detailIn(reply)]).toEqual([
      413,
      'ROLLCALL_HTTP_BODY',
      `The body is longer than ${bytes - 1} bytes (see the option maxBodyBytes)`,
    ])
  })
})
