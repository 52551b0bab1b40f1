import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { EXIT } from '../../../src/cli/exit.ts'
import { createRegistry } from '../../../src/create.ts'
import { makeFolder } from '../../console/opened.ts'
import { PATIENCE, rollcall } from '../../console/started.ts'
import { startSidecar, TOKEN } from '../sidecar.ts'

const authorization = `Bearer ${TOKEN}`

/** As arguments. */
const joining = (addresses: readonly string[]): string[] =>
  addresses.flatMap((address) => ['--join', address])

const put = (url: string, id: string, spec: object): Promise<Response> =>
  fetch(`${url}/v1/registrations/${id}`, {
    method: 'PUT',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ leaseMs: 60_000, ...spec }),
  })

async function stateOf(url: string, name: string): Promise<unknown> {
  const answer = await fetch(`${url}/v1/services/${name}?state=any`)
  const { instances } = (await answer.json()) as { readonly instances: readonly { readonly state: string }[] }
  return instances[0]?.state
}

test('ready: one line, with id, addresses, url and console, all of which answer', async () => {
  const path = join(await makeFolder(), 'c.sock')
  const { ready } = await startSidecar(['--name', 'side', '--zone', 'a', '--console', path])
  expect(ready).toMatchObject({ name: 'side', console: path, url: expect.stringMatching(/^http:/) as string })
  const { node } = (await (await fetch(`${ready.url}/v1/services`)).json()) as { node: unknown }
  expect(node).toEqual({ id: ready.node, name: 'side' })
  const asked = rollcall(['nodes', '--json', '--socket', path])
  expect(await asked.code).toBe(EXIT.done)
  expect(JSON.parse(asked.out())).toMatchObject([{ id: ready.node, zone: 'a', addresses: ready.addresses }])
})

test('for people, the same in words', async () => {
  const run = rollcall(['agent', '--http-port', '0', '--name', 'side'])
  await vi.waitFor(() => expect(run.out()).not.toBe(''), PATIENCE)
  expect(run.out()).toMatch(
    /^ready: side \(12D3\w+\), joined at \/ip4\/\S+, HTTP at http:\/\/127\.0\.0\.1:\d+\n$/,
  )
})

test('it joins a cluster by its secret, and logs what comes and goes', async () => {
  const secretFile = join(await makeFolder(), 'secret')
  const secret = 'a secret of sixteen bytes'
  await writeFile(secretFile, `${secret}\n`)
  const registry = await createRegistry({ name: 'caller', profile: 'local', secret })
  onTestFinished(() => registry.close())
  registry.register({ name: 'Orders', version: '1.2.0' })
  const { ready, errors } = await startSidecar([
    ...['--secret-file', secretFile, '--join', '127.0.0.1:1'],
    ...joining(registry.addresses),
  ])
  await put(ready.url, 'mail', { name: 'Mail', version: '2.0.0' })
  expect((await registry.waitFor('Mail', '2.0.0', { timeoutMs: 10_000 })).node).toBe(ready.node)
  await vi.waitFor(() => {
    const lines = errors()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(lines).toContainEqual({
      time: expect.stringMatching(/^20\d\d-\d\d-\d\dT/) as string,
      level: 'info',
      message: expect.stringMatching(/^Orders 1\.2\.0 became available/) as string,
    })
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        code: 'ROLLCALL_PEER_UNREACHABLE',
        where: '127.0.0.1:1',
      }),
    )
  }, PATIENCE)
})

describe('signals', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: what it offers drains, it leaves, and ends with 0',
    async (signal) => {
      const { ready, child, code } = await startSidecar()
      const registry = await createRegistry({ profile: 'local', join: ready.addresses })
      try {
        await put(ready.url, 'mail', { name: 'Mail', version: '2.0.0' })
        await registry.waitFor('Mail', undefined, { timeoutMs: 10_000 })
        const seen: string[] = []
        registry.on('service_changed', ({ instance: { state } }) => seen.push(state))
        registry.on('service_down', ({ reason }) => seen.push(reason))
        registry.tracker.on('node_down', (_, reason) => seen.push(`node ${reason}`))
        const since = performance.now()
        child.kill(signal)
        expect(await code).toBe(0)
        // Time for others to hear of it, and not the ten seconds that calls might take.
        expect(performance.now() - since).toBeGreaterThan(900)
        expect(performance.now() - since).toBeLessThan(6_000)
        await vi.waitFor(() => expect(seen).toEqual(['draining', 'drained', 'node left']), PATIENCE)
      } finally {
        await registry.close()
      }
    },
  )

  test('with nothing to drain it ends at once', async () => {
    const { child, code } = await startSidecar()
    const since = performance.now()
    child.kill('SIGTERM')
    expect(await code).toBe(0)
    expect(performance.now() - since).toBeLessThan(900)
  })

  test('a second one is not waited out', async () => {
    const { ready, child } = await startSidecar()
    await put(ready.url, 'mail', { name: 'Mail', version: '2.0.0' })
    const ended = once(child, 'exit')
    const since = performance.now()
    child.kill('SIGTERM')
    await vi.waitFor(async () => expect(await stateOf(ready.url, 'Mail')).toBe('draining'))
    child.kill('SIGTERM')
    expect(await ended).toEqual([null, 'SIGTERM'])
    expect(performance.now() - since).toBeLessThan(900)
  })
})

describe('it cannot start: one line with a code, and 1', () => {
  test.each([
    ['an unknown option', { nmae: 'x' }, 'ROLLCALL_INVALID_OPTION', 'there is no option "nmae"'],
    ['an unknown option of HTTP', { http: { prot: 0 } }, 'ROLLCALL_INVALID_ARGUMENT', 'unknown field "prot"'],
    ['an option that is wrong', { downPeriodMs: 1 }, 'ROLLCALL_INVALID_OPTION', 'downPeriodMs'],
    ['an address that is none', { join: 'nowhere' }, 'ROLLCALL_INVALID_ADDRESS', 'nowhere'],
  ])('%s', async (_, config, code, message) => {
    const path = join(await makeFolder(), 'config.json')
    await writeFile(path, JSON.stringify(config))
    const run = rollcall(['agent', '--config', path])
    expect([await run.code, run.out()]).toEqual([EXIT.failed, ''])
    expect(run.errors()).toMatch(new RegExp(`^rollcall: .+ \\(${code}\\)\n$`))
    expect(run.errors()).toContain(message)
  })

  test('its port is in use; as JSON', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const run = rollcall(['agent', '--json', '--http-port', String(port)])
    expect(await run.code).toBe(EXIT.failed)
    const { error } = JSON.parse(run.errors()) as { error: { code: string; message: string } }
    expect(error).toMatchObject({
      code: 'ROLLCALL_START_FAILED',
      message: expect.stringContaining(String(port)) as string,
    })
    server.close()
  })
})

test('C40: another process has its identity: the one that yields says so, and ends with 1', async () => {
  const witness = await createRegistry({ profile: 'local' })
  onTestFinished(() => witness.close())
  const other = await createRegistry({ profile: 'local', join: witness.addresses })
  onTestFinished(() => other.close())
  const identity = ['--identity-file', join(await makeFolder(), 'identity')]
  const twins = []
  for (const { addresses } of [witness, other])
    twins.push(await startSidecar([...identity, ...joining(addresses)]))
  const [code, errors] = await Promise.race(
    twins.map(async (twin) => [await twin.code, twin.errors()] as const),
  )
  expect(code).toBe(EXIT.failed)
  expect(JSON.parse(errors.trimEnd().split('\n').at(-1)!)).toMatchObject({
    error: { code: 'ROLLCALL_IDENTITY_CONFLICT' },
  })
})
