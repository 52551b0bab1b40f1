import { describe, expect, test } from 'vitest'
import { httpHandler } from '../../src/http/index.ts'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode } from '../../src/testing/index.ts'
import { askOf, bearer, codeIn, detailIn, onNode } from './ask.ts'
import type { Ask, Reply, Stage } from './ask.ts'

const MAIL = { name: 'Mail', version: '1.0.0', leaseMs: 10_000 }
const headers = bearer('t')

const withToken = (scenario: (stage: Stage) => Promise<void>, options = {}): Promise<void> =>
  onNode(scenario, { token: 't', ...options })

const put = (ask: Ask, body: unknown, id = 'mail'): Promise<Reply> =>
  ask(`PUT /v1/registrations/${id}`, { body, headers })

const renew = (ask: Ask, body?: unknown): Promise<Reply> =>
  ask('POST /v1/registrations/mail/renew', { body, headers })

/** Why instances went, in order. */
const reasonsOf = ({ node }: Pick<Stage, 'node'>): unknown[] =>
  node.events('service_down').map(({ payload: [{ reason }] }) => reason)

describe('PUT', () => {
  test('registers: a service like any other, which every node finds', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net, flush: 'eager' })) as [SimNode, SimNode]
      const ask = askOf(httpHandler(a.registry, { clock: a.clock, token: 't' }))
      const spec = {
        ...{ name: 'Mail', version: '1.0.0', address: 'http://h:1', zone: 'north', weight: 2 },
        ...{ functions: { 'send/2': { timeoutMs: 500 } }, timeoutMs: 900, retry: { limit: 1, afterMs: 10 } },
        ...{
          metadata: { tags: ['a'], __proto: 1 },
          state: 'ready',
          reason: 'warm',
          capabilities: { write: 'ready' },
        },
      } as const
      const { status, json } = await put(ask, { ...spec, leaseMs: 60_000 })
      expect(status).toBe(201)
      expect(json).toMatchObject({ id: 'mail', leaseMs: 60_000, instance: { node: a.id } })
      await net.run(1_000)
      const answer = b.registry.lookup('Mail')
      if (!answer.ok) throw new Error(answer.error)
      expect(answer.service).toMatchObject({
        ...spec,
        functions: { 'send/2': { timeoutMs: 500, retry: { limit: 1, afterMs: 10 } } },
      })
    })
  })

  test('a second time changes it to exactly what is put, in one write, and never shows it missing', async () => {
    await withToken(async ({ ask, registry, node }) => {
      const first = await put(ask, {
        ...MAIL,
        address: 'h:1',
        metadata: { a: 1 },
        state: 'unready',
        reason: 'cold',
      })
      node.forgetEvents()
      const second = await put(ask, { ...MAIL, address: 'h:2' })
      expect([first.status, second.status]).toEqual([201, 200])
      const [instance] = registry.services()
      expect(instance).toMatchObject({ address: 'h:2', metadata: {}, state: 'ready', reason: undefined })
      expect((second.json as { instance: { id: string } }).instance.id).toBe(instance?.id)
      expect(node.events().map(({ name }) => name)).toEqual(['service_changed', 'diff'])
    })
  })

  test('the same again is a renewal, which writes nothing', async () => {
    await withToken(async ({ ask, node, net }) => {
      await put(ask, MAIL)
      node.forgetEvents()
      await net.run(9_000)
      expect((await put(ask, MAIL)).status).toBe(200)
      await net.run(9_000)
      expect(node.events()).toEqual([])
    })
  })

  test('what was changed by a renewal goes back to what is put', async () => {
    await withToken(async ({ ask, registry }) => {
      await put(ask, MAIL)
      await renew(ask, { state: 'unready' })
      await put(ask, MAIL)
      expect(registry.services()[0]?.state).toBe('ready')
    })
  })

  test.each([
    [{ ...MAIL, name: 'Post' }, 'The id mail is that of Mail 1.0.0'],
    [{ ...MAIL, version: '1.0.1' }, 'The id mail is that of Mail 1.0.0'],
  ])('of another service under the id of one is a conflict: %o', async (body, detail) => {
    await withToken(async ({ ask, registry }) => {
      await put(ask, { ...MAIL, address: 'h:1' })
      const reply = await put(ask, body)
      expect([reply.status, codeIn(reply), detailIn(reply)]).toEqual([409, 'ROLLCALL_HTTP_CONFLICT', detail])
      expect(registry.services()).toMatchObject([{ name: 'Mail', version: '1.0.0', address: 'h:1' }])
      expect((await put(ask, body, 'other')).status).toBe(201)
    })
  })

  test.each([
    [undefined, 'ROLLCALL_INVALID_ARGUMENT', 'The body is undefined: must be an object'],
    [[], 'ROLLCALL_INVALID_ARGUMENT', 'The body is an array: must be an object'],
    ['null', 'ROLLCALL_INVALID_ARGUMENT', 'The body is null: must be an object'],
    [
      { ...MAIL, leaseMs: undefined },
      'ROLLCALL_INVALID_ARGUMENT',
      'leaseMs is undefined: must be a number from 1000 to 86400000',
    ],
    [{ ...MAIL, leaseMs: 999 }, 'ROLLCALL_INVALID_ARGUMENT', 'leaseMs is 999: must be'],
    [{ ...MAIL, leaseMs: 86_400_001 }, 'ROLLCALL_INVALID_ARGUMENT', 'leaseMs is 86400001: must be'],
    [{ ...MAIL, leaseMs: '5000' }, 'ROLLCALL_INVALID_ARGUMENT', 'leaseMs is "5000": must be'],
    [{ ...MAIL, nmae: 1 }, 'ROLLCALL_INVALID_ARGUMENT', 'The body has an unknown field "nmae"'],
    [{ ...MAIL, name: '' }, 'ROLLCALL_INVALID_ARGUMENT', 'The name of the service is ""'],
    [{ ...MAIL, version: '1' }, 'ROLLCALL_INVALID_VERSION', 'version of the service "Mail" is "1"'],
    [{ ...MAIL, address: null }, 'ROLLCALL_INVALID_ADDRESS', 'address of the service "Mail" is null'],
    [{ ...MAIL, state: 'asleep' }, 'ROLLCALL_INVALID_ARGUMENT', 'state of the service "Mail" is "asleep"'],
    [{ ...MAIL, functions: { get: {} } }, 'ROLLCALL_INVALID_ARGUMENT', 'functions of the service "Mail"'],
    [{ ...MAIL, metadata: { a: '\ud800' } }, 'ROLLCALL_INVALID_META', 'meta.a'],
    [{ ...MAIL, metadata: { a: 'x'.repeat(20_000) } }, 'ROLLCALL_LIMIT_EXCEEDED', '16384'],
  ])('that breaks a rule registers nothing: %o', async (body, code, detail) => {
    await withToken(async ({ ask, registry, net }) => {
      const reply = await put(ask, body)
      expect([reply.status, codeIn(reply)]).toEqual([400, code])
      expect(detailIn(reply)).toContain(detail)
      expect(registry.services()).toEqual([])
      expect((await ask('GET /v1/registrations')).json).toEqual({ registrations: [] })

      await put(ask, MAIL)
      await net.run(6_000)
      expect((await put(ask, body)).status).toBe(400)
      expect(registry.services()).toMatchObject([{ name: 'Mail', state: 'ready' }])
      await net.run(6_000)
      expect(registry.services(), 'a refused one renews nothing').toEqual([])
    })
  })

  test.each(['a b', 'ä', 'x'.repeat(129), 'a/b', '<script>'])('the id %s is refused', async (id) => {
    await withToken(async ({ ask }) => {
      const reply = await put(ask, MAIL, encodeURIComponent(id))
      expect(reply.status).toBe(400)
      expect(detailIn(reply)).toMatch(/^The id is .*: must be 1 to 128 of A-Z a-z 0-9 \. _ ~ -$/)
    })
  })

  test.each(['A-Za-z.0~9_', '__proto__', 'constructor', 'x'.repeat(128)])(
    'C44: the id %s is an ordinary one',
    async (id) => {
      await withToken(async ({ ask }) => {
        expect((await ask(`GET /v1/registrations/${id}`)).status).toBe(404)
        expect((await put(ask, MAIL, id)).status).toBe(201)
        expect((await ask(`GET /v1/registrations/${id}`)).json).toMatchObject({ id })
        expect((await ask(`DELETE /v1/registrations/${id}`, { headers })).status).toBe(204)
      })
    },
  )

  test('C44: hostile names in bodies are ordinary ones', async () => {
    await withToken(async ({ ask, registry }) => {
      for (const name of ['__proto__', 'constructor', '<script>', 'a/b', '🦊'.repeat(64)]) {
        const body = `{"name":${JSON.stringify(name)},"version":"1.0.0","leaseMs":5000,
          "metadata":{"__proto__":{"polluted":1},"constructor":{"prototype":{}}},"capabilities":{"__proto__":"ready"}}`
        const reply = await put(ask, body, `id-${Buffer.from(name).toString('hex').slice(0, 20)}`)
        expect(reply.status, reply.text).toBe(201)
        expect(reply.text).toContain('"__proto__":{"polluted":1}')
        const found = registry.lookup(name, undefined, { capability: '__proto__' })
        expect(found.ok && Object.hasOwn(found.service.metadata, '__proto__')).toBe(true)
      }
      expect((await put(ask, '{"__proto__":{"name":"X"},"version":"1.0.0","leaseMs":5000}')).status).toBe(400)
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    })
  })

  test('too many are refused, and there is room again when one has ended', async () => {
    await withToken(
      async ({ ask, net }) => {
        await put(ask, MAIL, 'a')
        await put(ask, { ...MAIL, leaseMs: 60_000 }, 'b')
        const reply = await put(ask, MAIL, 'c')
        expect([reply.status, codeIn(reply)]).toEqual([503, 'ROLLCALL_HTTP_BUSY'])
        expect((await put(ask, MAIL, 'a')).status).toBe(200)
        await net.run(10_001)
        expect((await put(ask, MAIL, 'c')).status).toBe(201)
      },
      { maxRegistrations: 2 },
    )
  })
})

describe('a lease', () => {
  test('ends the registration to the ms, reason expired', async () => {
    await withToken(async (stage) => {
      const { ask, registry, net } = stage
      await put(ask, MAIL)
      await net.run(9_999)
      expect(registry.lookup('Mail').ok).toBe(true)
      await net.run(1)
      expect(registry.lookup('Mail').ok).toBe(false)
      expect(reasonsOf(stage)).toEqual(['expired'])
      expect(await renew(ask)).toMatchObject({ status: 404, json: { code: 'ROLLCALL_HTTP_NOT_FOUND' } })
      expect((await ask('GET /v1/registrations')).json).toEqual({ registrations: [] })
      expect((await put(ask, MAIL)).status).toBe(201)
    })
  })

  test('is as long again with every renewal', async () => {
    await withToken(async ({ ask, registry, net }) => {
      await put(ask, MAIL)
      for (let n = 0; n < 3; n++) {
        await net.run(9_000)
        const reply = await renew(ask)
        expect([reply.status, reply.json]).toMatchObject([200, { id: 'mail', leaseMs: 10_000 }])
      }
      await net.run(9_999)
      expect(registry.lookup('Mail').ok).toBe(true)
      await net.run(1)
      expect(registry.lookup('Mail').ok).toBe(false)
    })
  })

  test('is as long as was put last', async () => {
    await withToken(async ({ ask, registry, net }) => {
      await put(ask, MAIL)
      await put(ask, { ...MAIL, leaseMs: 30_000 })
      await net.run(29_000)
      await renew(ask)
      await net.run(29_999)
      expect(registry.lookup('Mail').ok).toBe(true)
      await put(ask, { ...MAIL, leaseMs: 1_000 })
      await net.run(1_000)
      expect(registry.lookup('Mail').ok).toBe(false)
    })
  })

  test('a renewal says in which state the service is, and why', async () => {
    await withToken(async ({ ask, registry }) => {
      await put(ask, { ...MAIL, address: 'h:1' })
      const said = () => registry.services().map(({ state, reason, address }) => [state, reason, address])
      await renew(ask, { state: 'unready', reason: 'no database' })
      expect(said()).toEqual([['unready', 'no database', 'h:1']])
      await renew(ask)
      expect(said()).toEqual([['unready', 'no database', 'h:1']])
      await renew(ask, { reason: 'no disk' })
      expect(said()).toEqual([['unready', 'no disk', 'h:1']])
      await renew(ask, { state: 'ready' })
      expect(said()).toEqual([['ready', undefined, 'h:1']])
    })
  })

  test.each([
    [{ state: 'asleep' }, 'state of the service "Mail" is "asleep"'],
    [{ state: null }, 'state of the service "Mail" is null'],
    [{ reason: 7 }, 'reason of the service "Mail" is 7'],
    [{ address: 'h:1' }, 'The body has an unknown field "address"'],
    [[], 'The body is an array'],
  ])('a renewal that breaks a rule renews nothing: %o', async (body, detail) => {
    await withToken(async ({ ask, registry, net }) => {
      await put(ask, MAIL)
      await net.run(9_000)
      const reply = await renew(ask, body)
      expect(reply.status).toBe(400)
      expect(detailIn(reply)).toContain(detail)
      await net.run(1_000)
      expect(registry.services()).toEqual([])
    })
  })
})

describe('a drain', () => {
  const drain = (ask: Ask, body?: unknown): Promise<Reply> =>
    ask('POST /v1/registrations/mail/drain', { body, headers })

  test('is told at once, and ends the registration after its grace, reason drained', async () => {
    await withToken(async (stage) => {
      const { ask, registry, net } = stage
      await put(ask, { ...MAIL, leaseMs: 60_000 })
      const reply = await drain(ask, { graceMs: 5_000, settleMs: 10 })
      expect([reply.status, reply.json]).toMatchObject([202, { instance: { state: 'draining' } }])
      expect(registry.lookup('Mail')).toMatchObject({ ok: false, error: 'noinstance' })
      await net.run(4_999)
      expect(registry.services()).toHaveLength(1)
      await net.run(2)
      expect(reasonsOf(stage)).toEqual(['drained'])
      expect((await ask('GET /v1/registrations/mail')).status).toBe(404)
    })
  })

  test('takes ten seconds when nothing is said, and no longer than the lease', async () => {
    await withToken(async (stage) => {
      const { ask, registry, net } = stage
      await put(ask, { ...MAIL, leaseMs: 60_000 })
      expect((await drain(ask)).status).toBe(202)
      await net.run(9_999)
      expect(registry.services()).toHaveLength(1)
      await net.run(2)
      expect(registry.services()).toEqual([])

      await put(ask, MAIL)
      await drain(ask, { graceMs: 60_000 })
      await net.run(10_001)
      expect(reasonsOf(stage)).toEqual(['drained', 'expired'])
    })
  })

  test.each<[object, string]>([
    [{ graceMs: -1 }, 'The option graceMs is -1: must be a number from 0 to'],
    [{ settleMs: 'soon' }, 'The option settleMs is "soon": must be a number from 0 to'],
    [{ until: 1 }, 'The body has an unknown field "until"'],
    [[], 'The body is an array: must be an object'],
  ])('%o is refused', async (body, detail) => {
    await withToken(async ({ ask, registry }) => {
      await put(ask, MAIL)
      const reply = await drain(ask, body)
      expect([reply.status, codeIn(reply)]).toEqual([400, 'ROLLCALL_INVALID_ARGUMENT'])
      expect(detailIn(reply)).toContain(detail)
      expect(registry.lookup('Mail').ok).toBe(true)
    })
  })
})

test('GET shows them as they are; DELETE ends one, once', async () => {
  await withToken(async (stage) => {
    const { ask, registry } = stage
    await put(ask, MAIL, 'a')
    await put(ask, { ...MAIL, leaseMs: 5_000 }, 'b')
    const [a, b] = registry
      .services()
      .map((instance) => ({ instance: JSON.parse(JSON.stringify(instance)) as object }))
    expect((await ask('GET /v1/registrations')).json).toEqual({
      registrations: [
        { id: 'a', leaseMs: 10_000, ...a },
        { id: 'b', leaseMs: 5_000, ...b },
      ],
    })
    expect((await ask('GET /v1/registrations/b')).json).toEqual({ id: 'b', leaseMs: 5_000, ...b })
    expect((await ask('DELETE /v1/registrations/a', { headers })).status).toBe(204)
    expect(registry.services()).toHaveLength(1)
    expect((await ask('DELETE /v1/registrations/a', { headers })).status).toBe(404)
    expect(reasonsOf(stage)).toEqual(['unregistered'])
  })
})

test('each handler knows its own, and none those of the program', async () => {
  await withToken(async ({ ask, registry, node }) => {
    registry.register({ name: 'Mine', version: '1.0.0' })
    await put(ask, MAIL)
    const other = askOf(httpHandler(registry, { clock: node.clock, token: 't' }))
    expect((await other('GET /v1/registrations')).json).toEqual({ registrations: [] })
  })
})

test('they end with the handler', async () => {
  await withToken(async ({ ask, registry, handler }) => {
    registry.register({ name: 'Mine', version: '1.0.0' })
    await put(ask, MAIL)
    handler.close()
    expect(registry.services().map(({ name }) => name)).toEqual(['Mine'])
    expect((await put(ask, MAIL)).status).toBe(503)
  })
})
