import { describe, expect, test } from 'vitest'
import { cluster, simulate } from '../../src/testing/index.ts'
import type { SimNode } from '../../src/testing/index.ts'
import { httpHandler } from '../../src/http/index.ts'
import { askOf, codeIn, detailIn, onNode } from './ask.ts'
import type { Reply } from './ask.ts'

/** What JSON carries of a value. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const idsIn = (reply: Reply, list: 'instances' | 'services'): unknown[] =>
  (reply.json as Record<typeof list, readonly { readonly version: string }[]>)[list].map(
    ({ version }) => version,
  )

describe('services', () => {
  test('all of them, in every state, with the node that answers', async () => {
    await onNode(async ({ ask, registry }) => {
      registry.register({ name: 'Mail', version: '1.0.0', state: 'starting' })
      registry.register({ name: 'Billing', version: '2.0.0', address: 'h:1', metadata: { a: [1] } })
      const { json, status } = await ask('GET /v1/services')
      expect(status).toBe(200)
      expect(json).toEqual({
        node: { id: registry.tracker.id, name: 'a' },
        degraded: false,
        services: asJson(registry.services()),
      })
      registry.freeze()
      expect((await ask('GET /v1/services')).json).toMatchObject({ degraded: true })
    })
  })

  test('of one node, by id or name', async () => {
    await simulate({ seed: 1 }, async (net) => {
      const [a, b] = (await cluster(2, { net, flush: 'eager' })) as [SimNode, SimNode]
      const ask = askOf(httpHandler(a.registry, { clock: a.clock }))
      a.registry.register({ name: 'S', version: '1.0.0' })
      b.registry.register({ name: 'S', version: '2.0.0' })
      await net.run(3_000)
      expect(idsIn(await ask('GET /v1/services'), 'services')).toEqual(['2.0.0', '1.0.0'])
      expect(idsIn(await ask('GET /v1/services?node=b'), 'services')).toEqual(['2.0.0'])
      expect(idsIn(await ask(`GET /v1/services?node=${a.id}`), 'services')).toEqual(['1.0.0'])
      expect(idsIn(await ask('GET /v1/services?node=nobody'), 'services')).toEqual([])
    })
  })

  test.each([
    ['', ['3.0.0', '1.2.0', '1.1.0']],
    ['?version=1.0.0', ['1.2.0', '1.1.0']],
    ['?version=~>+1.1.0', ['1.1.0']],
    ['?version=%3E%3D%201.2.0', ['3.0.0', '1.2.0']],
    ['?zone=north', ['1.2.0']],
    ['?zone=nowhere', []],
    ['?state=starting', ['2.0.0']],
    ['?state=any', ['4.0.0-rc.1', '3.0.0', '2.0.0', '1.2.0', '1.1.0']],
    ['?state=any&prerelease=exclude', ['3.0.0', '2.0.0', '1.2.0', '1.1.0']],
    ['?function=get/1', ['1.1.0']],
    ['?function=get%2F1', ['1.1.0']],
    ['?capability=write', ['1.2.0']],
    ['?node=a&capability=write', ['1.2.0']],
    ['?node=b', []],
  ])('of one name: %s', async (search, versions) => {
    await onNode(async ({ ask, registry }) => {
      registry.register({ name: 'S', version: '1.1.0', functions: { 'get/1': {} } })
      registry.register({ name: 'S', version: '1.2.0', zone: 'north', capabilities: { write: 'ready' } })
      registry.register({ name: 'S', version: '2.0.0', state: 'starting' })
      registry.register({ name: 'S', version: '3.0.0', capabilities: { write: 'broken' } })
      registry.register({ name: 'S', version: '4.0.0-rc.1', state: 'draining' })
      const reply = await ask(`GET /v1/services/S${search}`)
      expect(reply.json).toMatchObject({ service: 'S', degraded: false })
      expect(idsIn(reply, 'instances')).toEqual(versions)
    })
  })

  test('of a name that nobody has there are none, which is an answer', async () => {
    await onNode(async ({ ask }) => {
      const { status, json } = await ask('GET /v1/services/Nobody')
      expect([status, json]).toEqual([200, { service: 'Nobody', degraded: false, instances: [] }])
    })
  })
})

describe('a lookup', () => {
  test('answers as the registry does, by turns', async () => {
    await onNode(async ({ ask, registry }) => {
      registry.register({ name: 'S', version: '2.0.0' })
      registry.register({ name: 'S', version: '2.0.0' })
      const replies = [
        await ask('GET /v1/lookup/S?version=2.0.0'),
        await ask('GET /v1/lookup/S?version=2.0.0'),
      ]
      const ids = replies.map(({ json }) => (json as { service: { id: string } }).service.id)
      expect(new Set(ids)).toEqual(new Set(registry.services().map(({ id }) => id)))
      expect(replies[0]?.json).toEqual({
        ok: true,
        stale: false,
        degraded: false,
        service: asJson(registry.services().find(({ id }) => id === ids[0])),
      })
    })
  })

  test.each([
    ['/v1/lookup/Nobody', 'noservice'],
    ['/v1/lookup/S?version=9.0.0', 'noversion'],
    ['/v1/lookup/S?function=put/2', 'nofunction'],
    ['/v1/lookup/S?state=unready', 'noinstance'],
    ['/v1/lookup/S?node=b', 'noinstance'],
  ])('that finds nothing is a problem with its code: %s', async (target, code) => {
    await onNode(async ({ ask, registry }) => {
      registry.register({ name: 'S', version: '1.0.0' })
      const { status, json } = await ask(`GET ${target}`)
      expect(status).toBe(404)
      expect(json).toMatchObject({ code, degraded: false, title: 'Not Found' })
      registry.freeze()
      expect((await ask(`GET ${target}`)).json).toMatchObject({ code, degraded: true })
    })
  })

  test('takes every option of a lookup', async () => {
    await onNode(async ({ ask, registry }) => {
      const { id } = registry.register({ name: 'S', version: '1.0.0', zone: 'north' }).instance
      registry.register({ name: 'S', version: '1.0.0', zone: 'south', weight: 5 })
      const options =
        'zone=north&minZoneInstances=1&balance=hash&key=k&stale=keep-last&maxStaleMs=5000&state=ready&node=a&prerelease=include'
      const reply = await ask(`GET /v1/lookup/S?version=1.0.0&${options}`)
      expect(reply.json).toMatchObject({ ok: true, service: { id } })
      const many = await ask(`GET /v1/explain/S?zone=north&minZoneInstances=2`)
      expect(many.json).toMatchObject({ explanations: [{ returned: true }, { returned: true }] })
    })
  })

  test('may be answered by what was', async () => {
    await onNode(async ({ ask, registry }) => {
      const offer = registry.register({ name: 'S', version: '1.0.0' })
      await ask('GET /v1/lookup/S?stale=keep-last&maxStaleMs=1000')
      offer.update({ state: 'unready' })
      const reply = await ask('GET /v1/lookup/S?stale=keep-last&maxStaleMs=1000')
      expect(reply.json).toMatchObject({ ok: true, stale: true })
    })
  })
})

test('an explanation is that of the registry', async () => {
  await onNode(async ({ ask, registry }) => {
    registry.register({ name: 'S', version: '1.0.0' })
    registry.register({ name: 'S', version: '2.0.0', state: 'unready' })
    const { json } = await ask('GET /v1/explain/S?version=1.0.0')
    expect(json).toEqual({ service: 'S', explanations: asJson(registry.explain('S', '1.0.0')) })
    expect((await ask('GET /v1/explain/Nobody')).json).toEqual({ service: 'Nobody', explanations: [] })
  })
})

test('nodes and diagnostics are those of the registry, also of nodes that are gone', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b, c] = (await cluster(3, { net })) as [SimNode, SimNode, SimNode]
    const ask = askOf(httpHandler(a.registry, { clock: a.clock }))
    b.crash()
    c.stall(8_000)
    await net.run(7_000)
    const { json } = await ask('GET /v1/nodes')
    expect(json).toEqual({ nodes: asJson(a.registry.nodes()) })
    const { nodes } = json as { nodes: object[] }
    expect(nodes).toMatchObject([{ self: true }, { suspect: 'unanswered' }, { reason: 'refused' }])
    expect((await ask('GET /v1/diagnostics')).json).toEqual(asJson(a.registry.diagnostics()))
  })
})

describe('C44: hostile names', () => {
  test.each([
    '__proto__',
    'constructor',
    'toString',
    '<script>alert(1)</script>',
    'a/b',
    '%2F',
    '%',
    'a?b=c&d#e',
    'plus + plus',
    '🦊 \u202e',
    'x'.repeat(256),
  ])('%s is an ordinary one in paths and queries', async (name) => {
    await onNode(async ({ ask, registry }) => {
      const encoded = encodeURIComponent(name)
      expect((await ask(`GET /v1/lookup/${encoded}`)).json).toMatchObject({ code: 'noservice' })
      const offer = registry.register({
        name,
        version: '1.0.0',
        zone: name,
        capabilities: { [name]: 'ready' },
      })
      const search = `zone=${encoded}&capability=${encoded}`
      for (const target of [`lookup/${encoded}?${search}&node=a`, `lookup/${encoded}?${search}`]) {
        expect((await ask(`GET /v1/${target}`)).json).toMatchObject({
          service: { id: offer.instance.id, name },
        })
      }
      const listed = await ask(`GET /v1/services/${encoded}?${search}`)
      expect(listed.json).toMatchObject({ service: name, instances: [{ name, zone: name }] })
      expect((await ask(`GET /v1/explain/${encoded}`)).json).toMatchObject({ service: name })
      expect((await ask(`GET /v1/services?node=${encoded}`)).json).toMatchObject({ services: [] })
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    })
  })

  test('a name is decoded once', async () => {
    await onNode(async ({ ask, registry }) => {
      registry.register({ name: '%41', version: '1.0.0' })
      expect((await ask('GET /v1/lookup/%2541')).status).toBe(200)
      expect((await ask('GET /v1/lookup/%41')).status).toBe(404)
    })
  })
})

describe('what breaks a rule is refused, by the value and the rule', () => {
  test.each([
    ['services?name=S', 'ROLLCALL_INVALID_ARGUMENT', 'The query has an unknown parameter "name"'],
    ['nodes?__proto__=1', 'ROLLCALL_INVALID_ARGUMENT', 'The query has an unknown parameter "__proto__"'],
    ['services?node=a&node=b', 'ROLLCALL_INVALID_ARGUMENT', 'The query has the parameter node twice'],
    ['services?node=', 'ROLLCALL_INVALID_ARGUMENT', 'The node is "": must not be empty'],
    ['services/S?zone=', 'ROLLCALL_INVALID_ARGUMENT', 'The parameter zone is "": must not be empty'],
    ['services/S?balance=first', 'ROLLCALL_INVALID_ARGUMENT', 'The query has an unknown parameter "balance"'],
    ['services/S?node=%zz', 'ROLLCALL_INVALID_ARGUMENT', 'The query is "%zz": must be percent-encoded UTF-8'],
    ['services/S?node=%ED%A0%80', 'ROLLCALL_INVALID_ARGUMENT', /must be percent-encoded UTF-8$/],
    ['lookup/%', 'ROLLCALL_INVALID_ARGUMENT', 'The path is "%": must be percent-encoded UTF-8'],
    ['lookup/%C3%28', 'ROLLCALL_INVALID_ARGUMENT', /must be percent-encoded UTF-8$/],
    ['lookup/%00', 'ROLLCALL_INVALID_ARGUMENT', /without control characters$/],
    [`lookup/${'x'.repeat(257)}`, 'ROLLCALL_INVALID_ARGUMENT', /must be at most 256 bytes long$/],
    ['lookup/S?version=nonsense', 'ROLLCALL_INVALID_REQUIREMENT', /nonsense/],
    [`lookup/S?version=${'1'.repeat(300)}`, 'ROLLCALL_LIMIT_EXCEEDED', /256/],
    ['lookup/S?state=asleep', 'ROLLCALL_INVALID_ARGUMENT', /^The option state is "asleep"/],
    ['lookup/S?function=get', 'ROLLCALL_INVALID_ARGUMENT', /^The option function is "get"/],
    ['lookup/S?key=k', 'ROLLCALL_INVALID_ARGUMENT', /^The option key/],
    ['lookup/S?minZoneInstances=0', 'ROLLCALL_INVALID_ARGUMENT', /^The option minZoneInstances is 0/],
    [
      'lookup/S?minZoneInstances=1e3',
      'ROLLCALL_INVALID_ARGUMENT',
      'The parameter minZoneInstances is "1e3": must be a number',
    ],
    ['lookup/S?stale=keep-last&maxStaleMs=0', 'ROLLCALL_INVALID_ARGUMENT', /^The option maxStaleMs is 0/],
    ['explain/S?stale=never', 'ROLLCALL_INVALID_ARGUMENT', /^The option stale is "never"/],
  ])('%s', async (target, code, detail) => {
    await onNode(async ({ ask }) => {
      const reply = await ask(`GET /v1/${target}`)
      expect([reply.status, codeIn(reply)]).toEqual([400, code])
      expect(detailIn(reply)).toMatch(detail)
    })
  })
})
