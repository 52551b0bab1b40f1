import inject, { type Response } from 'light-my-request'
import { expect, test } from 'vitest'
import { httpHandler, type HttpHandler, type HttpOptions } from '../../../src/http/index.ts'
import { PAGE_FILES } from '../../../src/http/page/page-files.ts'
import { cluster, simulate, type SimNode } from '../../../src/testing/index.ts'

type Ask = (url: string, method?: 'GET' | 'HEAD' | 'POST') => Promise<Response>

const onNode = (
  options: HttpOptions,
  scenario: (ask: Ask, handler: HttpHandler) => Promise<void>,
): Promise<void> =>
  simulate({ seed: 1 }, async (net) => {
    const [{ registry, clock }] = (await cluster(1, { net })) as [SimNode]
    const handler = httpHandler(registry, { clock, ...options })
    const ask: Ask = (url, method = 'GET') =>
      inject((request, response) => handler(request, response), { url, method })
    await scenario(ask, handler)
    handler.close()
  })

test.each(['/', '/page.css', '/page.js'] as const)(
  '%s is served to everybody, under a strict policy',
  async (path) => {
    await onNode({ readToken: 'secret' }, async (ask) => {
      const { statusCode, payload, headers } = await ask(path)
      expect([statusCode, payload]).toEqual([200, PAGE_FILES[path].body])
      expect(headers).toMatchObject({
        'content-type': PAGE_FILES[path].type,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      })
      expect((await ask(path, 'HEAD')).payload).toBe('')
      expect((await ask(path, 'POST')).statusCode).toBe(405)
    })
  },
)

test('there is none where it is not wanted', async () => {
  await onNode({ page: false }, async (ask) => {
    for (const path of Object.keys(PAGE_FILES)) expect((await ask(path)).statusCode).toBe(404)
  })
})

test.each([
  ['/the/path', './path/'],
  ['/the/path?', './path/'],
  ['/the/path//evil.example', './evil.example/'],
])('under a path, %s leads to where its links work', async (url, location) => {
  await onNode({}, async (_, handler) => {
    // As Express does.
    const answer = await inject(
      (request, response) => handler(Object.assign(request, { originalUrl: url, url: '/' }), response),
      { url },
    )
    expect([answer.statusCode, answer.headers.location]).toEqual([308, location])
  })
})
