import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test, vi } from 'vitest'
import { documentRoutes } from '../../src/http/documents.ts'
import { Health, healthRoutes } from '../../src/http/health.ts'
import { OPENAPI } from '../../src/http/openapi.ts'
import { readRoutes } from '../../src/http/reads.ts'
import { registrationRoutes } from '../../src/http/registration-routes.ts'
import { Registrations } from '../../src/http/registrations.ts'
import type { Routes } from '../../src/http/route.ts'
import { streamRoutes } from '../../src/http/stream-routes.ts'
import { Streams } from '../../src/http/streams.ts'
import { backgroundClock } from '../../src/tracker/system.ts'
import { nextUncaught } from '../tracker/uncaught.ts'
import { bearer, onNode } from './ask.ts'
import type { Ask } from './ask.ts'
import { promised, witnessed } from './contract.ts'

const MAIL = { name: 'Mail', version: '1.0.0', leaseMs: 10_000 }
const tokens = { token: 'write-me', readToken: 'read-me' }
const writer = bearer('write-me')

interface Operation {
  readonly line: string
  readonly takesBody: boolean
  /** Answers whoever asks, whatever they have asked before. */
  readonly always: boolean
}

/** Every operation, with a name in the place of its parameter. Streams are asked for their head, or they would go on. */
const operations: readonly Operation[] = Object.entries(OPENAPI.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { requestBody, responses }]) => {
    const isStream = responses['200']?.content?.['text/event-stream'] !== undefined
    const verb = isStream ? 'HEAD' : method.toUpperCase()
    return {
      line: `${verb} ${path.replace(/\{\w+\}/, 'mail')}`,
      takesBody: requestBody !== undefined,
      always: responses['429'] === undefined,
    }
  }),
)

const guarded = operations.filter(({ always }) => !always)
const withBody = operations.filter(({ takesBody }) => takesBody)

/** Asks for each of these in turn, with what is right. */
async function askEach(ask: Ask, these: readonly Operation[], status: number): Promise<void> {
  for (const { line, takesBody } of these) {
    const body = !takesBody ? undefined : line.startsWith('PUT') ? MAIL : {}
    expect((await ask(line, { headers: writer, body })).status, line).toBe(status)
  }
}

describe('every status that is promised is answered, by what is promised', () => {
  test('what is well asked', async () => {
    await onNode(async ({ ask, registry }) => {
      for (const line of ['renew', 'drain'].map((verb) => `POST /v1/registrations/mail/${verb}`)) {
        expect((await ask(line, { headers: writer })).status).toBe(404)
      }
      expect((await ask('DELETE /v1/registrations/mail', { headers: writer })).status).toBe(404)
      expect((await ask('GET /v1/registrations/mail', { headers: writer })).status).toBe(404)
      expect((await ask('GET /v1/lookup/mail', { headers: writer })).status).toBe(404)
      registry.register({ name: 'mail', version: '1.0.0' })
      expect((await ask('PUT /v1/registrations/mail', { headers: writer, body: MAIL })).status).toBe(201)
      for (const { line } of operations) {
        const body = line.startsWith('PUT') ? MAIL : undefined
        if (!line.startsWith('DELETE'))
          expect((await ask(line, { headers: writer, body })).status).toBeLessThan(300)
      }
      const other = { ...MAIL, version: '2.0.0' }
      expect((await ask('PUT /v1/registrations/mail', { headers: writer, body: other })).status).toBe(409)
      expect((await ask('DELETE /v1/registrations/mail', { headers: writer })).status).toBe(204)
    }, tokens)
  })

  test('400: a parameter that is not known', async () => {
    await onNode(async ({ ask }) => {
      await askEach(
        ask,
        guarded.map((operation) => ({ ...operation, line: `${operation.line}?nonsense=1` })),
        400,
      )
    }, tokens)
  })

  test('401: no token', async () => {
    await onNode(async ({ ask }) => {
      for (const { line } of guarded) {
        const isOpen = line === 'GET /openapi.json'
        expect((await ask(line)).status, line).toBe(isOpen ? 200 : 401)
      }
    }, tokens)
  })

  test('403: a host that is none of ours', async () => {
    await onNode(({ ask }) => askEach(ask, guarded, 403), { ...tokens, hosts: ['elsewhere.example'] })
  })

  test('413 and 415: a body too long, and of another type', async () => {
    await onNode(
      async ({ ask }) => {
        await askEach(
          ask,
          withBody.filter(({ line }) => line.startsWith('PUT')),
          413,
        )
        for (const { line } of withBody) {
          expect((await ask(line, { headers: writer, body: { state: 'ready' } })).status, line).toBe(413)
          const headers = { ...writer, 'content-type': 'text/plain' }
          expect((await ask(line, { headers, body: '{}' })).status, line).toBe(415)
        }
      },
      { ...tokens, maxBodyBytes: 8 },
    )
  })

  test('429: too often', async () => {
    await onNode(
      async ({ ask }) => {
        await ask('GET /v1/nodes', { headers: writer })
        await askEach(ask, guarded, 429)
      },
      { ...tokens, requestsPerSecond: 0.001 },
    )
  })

  test('500: a fault of our own', async () => {
    await onNode(async ({ ask, registry }) => {
      const asked = vi.spyOn(registry, 'closed', 'get')
      for (const operation of guarded) {
        const fault = new Error('broken')
        asked.mockImplementation(() => {
          throw fault
        })
        const surfaced = nextUncaught()
        await askEach(ask, [operation], 500)
        expect(await surfaced).toBe(fault)
      }
      asked.mockRestore()
    }, tokens)
  })

  test('503: the registry is closed', async () => {
    await onNode(async ({ ask, registry, net }) => {
      await net.settle(registry.close())
      await askEach(ask, operations, 503)
    }, tokens)
  })

  test('and all of them were seen', () => {
    expect([...witnessed].sort()).toEqual(promised().sort())
  })
})

test('the document is valid OpenAPI 3.1, and is what is served', async () => {
  await onNode(async ({ ask }) => {
    const { text, json } = await ask('GET /openapi.json')
    expect(json).toEqual(OPENAPI)
    const validator = new Validator()
    expect(await validator.validate(JSON.parse(text) as Record<string, unknown>)).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expect(validator.resolveRefs()).toBeDefined()
  })
})

test('the document names every path, method and parameter that there is, and no other', async () => {
  await onNode(({ registry }) => {
    const streams = new Streams(registry, { heartbeatMs: 1, maxBufferBytes: 1, maxStreams: 0 })
    const routes: Routes = {
      ...readRoutes(registry),
      ...streamRoutes(streams),
      ...registrationRoutes(new Registrations(registry, { maxRegistrations: 0, clock: backgroundClock })),
      ...healthRoutes(registry, new Health(registry)),
      ...documentRoutes(),
    }
    streams.close()
    const there = Object.entries(routes).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], access }]) => {
        const named = path.replace(/:(\w+)/, '{$1}')
        return [`${method} ${named}`, access, [...parameters].sort()]
      }),
    )
    const documented = Object.entries(OPENAPI.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], security }]) => {
        const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
        const access = security?.length === 0 ? 'open' : security?.length === 1 ? 'write' : 'read'
        return [`${method.toUpperCase()} ${path}`, access, names.sort()]
      }),
    )
    expect(documented.sort()).toEqual(there.sort())
  })
})
