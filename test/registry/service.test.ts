import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { readEntry, SERVICE_TOPIC, toInstance } from '../../src/registry/instance.ts'
import { defineService, patchService, toMeta } from '../../src/registry/service.ts'
import type { Instance, ServiceSpec } from '../../src/registry/types.ts'

const failure = (code: string, ...words: string[]): unknown =>
  expect.objectContaining({
    code,
    message: expect.stringMatching(
      words.map((word) => `(?=.*${word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')})`).join(''),
    ) as string,
  })

const entryOf = (meta: Json, key = 'MasterData'): Entry<Json> => ({
  node: 'node-1',
  incarnation: 7,
  ref: 3,
  version: 9,
  topic: SERVICE_TOPIC,
  key,
  meta,
})

/** As a peer sees it: over JSON and back. */
function received(spec: ServiceSpec, zone?: string): Instance {
  const meta = JSON.parse(JSON.stringify(toMeta(defineService(spec), zone, 1_700_000_000_000))) as Json
  const entry = readEntry(entryOf(meta, spec.name))
  if (typeof entry === 'string') throw new Error(entry)
  return toInstance(entry, 'billing-1')
}

test('service-level call options reach every function that has none of its own', () => {
  const { functions } = defineService({
    name: 'MasterData',
    version: '2.1.0',
    timeoutMs: 900,
    retry: { limit: 3, afterMs: 50 },
    functions: {
      'get/1': {},
      'slow/2': { timeoutMs: 60_000 },
      'once/0': { retry: { limit: 0, afterMs: 0 } },
    },
  })
  expect(functions).toEqual({
    'get/1': { timeoutMs: 900, retry: { limit: 3, afterMs: 50 } },
    'slow/2': { timeoutMs: 60_000, retry: { limit: 3, afterMs: 50 } },
    'once/0': { timeoutMs: 900, retry: { limit: 0, afterMs: 0 } },
  })
})

test('a service that says nothing gets the defaults', () => {
  expect(defineService({ name: 'a', version: '1.0.0', functions: { 'f/0': {} } })).toEqual({
    name: 'a',
    version: '1.0.0',
    address: undefined,
    functions: { 'f/0': { timeoutMs: 5_000, retry: { limit: 0, afterMs: 0 } } },
    timeoutMs: 5_000,
    retry: { limit: 0, afterMs: 0 },
    metadata: {},
    zone: undefined,
    weight: 1,
    state: 'ready',
    capabilities: {},
  })
})

test('a definition is frozen all through, a copy, and defined only once', () => {
  const metadata = { owner: { team: 'a' } }
  const retry = { limit: 1, afterMs: 2 }
  const definition = defineService({
    name: 'a',
    version: '1.0.0',
    metadata,
    retry,
    functions: { 'f/0': { retry } },
  })
  metadata.owner.team = 'b'
  retry.limit = 99
  expect(definition.metadata).toEqual({ owner: { team: 'a' } })
  expect(definition.functions['f/0']?.retry.limit).toBe(1)
  for (const part of [
    definition,
    definition.metadata,
    definition.metadata['owner'],
    definition.retry,
    definition.functions,
    definition.functions['f/0'],
    definition.functions['f/0']?.retry,
    definition.capabilities,
  ]) {
    expect(Object.isFrozen(part)).toBe(true)
  }
  expect(defineService(definition)).toBe(definition)
})

test('a patch changes what it names; functions without options of their own follow the service', () => {
  const before = defineService({
    name: 'a',
    version: '1.0.0',
    zone: 'eu',
    timeoutMs: 900,
    functions: { 'f/0': {}, 'own/0': { timeoutMs: 10 } },
  })
  const after = patchService(before, { timeoutMs: 100, state: 'draining', zone: undefined })
  expect(after.functions['f/0']?.timeoutMs).toBe(100)
  expect(after.functions['own/0']?.timeoutMs).toBe(10)
  expect(after).toMatchObject({ name: 'a', version: '1.0.0', state: 'draining', zone: undefined })
  expect(patchService(after, { timeoutMs: 200 }).functions['f/0']?.timeoutMs).toBe(200)
  expect(() => patchService(before, { version: '2.0.0' } as object)).toThrow(
    failure('ROLLCALL_INVALID_ARGUMENT', 'version'),
  )
  expect(before.timeoutMs).toBe(900)
})

test('all that a service says arrives, deep-frozen', () => {
  const spec = {
    name: 'MasterData',
    version: '2.1.0-rc.1+build',
    address: 'https://billing-1:8443/api',
    functions: { 'get/1': { timeoutMs: 10 } },
    timeoutMs: 700,
    retry: { limit: 2, afterMs: 20 },
    metadata: JSON.parse('{"__proto__": {"polluted": true}, "list": [1, null]}') as {
      readonly [key: string]: Json
    },
    zone: 'eu-1',
    weight: 0.5,
    state: 'starting',
    capabilities: JSON.parse('{"__proto__": "up", "search": "down"}') as Record<string, string>,
  } as const
  const instance = received(spec)
  expect(instance).toEqual({
    ...spec,
    id: 'node-1/7/3',
    node: 'node-1',
    nodeName: 'billing-1',
    functions: { 'get/1': { timeoutMs: 10, retry: { limit: 2, afterMs: 20 } } },
    since: 1_700_000_000_000,
  })
  expect(Object.hasOwn(instance.metadata, '__proto__')).toBe(true)
  expect(Object.hasOwn(instance.capabilities, '__proto__')).toBe(true)
  expect(({} as { polluted?: true }).polluted).toBeUndefined()
  for (const part of [instance, instance.functions, instance.functions['get/1']]) {
    expect(Object.isFrozen(part)).toBe(true)
  }
})

test('the zone is that of the node unless the service names one; defaults are not sent', () => {
  expect(received({ name: 'a', version: '1.0.0' }, 'eu').zone).toBe('eu')
  expect(received({ name: 'a', version: '1.0.0', zone: 'us' }, 'eu').zone).toBe('us')
  expect(received({ name: 'a', version: '1.0.0' }).zone).toBeUndefined()
  expect(toMeta(defineService({ name: 'a', version: '1.0.0' }), undefined, 5)).toEqual({
    version: '1.0.0',
    since: 5,
  })
})

describe('what is wrong is refused, by name and value', () => {
  const good: ServiceSpec = { name: 'S', version: '1.0.0' }
  test.each<[object, string, ...string[]]>([
    [{ name: '' }, 'ROLLCALL_INVALID_ARGUMENT', 'name', '""'],
    [{ name: 'a\u0000b' }, 'ROLLCALL_INVALID_ARGUMENT', 'name'],
    [{ name: 'é'.repeat(129) }, 'ROLLCALL_INVALID_ARGUMENT', 'name', '256'],
    [{ name: 5 }, 'ROLLCALL_INVALID_ARGUMENT', 'name', '5'],
    [{ version: '2.1' }, 'ROLLCALL_INVALID_VERSION', 'version', '"2.1"', '"S"'],
    [{ version: 'v2.1.0' }, 'ROLLCALL_INVALID_VERSION', 'version', '"v2.1.0"'],
    [{ version: undefined }, 'ROLLCALL_INVALID_VERSION', 'version', 'undefined'],
    [{ version: `1.0.0-${'a'.repeat(300)}` }, 'ROLLCALL_INVALID_VERSION', 'version'],
    [{ address: 'nowhere' }, 'ROLLCALL_INVALID_ADDRESS', 'address', '"nowhere"'],
    [{ address: 'host:0' }, 'ROLLCALL_INVALID_ADDRESS', 'address'],
    [{ address: 'host:65536' }, 'ROLLCALL_INVALID_ADDRESS', 'address'],
    [{ address: '10.0.0.256:80' }, 'ROLLCALL_INVALID_ADDRESS', 'address'],
    [{ address: 'user@host:80' }, 'ROLLCALL_INVALID_ADDRESS', 'address'],
    [{ address: 'http://' }, 'ROLLCALL_INVALID_ADDRESS', 'address'],
    [{ address: '::1:80' }, 'ROLLCALL_INVALID_ADDRESS', 'address'],
    [{ timeoutMs: 0 }, 'ROLLCALL_INVALID_ARGUMENT', 'timeoutMs', '0'],
    [{ timeoutMs: NaN }, 'ROLLCALL_INVALID_ARGUMENT', 'timeoutMs', 'NaN'],
    [{ timeoutMs: 2 ** 31 }, 'ROLLCALL_INVALID_ARGUMENT', 'timeoutMs', '2147483648'],
    [{ retry: { limit: 1.5, afterMs: 0 } }, 'ROLLCALL_INVALID_ARGUMENT', 'retry', 'limit', '1.5'],
    [{ retry: { limit: 1 } }, 'ROLLCALL_INVALID_ARGUMENT', 'retry', 'afterMs', 'undefined'],
    [{ retry: { limit: 1, afterMs: 1, after: 1 } }, 'ROLLCALL_INVALID_ARGUMENT', 'retry', 'after'],
    [{ retry: null }, 'ROLLCALL_INVALID_ARGUMENT', 'retry', 'null'],
    [{ functions: { get: {} } }, 'ROLLCALL_INVALID_ARGUMENT', 'functions', '"get"', 'name/arity'],
    [{ functions: { 'get/256': {} } }, 'ROLLCALL_INVALID_ARGUMENT', 'functions', '"get/256"'],
    [{ functions: { 'get/01': {} } }, 'ROLLCALL_INVALID_ARGUMENT', 'functions', '"get/01"'],
    [{ functions: { '/1': {} } }, 'ROLLCALL_INVALID_ARGUMENT', 'functions', '"/1"'],
    [{ functions: { 'get/1': { timeoutMs: -1 } } }, 'ROLLCALL_INVALID_ARGUMENT', 'get/1', 'timeoutMs', '-1'],
    [{ functions: { 'get/1': { timeout: 1 } } }, 'ROLLCALL_INVALID_ARGUMENT', 'get/1', 'timeout'],
    [
      { functions: { 'get/1': { retry: { limit: 1, afterMs: 1, x: 1 } } } },
      'ROLLCALL_INVALID_ARGUMENT',
      'get/1',
      'x',
    ],
    [{ functions: ['get/1'] }, 'ROLLCALL_INVALID_ARGUMENT', 'functions', 'an array'],
    [{ metadata: [] }, 'ROLLCALL_INVALID_ARGUMENT', 'metadata', 'an array'],
    [{ metadata: { at: new Date(0) } }, 'ROLLCALL_INVALID_META', 'at', 'Date'],
    [{ metadata: { n: NaN } }, 'ROLLCALL_INVALID_META', 'n', 'NaN'],
    [{ metadata: { n: 1n } }, 'ROLLCALL_INVALID_META', 'n', 'bigint'],
    [{ metadata: { n: undefined } }, 'ROLLCALL_INVALID_META', 'n', 'undefined'],
    [{ zone: '' }, 'ROLLCALL_INVALID_ARGUMENT', 'zone', '""'],
    [{ weight: -1 }, 'ROLLCALL_INVALID_ARGUMENT', 'weight', '-1'],
    [{ weight: Infinity }, 'ROLLCALL_INVALID_ARGUMENT', 'weight', 'Infinity'],
    [{ state: 'dead' }, 'ROLLCALL_INVALID_ARGUMENT', 'state', '"dead"', 'draining'],
    [{ capabilities: { search: 1 } }, 'ROLLCALL_INVALID_ARGUMENT', 'capabilities', 'search'],
    [{ adress: 'host:80' }, 'ROLLCALL_INVALID_ARGUMENT', 'adress'],
  ])('%o', (wrong, code, ...words) =>
    expect(() => defineService({ ...good, ...wrong })).toThrow(failure(code, ...words)),
  )
  test.each([null, undefined, 'S', [good], 5])('%o is no service', (spec) =>
    expect(() => defineService(spec as unknown as ServiceSpec)).toThrow(failure('ROLLCALL_INVALID_ARGUMENT')),
  )
  test.each([
    'host:80',
    '127.0.0.1:65535',
    '[::1]:80',
    'http://host',
    'unix:///run/app.sock',
    'amqp://u:p@host:5672/v',
  ])('the address %s is right', (address) =>
    expect(defineService({ ...good, address }).address).toBe(address),
  )
})

describe('what a peer sends', () => {
  test.each<[Json, ...string[]]>([
    [null, 'null'],
    ['1.0.0', '"1.0.0"'],
    [[], 'an array'],
    [{}, 'version', 'undefined'],
    [{ version: '1' }, 'version', '"1"'],
    [{ version: '1.0.0', address: 5 }, 'address'],
    [{ version: '1.0.0', functions: { f: {} } }, 'functions'],
    [{ version: '1.0.0', functions: { 'f/0': null } }, 'functions'],
    [{ version: '1.0.0', retry: { limit: -1, afterMs: 0 } }, 'retry'],
    [{ version: '1.0.0', state: 5 }, 'state'],
    [{ version: '1.0.0', since: 'yesterday' }, 'since'],
    [{ version: '1.0.0', metadata: 'x' }, 'metadata'],
    [{ version: '1.0.0', capabilities: null }, 'capabilities'],
  ])('%o is no service, and the reason says why', (meta, ...words) => {
    const fault = readEntry(entryOf(meta))
    expect(typeof fault).toBe('string')
    for (const word of words) expect(fault).toContain(word)
  })

  test('C74: fields and states of a later version are let pass', () => {
    const meta = {
      version: '1.0.0',
      state: 'hibernating',
      colour: 'blue',
      functions: { 'f/0': { timeoutMs: 5, hedge: true } },
    }
    const entry = readEntry(entryOf(meta))
    if (typeof entry === 'string') throw new Error(entry)
    const instance = toInstance(entry, '')
    expect(instance.state).toBe('hibernating')
    expect(instance.functions['f/0']).toEqual({ timeoutMs: 5, retry: { limit: 0, afterMs: 0 } })
    expect(instance.since).toBe(0)
  })
})
