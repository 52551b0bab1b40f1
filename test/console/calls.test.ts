import { describe, expect, test } from 'vitest'
import { answerCall, failureOf } from '../../src/console/calls.ts'
import { RollcallError } from '../../src/errors.ts'
import type { Registry } from '../../src/registry/registry.ts'
import type { Instance } from '../../src/registry/types.ts'
import { startRegistry } from './opened.ts'

type Values = AsyncIterator<unknown, undefined>

const never = new AbortController().signal

/** All that is answered, as it crosses the wire. */
async function answer(registry: Registry, command: string, args: object = {}): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of await answerCall(registry, command, args as Record<string, unknown>, never)) {
    values.push(JSON.parse(JSON.stringify(value)))
  }
  return values
}

async function follow(
  registry: Registry,
  command: string,
  args: object = {},
  signal = never,
): Promise<Values> {
  const values = await answerCall(registry, command, args as Record<string, unknown>, signal)
  return (values as AsyncIterable<unknown, undefined>)[Symbol.asyncIterator]()
}

test('services: all, those of a name in every state and version, those of a node', async () => {
  const registry = await startRegistry({ prerelease: 'exclude' })
  registry.register({ name: 'Orders', version: '1.2.0' })
  registry.register({ name: 'Orders', version: '2.0.0-rc.1', state: 'unready' })
  registry.register({ name: 'Mail', version: '1.0.0' })
  const names = async (args: object): Promise<unknown[]> =>
    (await answer(registry, 'services', args)).map((each) => (each as Instance).version)
  expect(await names({})).toEqual(['1.0.0', '2.0.0-rc.1', '1.2.0'])
  expect(await names({ name: 'Orders' })).toEqual(['2.0.0-rc.1', '1.2.0'])
  expect(await names({ name: 'Orders', node: 'other' })).toEqual([])
  expect(await names({ node: 'billing-1' })).toHaveLength(3)
  expect(await names({ node: 'other' })).toEqual([])
})

test('nodes, lookup and explain answer as the registry does', async () => {
  const registry = await startRegistry()
  registry.register({ name: 'Orders', version: '1.2.0', zone: 'a' })
  const question = { name: 'Orders', requirement: '~> 1.0', options: { state: 'ready', zone: 'a' } }
  expect(await answer(registry, 'nodes')).toMatchObject([{ name: 'billing-1', self: true }])
  expect(await answer(registry, 'lookup', question)).toMatchObject([
    { ok: true, service: { version: '1.2.0' } },
  ])
  expect(await answer(registry, 'lookup', { ...question, requirement: '~> 2.0' })).toEqual([
    { ok: false, error: 'noversion', degraded: false },
  ])
  expect(await answer(registry, 'explain', { ...question, requirement: '~> 2.0' })).toMatchObject([
    { returned: false, reason: 'version' },
  ])
  expect(await answer(registry, 'lookup', { ...question, options: { state: 'draining' } })).toMatchObject([
    { error: 'noinstance' },
  ])
})

test('watch: a snapshot at once and at each change, until it is called off', async () => {
  const registry = await startRegistry()
  const over = new AbortController()
  const watch = await follow(registry, 'watch', { name: 'Orders', options: { state: 'any' } }, over.signal)
  expect((await watch.next()).value).toMatchObject({ service: 'Orders', instances: [] })
  const next = watch.next()
  registry.register({ name: 'Orders', version: '1.2.0', state: 'unready' })
  expect((await next).value).toMatchObject({ instances: [{ version: '1.2.0' }] })
  const last = watch.next()
  over.abort()
  await expect(last).rejects.toThrow('aborted')
})

test('events: what happens from then on, by name, and no listener is left behind', async () => {
  const registry = await startRegistry()
  const before = listeners(registry)
  const over = new AbortController()
  const events = await follow(registry, 'events', {}, over.signal)
  const first = events.next()
  expect(listeners(registry)).toBeGreaterThan(before)
  const registration = registry.register({ name: 'Orders', version: '1.2.0' })
  registration.update({ weight: 2 })
  registration.unregister()
  expect((await first).value).toMatchObject({
    event: 'service_up',
    data: { instance: { name: 'Orders', weight: 1 } },
  })
  expect((await events.next()).value).toMatchObject({
    event: 'service_changed',
    data: { instance: { weight: 2 }, previous: { weight: 1 } },
  })
  expect((await events.next()).value).toMatchObject({
    event: 'service_down',
    data: { reason: 'unregistered' },
  })
  const last = events.next()
  over.abort()
  await expect(last).rejects.toThrow('aborted')
  expect(listeners(registry)).toBe(before)
})

/** On the registry and its tracker, of events of either. */
const listeners = (registry: Registry): number =>
  [registry, registry.tracker].reduce(
    (sum, emitter) =>
      sum +
      emitter.eventNames().reduce<number>((all, event) => all + emitter.listenerCount(event as never), 0),
    0,
  )

test('events of the tracker have their payload by name, and errors as data', async () => {
  const registry = await startRegistry()
  const events = await follow(registry, 'events')
  const first = events.next()
  const fire = Reflect.get(registry.tracker, 'dispatch') as (event: string, ...payload: unknown[]) => void
  fire.call(registry.tracker, 'rejected', 'n1', 'ROLLCALL_FRAME_INVALID', 'why')
  fire.call(registry.tracker, 'problem', 'host:80', new RollcallError('ROLLCALL_PEER_UNREACHABLE', 'why'))
  expect((await first).value).toMatchObject({
    event: 'rejected',
    data: { from: 'n1', code: 'ROLLCALL_FRAME_INVALID', message: 'why' },
  })
  expect(JSON.parse(JSON.stringify((await events.next()).value))).toMatchObject({
    event: 'problem',
    data: { where: 'host:80', error: { code: 'ROLLCALL_PEER_UNREACHABLE', message: 'why' } },
  })
  await registry.close()
})

test('events: a reader that is too far behind is cut off', async () => {
  const registry = await startRegistry()
  const events = await follow(registry, 'events')
  const first = events.next()
  registry.freeze()
  expect((await first).value).toMatchObject({ event: 'degraded', data: { reason: 'frozen' } })
  for (let each = 0; each < 5_001; each++) {
    registry.unfreeze()
    registry.freeze()
  }
  await expect(drainAll(events)).rejects.toThrow(expect.objectContaining({ code: 'ROLLCALL_LIMIT_EXCEEDED' }))
})

async function drainAll(values: Values): Promise<void> {
  while ((await values.next()).done !== true);
}

test.each(['watch', 'events'])('%s: that the registry closes is not a good end', async (command) => {
  const registry = await startRegistry()
  const values = await follow(registry, command, command === 'watch' ? { name: 'Orders' } : {})
  const first = values.next()
  await registry.close()
  await first.catch(() => undefined)
  await expect(Promise.all([first, drainAll(values)])).rejects.toThrow(
    expect.objectContaining({ code: 'ROLLCALL_CLOSED' }),
  )
})

describe('drain', () => {
  test('all that the process offers, and answers when it is gone', async () => {
    const registry = await startRegistry()
    registry.register({ name: 'Orders', version: '1.2.0' })
    registry.register({ name: 'Mail', version: '1.0.0' })
    const drained = answer(registry, 'drain', { graceMs: 30, settleMs: 0 })
    await Promise.resolve()
    expect(registry.services().map(({ state }) => state)).toEqual(['draining', 'draining'])
    expect(await drained).toMatchObject([{ name: 'Orders', state: 'draining' }, { name: 'Mail' }])
    expect(registry.services()).toEqual([])
    expect(registry.closed).toBe(false)
  })

  test('only what it offers by a name', async () => {
    const registry = await startRegistry()
    registry.register({ name: 'Orders', version: '1.2.0' })
    registry.register({ name: 'Mail', version: '1.0.0' })
    expect(await answer(registry, 'drain', { name: 'Mail', graceMs: 0 })).toMatchObject([{ name: 'Mail' }])
    expect(registry.services()).toMatchObject([{ name: 'Orders', state: 'ready' }])
    expect(await answer(registry, 'drain', { name: 'Nothing' })).toEqual([])
  })
})

test('metrics: Prometheus text, twice, and apart from what the program collects', async () => {
  const registry = await startRegistry()
  registry.register({ name: 'Orders', version: '1.2.0' })
  const [first] = await answer(registry, 'metrics')
  expect(first).toContain('\nrollcall_instances{service="Orders",state="ready"} 1\n')
  registry.register({ name: 'Orders', version: '1.3.0' })
  const [second] = await answer(registry, 'metrics')
  expect(second).toContain('\nrollcall_instance_ups_total 1\n')
})

describe('what is refused', () => {
  test.each([
    ['evaluate', {}, 'The command is "evaluate": must be one of services, nodes, '],
    ['__proto__', {}, 'The command is "__proto__"'],
    ['nodes', { name: 'X' }, 'The command nodes has an unknown field "name"'],
    ['lookup', {}, 'must not be empty'],
    ['lookup', { name: 1 }, 'must be a string'],
    ['lookup', { name: null }, 'must be a string'],
    ['lookup', { name: 'X', options: { zoen: 'a' } }, 'has an unknown field "zoen"'],
    ['lookup', { name: 'X', options: 'zone' }, 'must be an object'],
    ['watch', { name: 'X', options: { zone: 'a' } }, 'has an unknown field "zone"'],
    ['explain', { name: 'X', requirement: 'not one' }, 'not one'],
    ['services', { name: '' }, 'must not be empty'],
  ])('%s %j', async (command, args, message) => {
    const registry = await startRegistry()
    await expect(answer(registry, command, args)).rejects.toThrow(message)
    await expect(answer(registry, command, args)).rejects.toBeInstanceOf(RollcallError)
  })

  test('a drain without sense, before anything drains', async () => {
    const registry = await startRegistry()
    registry.register({ name: 'Orders', version: '1.2.0' })
    await expect(answer(registry, 'drain', { graceMs: 'long' })).rejects.toThrow('The option graceMs')
    expect(registry.services()).toMatchObject([{ state: 'ready' }])
  })
})

test('a failure has the code of its error, and one of its own for a fault', () => {
  expect(failureOf(new RollcallError('ROLLCALL_CLOSED', 'why'))).toEqual({
    kind: 'failure',
    code: 'ROLLCALL_CLOSED',
    message: 'why',
  })
  expect(failureOf(new TypeError('x is not a function'))).toEqual({
    kind: 'failure',
    code: 'ROLLCALL_CONSOLE_FAILED',
    message: 'TypeError: x is not a function',
  })
})
