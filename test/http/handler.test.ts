import inject from 'light-my-request'
import { describe, expect, test, vi } from 'vitest'
import { httpHandler } from '../../src/http/index.ts'
import type { HttpHandler, HttpOptions } from '../../src/http/index.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { nextUncaught } from '../tracker/uncaught.ts'
import { bearer, codeIn, onNode } from './ask.ts'

describe('paths and methods', () => {
  test.each([
    '/',
    '/v1',
    '/v1/service',
    '/v1/services/',
    '/v1/services/a/b',
    '/V1/nodes',
    '/v1/nodes/',
    '//v1/nodes',
    '/v1/%6eodes',
    '*',
  ])('there is nothing at %s', async (path) => {
    await onNode(
      async ({ ask }) => {
        const reply = await ask(`GET ${path}`)
        expect([reply.status, codeIn(reply)]).toEqual([404, 'ROLLCALL_HTTP_NOT_FOUND'])
      },
      { page: false },
    )
  })

  test.each([
    ['POST', '/v1/services', 'GET, HEAD'],
    ['OPTIONS', '/v1/lookup/S', 'GET, HEAD'],
    ['TRACE', '/v1/nodes', 'GET, HEAD'],
    ['PATCH', '/v1/registrations/a', 'GET, HEAD, PUT, DELETE'],
    ['GET', '/v1/registrations/a/renew', 'POST'],
    ['HEAD', '/v1/registrations/a/drain', 'POST'],
    ['DELETE', '/healthz', 'GET, HEAD'],
  ])('%s %s is none of its methods', async (method, path, allow) => {
    await onNode(async ({ ask }) => {
      const reply = await ask(`${method} ${path}`)
      expect([reply.status, reply.headers['allow']]).toEqual([405, allow])
      if (method !== 'HEAD') expect(codeIn(reply)).toBe('ROLLCALL_HTTP_METHOD')
    })
  })

  test('HEAD is GET without a body', async () => {
    await onNode(async ({ ask }) => {
      const [got, head] = [await ask('GET /v1/services'), await ask('HEAD /v1/services')]
      expect(head.text).toBe('')
      expect(head.headers['content-length']).toBe(got.headers['content-length'])
      expect((await ask('HEAD /v1/lookup/Nobody')).status).toBe(404)
    })
  })

  test('a whole URL, as a proxy sends it, is taken by its path', async () => {
    await onNode(async ({ ask }) => {
      expect((await ask('GET http://elsewhere.example/v1/nodes')).status).toBe(200)
    })
  })
})

describe('as a middleware', () => {
  /** Whether a request is passed on. */
  const passesOn = async (handler: HttpHandler, url: string): Promise<boolean> => {
    const { headers } = await inject((request, response) => {
      handler(request, response, () => response.setHeader('passed', 'on').end())
    }, url)
    return headers['passed'] === 'on'
  }

  test('it passes on what is not its own, and that alone', async () => {
    await onNode(async ({ handler }) => {
      expect(await passesOn(handler, '/elsewhere')).toBe(true)
      expect(await passesOn(handler, '/v1/nodes')).toBe(false)
      expect(await passesOn(handler, '/v1/lookup/Nobody')).toBe(false)
    })
  })

  test('what comes after it answers for its own faults', async () => {
    await onNode(async ({ handler }) => {
      const fault = new Error('of another')
      let seen: unknown
      await inject((request, response) => {
        try {
          handler(request, response, () => {
            throw fault
          })
        } catch (error) {
          seen = error
          response.end()
        }
      }, '/elsewhere')
      expect(seen).toBe(fault)
    })
  })

  test('what is passed on counts for no limit', async () => {
    await onNode(
      async ({ handler, ask }) => {
        for (let n = 0; n < 10; n++) await passesOn(handler, '/elsewhere')
        expect((await ask('GET /v1/nodes')).status).toBe(200)
      },
      { requestsPerSecond: 1, hosts: ['localhost'] },
    )
  })
})

describe('hosts', () => {
  const hosts = ['localhost', 'Registry.example', '[::1]']
  test.each([
    ['localhost', 200],
    ['localhost:7780', 200],
    ['LOCALHOST', 200],
    ['registry.EXAMPLE:80', 200],
    ['[::1]:7780', 200],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['evil.example:localhost', 403],
  ])('a request to %s', async (host, status) => {
    await onNode(
      async ({ ask }) => {
        const reply = await ask('GET /v1/services', { headers: { host } })
        expect(reply.status).toBe(status)
        if (status === 403) expect(codeIn(reply)).toBe('ROLLCALL_HTTP_FORBIDDEN')
      },
      { hosts },
    )
  })

  test('neither writes nor documents are for others, but health is', async () => {
    await onNode(
      async ({ ask }) => {
        const headers = { host: 'evil.example' }
        expect(
          (await ask('DELETE /v1/registrations/a', { headers: { ...headers, ...bearer('t') } })).status,
        ).toBe(403)
        expect((await ask('GET /openapi.json', { headers })).status).toBe(403)
        expect((await ask('GET /nowhere', { headers })).status).toBe(403)
        expect((await ask('GET /v1/lookup/%', { headers })).status).toBe(403)
        expect((await ask('GET /healthz', { headers })).status).toBe(200)
        expect((await ask('GET /readyz', { headers })).status).toBe(200)
      },
      { hosts, token: 't' },
    )
  })

  test('without them any will do', async () => {
    await onNode(async ({ ask }) => {
      expect((await ask('GET /v1/services', { headers: { host: 'any.example' } })).status).toBe(200)
    })
  })
})

describe('the end', () => {
  test('of the registry: only its health is told', async () => {
    await onNode(async ({ ask, registry, net }) => {
      const closing = registry.close()
      for (const path of ['/v1/services', '/v1/registrations', '/openapi.json']) {
        const reply = await ask(`GET ${path}`)
        expect([reply.status, codeIn(reply)]).toEqual([503, 'ROLLCALL_CLOSED'])
      }
      expect(await ask('GET /healthz')).toMatchObject({ status: 503, json: { status: 'closed' } })
      expect(await ask('GET /readyz')).toMatchObject({
        status: 503,
        json: { status: 'unready', why: 'closed' },
      })
      await net.settle(closing)
    })
  })

  test('of the handler: as that of the registry, which lives on', async () => {
    await onNode(async ({ ask, handler }) => {
      handler.close()
      handler.close()
      expect(codeIn(await ask('GET /v1/services'))).toBe('ROLLCALL_CLOSED')
      expect((await ask('GET /healthz')).status).toBe(200)
    })
  })

  test('leaves no listener behind', async () => {
    await onNode(({ registry }) => {
      const count = (): unknown =>
        registry.tracker.eventNames().map((event) => [event, registry.tracker.listenerCount(event)])
      const before = count()
      const handler = httpHandler(registry)
      expect(count()).not.toEqual(before)
      handler.close()
      expect(count()).toEqual(before)
    })
  })
})

test('a fault of its own is told to the program, and not to the client', async () => {
  await onNode(async ({ ask, registry }) => {
    const fault = new Error('a secret of the house')
    vi.spyOn(registry, 'lookup').mockImplementation(() => {
      throw fault
    })
    const surfaced = nextUncaught()
    const reply = await ask('GET /v1/lookup/S')
    expect([reply.status, codeIn(reply)]).toEqual([500, 'ROLLCALL_HTTP_FAILED'])
    expect(reply.text).not.toContain('secret')
    expect(await surfaced).toBe(fault)
  })
})

describe('options', () => {
  test.each<[object, string]>([
    [{ tokens: 't' }, 'The options has an unknown field "tokens"'],
    [
      { token: '' },
      'The option token is "…": must be a text of A-Z a-z 0-9 - . _ ~ + / with any = at its end',
    ],
    [{ token: 7 }, 'The option token is 7: must be a text of A-Z a-z 0-9 - . _ ~ + / with any = at its end'],
    [
      { readToken: 'two words' },
      'The option readToken is "…": must be a text of A-Z a-z 0-9 - . _ ~ + / with any = at its end',
    ],
    [{ page: 'yes' }, 'The option page is "yes": must be true or false'],
    [{ hosts: [] }, 'The option hosts is an array: must be names or addresses without a port, at least one'],
    [
      { hosts: 'localhost' },
      'The option hosts is "localhost": must be names or addresses without a port, at least one',
    ],
    [
      { hosts: ['localhost:80'] },
      'The option hosts is an array: must be names or addresses without a port, at least one',
    ],
    [{ maxBodyBytes: 0 }, 'The option maxBodyBytes is 0: must be a whole number, at least 1'],
    [{ maxStreams: -1 }, 'The option maxStreams is -1: must be a whole number, at least 0'],
    [{ maxRegistrations: 1.5 }, 'The option maxRegistrations is 1.5: must be a whole number, at least 0'],
    [
      { heartbeatMs: 2 ** 31 },
      'The option heartbeatMs is 2147483648: must be a whole number, from 1 to 2147483647',
    ],
    [{ maxBufferBytes: '1' }, 'The option maxBufferBytes is "1": must be a whole number, at least 1'],
    [{ requestsPerSecond: 0 }, 'The option requestsPerSecond is 0: must be a number above 0'],
    [{ requestsPerSecond: NaN }, 'The option requestsPerSecond is NaN: must be a number above 0'],
  ])('%o is refused', async (options, message) => {
    await onNode(({ registry }) => {
      expect(() => httpHandler(registry, options as HttpOptions)).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT', message }),
      )
    })
  })

  test('what is no registry is refused, and so is a closed one', async () => {
    for (const registry of [undefined, {}, { tracker: {} }]) {
      expect(() => httpHandler(registry as Registry)).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT' }),
      )
    }
    await onNode(async ({ registry, net }) => {
      await net.settle(registry.close())
      expect(() => httpHandler(registry)).toThrow(expect.objectContaining({ code: 'ROLLCALL_CLOSED' }))
    })
  })
})
