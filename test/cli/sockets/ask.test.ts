import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { EXIT } from '../../../src/cli/exit.ts'
import { openConsole } from '../../../src/console/console.ts'
import type { LiveEvent } from '../../../src/console/live-events.ts'
import type { Registry } from '../../../src/registry/registry.ts'
import type { Snapshot } from '../../../src/registry/watch-types.ts'
import { makeFolder, startRegistry } from '../../console/opened.ts'
import { came, linesOf, rollcall } from '../ran.ts'

const PATIENCE = { timeout: 10_000 }

afterEach(() => vi.unstubAllEnvs())

/** A process with a console: here, this one. */
async function open() {
  const registry = await startRegistry()
  const console = await openConsole(registry, { path: join(await makeFolder(), 'c.sock') })
  return { registry, console, socket: ['--socket', console.path] }
}

const parse = (text: string): unknown => JSON.parse(text)
const parseLines = (text: string): unknown[] => linesOf(text).map(parse)

/** Resolves when `events` listens. */
const heard = (registry: Registry): Promise<void> =>
  vi.waitFor(() => expect(registry.listenerCount('service_stale')).toBe(1), PATIENCE)

describe('services', () => {
  test('as a table, of all and of a name', async () => {
    const { registry, socket } = await open()
    registry.register({ name: 'Orders', version: '1.2.0', address: 'http://10.0.0.1:80' })
    registry.register({ name: 'Mail', version: '1.0.0' })
    const { code, out, errors } = await came(['services', ...socket])
    expect([code, errors]).toEqual([EXIT.done, ''])
    const [head, ...rows] = linesOf(out)
    expect(head).toMatch(/^name +version +node +address +state +since$/)
    expect(rows).toEqual([
      expect.stringMatching(/^Mail +1\.0\.0 +billing-1 +ready +20\d\d-/),
      expect.stringMatching(/^Orders +1\.2\.0 +billing-1 +http:\/\/10\.0\.0\.1:80 +ready +20\d\d-/),
    ])
    expect(linesOf((await came(['services', 'Mail', ...socket])).out)).toHaveLength(2)
    expect(linesOf((await came(['services', '--node', 'billing-1', ...socket])).out)).toHaveLength(3)
    expect(await came(['services', '--node', 'other', ...socket])).toMatchObject({
      code: 0,
      out: '(no services)\n',
    })
  })

  test('as JSON: one value, without what is undefined', async () => {
    const { registry, socket } = await open()
    const { id } = registry.register({ name: 'Orders', version: '1.2.0' }).instance
    const { out } = await came(['services', '--json', ...socket])
    expect(linesOf(out)).toHaveLength(1)
    expect(parse(out)).toEqual([
      expect.objectContaining({
        id,
        name: 'Orders',
        version: '1.2.0',
        nodeName: 'billing-1',
        state: 'ready',
      }),
    ])
    expect(out).not.toContain('address')
    expect(await came(['services', 'Nothing', '--json', ...socket])).toMatchObject({ code: 0, out: '[]\n' })
  })

  test('at the width of the terminal, else 100 columns; heads are bold where there are colours', async () => {
    const { registry, socket } = await open()
    registry.register({ name: 'N'.repeat(60), version: '1.2.0', address: `http://${'h'.repeat(60)}` })
    const widthOf = ({ out }: { out: string }): number => linesOf(out)[1]!.length
    expect(widthOf(await came(['services', ...socket]))).toBe(100)
    expect(widthOf(await came(['services', ...socket], { columns: 120, colours: false }))).toBe(120)
    const coloured = await came(['services', ...socket], { columns: 120, colours: true })
    expect(coloured.out.replaceAll('\x1b', '^')).toMatch(/^\^\[1mname .*\^\[22m\nN/)
    for (const terminal of [undefined, { columns: 120, colours: false }]) {
      expect((await came(['services', ...socket], terminal)).out).not.toContain('\x1b')
    }
  })

  test('nine thousand of them, some 20 MB, arrive whole', async () => {
    const { registry, socket } = await open()
    for (let each = 0; each < 9_000; each++) {
      registry.register({ name: `Service-${each}`, version: '1.0.0', metadata: { text: 'x'.repeat(2_000) } })
    }
    const { code, out } = await came(['services', '--json', ...socket])
    expect([code, (parse(out) as unknown[]).length]).toEqual([EXIT.done, 9_000])
  })
})

test('nodes', async () => {
  const { registry, socket } = await open()
  expect((await came(['nodes', ...socket])).out).toMatch(/^name +node +status .*\nbilling-1 .* here .*\n$/)
  const { out } = await came(['nodes', '--json', ...socket])
  expect(parse(out)).toEqual([expect.objectContaining({ id: registry.tracker.id, self: true, status: 'up' })])
})

describe('lookup', () => {
  test('what it returns, by requirement and filters', async () => {
    const { registry, socket } = await open()
    registry.register({ name: 'Orders', version: '1.2.0', zone: 'a', functions: { 'get/1': {} } })
    registry.register({ name: 'Orders', version: '1.2.0', zone: 'b', capabilities: { write: 'ready' } })
    registry.register({ name: 'Orders', version: '2.0.0', state: 'unready' })
    const found = async (...args: string[]): Promise<unknown> =>
      parse((await came(['lookup', 'Orders', ...args, '--json', ...socket])).out)
    const plain = await came(['lookup', 'Orders', '~> 1.0', ...socket])
    expect(plain).toMatchObject({ code: EXIT.done, errors: '' })
    expect(plain.out).toMatch(/^name .*\nOrders +1\.2\.0 +billing-1 +ready .*\n$/)
    for (const turn of [1, 2])
      expect([turn, await found('--zone', 'b')]).toMatchObject([turn, { service: { zone: 'b' } }])
    expect(await found('--function', 'get/1')).toMatchObject({ ok: true, service: { zone: 'a' } })
    expect(await found('--capability', 'write')).toMatchObject({ ok: true, service: { zone: 'b' } })
    expect(await found('--state', 'unready')).toMatchObject({ ok: true, service: { version: '2.0.0' } })
  })

  test('nothing: an exit code of its own, and why', async () => {
    const { registry, socket } = await open()
    registry.register({ name: 'Orders', version: '1.2.0' })
    expect(await came(['lookup', 'Orders', '~> 2.0', ...socket])).toEqual({
      code: EXIT.nothing,
      out: '',
      errors: 'rollcall: the lookup found nothing: noversion\n',
    })
    registry.freeze()
    const { errors } = await came(['lookup', 'Mail', ...socket])
    expect(errors).toBe('rollcall: the lookup found nothing: noservice, and what is known may be old\n')
    const { code, out } = await came(['lookup', 'Mail', '--json', ...socket])
    expect([code, parse(out)]).toEqual([EXIT.nothing, { ok: false, error: 'noservice', degraded: true }])
  })
})

test('explain', async () => {
  const { registry, socket } = await open()
  registry.register({ name: 'Orders', version: '1.2.0' })
  const args = ['explain', 'Orders', '~> 2.0', ...socket]
  expect((await came(args)).out).toMatch(/^returned +reason +text\nno +version +Orders 1\.2\.0 on/)
  expect(parse((await came([...args, '--json'])).out)).toMatchObject([{ returned: false, reason: 'version' }])
  expect(await came(['explain', 'Nothing', ...socket])).toMatchObject({ code: 0, out: '(no instances)\n' })
  expect((await came(['explain', 'Orders', '--state', 'draining', ...socket])).out).toMatch(/\nno +state /)
})

describe('watch', () => {
  test('a line per snapshot, until there are enough', async () => {
    const { registry, socket } = await open()
    const ran = rollcall(['watch', 'Orders', '--count', '2', ...socket])
    await vi.waitFor(() => expect(ran.out()).toMatch(/^Orders at revision \d+: nobody\n$/), PATIENCE)
    registry.register({ name: 'Orders', version: '1.2.0' })
    expect(await ran.code).toBe(EXIT.done)
    expect(linesOf(ran.out())[1]).toMatch(/^Orders at revision \d+: 1\.2\.0 on billing-1$/)
    expect(linesOf(ran.out())).toHaveLength(2)
  })

  test('as JSON, by requirement and filters, a value per line', async () => {
    const { registry, socket } = await open()
    const args = ['watch', 'Orders', '~> 1.0', '--state', 'any', '--json', '--count', '2', ...socket]
    const ran = rollcall(args)
    await vi.waitFor(() => expect(ran.out()).not.toBe(''), PATIENCE)
    registry.register({ name: 'Orders', version: '2.0.0' })
    registry.register({ name: 'Orders', version: '1.2.0', state: 'unready' })
    expect(await ran.code).toBe(EXIT.done)
    const snapshots = parseLines(ran.out()) as Snapshot[]
    expect(snapshots.map(({ instances }) => instances.map(({ version }) => version))).toEqual([[], ['1.2.0']])
  })
})

describe('events', () => {
  test('a line per event, until there are enough', async () => {
    const { registry, socket } = await open()
    const ran = rollcall(['events', '--count', '2', ...socket])
    await heard(registry)
    registry.register({ name: 'Orders', version: '1.2.0' })
    registry.freeze()
    expect(await ran.code).toBe(EXIT.done)
    expect(linesOf(ran.out())).toEqual([
      expect.stringMatching(/^20\d\d-\S+ \S+Z {2}service_up {8}Orders 1\.2\.0 on billing-1, ready$/),
      expect.stringMatching(/Z {2}degraded {10}frozen$/),
    ])
    await vi.waitFor(() => expect(registry.listenerCount('service_stale')).toBe(0), PATIENCE)
  })

  test('as JSON, a value per line, with its time', async () => {
    const { registry, socket } = await open()
    const ran = rollcall(['events', '--json', '--count', '1', ...socket])
    await heard(registry)
    const since = Date.now()
    registry.register({ name: 'Orders', version: '1.2.0' })
    expect(await ran.code).toBe(EXIT.done)
    const [{ event, at, data }] = parseLines(ran.out()) as [LiveEvent]
    expect([event, data]).toMatchObject(['service_up', { instance: { name: 'Orders' } }])
    expect(Object.keys(data)).toEqual(['instance'])
    expect(at).toBeGreaterThanOrEqual(since)
  })
})

test('drain: what was drained, when it is gone; the rest stays', async () => {
  const { registry, socket } = await open()
  registry.register({ name: 'Orders', version: '1.2.0' })
  registry.register({ name: 'Mail', version: '1.0.0' })
  const args = ['drain', 'Mail', '--grace-ms', '50', '--settle-ms', '0', ...socket]
  const { code, out } = await came(args)
  expect([code, linesOf(out)[1]]).toEqual([
    EXIT.done,
    expect.stringMatching(/^Mail +1\.0\.0 +billing-1 +draining /),
  ])
  expect(registry.services()).toMatchObject([{ name: 'Orders', state: 'ready' }])
  expect(await came(args)).toMatchObject({ code: EXIT.done, out: '(nothing to drain)\n' })
  const rest = await came(['drain', '--grace-ms', '0', '--json', ...socket])
  expect(parse(rest.out)).toMatchObject([{ name: 'Orders' }])
  expect(registry.services()).toEqual([])
})

test('metrics: as Prometheus reads them, and as one JSON text', async () => {
  const { socket } = await open()
  const plain = await came(['metrics', ...socket])
  expect([plain.code, plain.out]).toEqual([
    EXIT.done,
    expect.stringContaining('\nrollcall_nodes{status="up"} 1\n'),
  ])
  expect(parse((await came(['metrics', '--json', ...socket])).out)).toContain(
    'rollcall_nodes{status="up"} 1\n',
  )
})

test('C44: hostile names are ordinary, and shown escaped', async () => {
  const { registry, socket } = await open()
  for (const name of ['__proto__', 'constructor', '<script>', 'a\u202eb']) {
    registry.register({ name, version: '1.0.0' })
    const { code, out } = await came(['lookup', name, '--json', ...socket])
    expect([code, parse(out)]).toMatchObject([0, { service: { name } }])
  }
  expect((await came(['services', 'a\u202eb', ...socket])).out).toContain('a\\u{202e}b')
  expect(await came(['lookup', 'toString', ...socket])).toMatchObject({ code: EXIT.nothing })
})

describe('what goes wrong', () => {
  test.each([
    [['lookup', 'X', 'not one'], 'ROLLCALL_INVALID_REQUIREMENT'],
    [['lookup', ''], 'ROLLCALL_INVALID_ARGUMENT'],
    [['watch', 'X', '--state', 'fine'], 'ROLLCALL_INVALID_ARGUMENT'],
  ])('%j is refused by the process: 2, %s', async (args, code) => {
    const { socket } = await open()
    const plain = await came([...args, ...socket])
    expect(plain).toMatchObject({ code: EXIT.usage, out: '' })
    expect(plain.errors).toMatch(new RegExp(`^rollcall: .+ \\(${code}\\)\n$`))
    const { errors } = await came([...args, '--json', ...socket])
    expect(parse(errors)).toEqual({ error: { code, message: expect.any(String) as string } })
  })

  test('nobody there: 4; no socket: 1', async () => {
    const folder = await makeFolder()
    const absent = ['nodes', '--socket', join(folder, 'absent')]
    expect(await came(absent)).toMatchObject({ code: EXIT.absent, out: '' })
    expect(parse((await came([...absent, '--json'])).errors)).toMatchObject({
      error: { code: 'ROLLCALL_CONSOLE_ABSENT' },
    })
    await writeFile(join(folder, 'file'), '')
    expect(await came(['nodes', '--socket', join(folder, 'file')])).toMatchObject({
      code: EXIT.failed,
      errors: expect.stringContaining('(ROLLCALL_CONSOLE_PATH)') as string,
    })
  })

  test('without --socket: the only one; none: 4; several: 2, and which', async () => {
    const folder = await makeFolder()
    vi.stubEnv('XDG_RUNTIME_DIR', folder)
    expect(await came(['nodes'])).toMatchObject({
      code: EXIT.absent,
      errors:
        'rollcall: There is no console; a process opens one with openConsole (ROLLCALL_CONSOLE_ABSENT)\n',
    })
    const console = await openConsole(await startRegistry())
    expect(await came(['nodes'])).toMatchObject({ code: EXIT.done, errors: '' })
    // A process that was killed leaves such a thing, at which nobody listens.
    await writeFile(join(dirname(console.path), '1.sock'), '')
    expect(await came(['nodes'])).toMatchObject({ code: EXIT.done, errors: '' })
    const other = await openConsole(await startRegistry(), {
      path: join(dirname(console.path), 'other.sock'),
    })
    const paths = [console.path, other.path]
    expect(await came(['nodes'])).toEqual({
      code: EXIT.usage,
      out: '',
      errors: `rollcall: which of these?\n${paths.join('\n')}\n`,
    })
    expect(parse((await came(['nodes', '--json'])).errors)).toEqual({
      error: { code: 'ROLLCALL_INVALID_ARGUMENT', message: `which of these?\n${paths.join('\n')}` },
    })
  })

  test.each([
    ['the registry', 'ROLLCALL_CLOSED'],
    ['the console', 'ROLLCALL_CONSOLE_ENDED'],
  ])('%s closes while it is watched: 3', async (what, errorCode) => {
    const { registry, console, socket } = await open()
    const ran = rollcall(['watch', 'Orders', ...socket])
    await vi.waitFor(() => expect(ran.out()).not.toBe(''), PATIENCE)
    await (what === 'the registry' ? registry : console).close()
    expect(await ran.code).toBe(EXIT.ended)
    expect(ran.errors()).toMatch(new RegExp(`^rollcall: .* closed \\(${errorCode}\\)\n$`))
  })

  test('who answers is no console, or one that takes no commands: 1, in words', async () => {
    const folder = await makeFolder()
    const answers = {
      'web.sock': 'HTTP/1.1 400 Bad Request\r\n\r\n',
      'old.sock': '{"kind":"bye","by":"console","text":"the client speaks another protocol"}\n',
      'mute.sock': '',
    }
    const ran = []
    for (const [name, text] of Object.entries(answers)) {
      const path = join(folder, name)
      const server = createServer((socket) => socket.end(text).resume())
      await new Promise<void>((done) => void server.listen(path, done))
      const { code, errors } = await came(['nodes', '--socket', path])
      ran.push([code, errors])
      server.close()
    }
    expect(ran).toEqual([
      [EXIT.failed, expect.stringContaining('(ROLLCALL_CONSOLE_PROTOCOL)')],
      [
        EXIT.failed,
        'rollcall: The process runs an older rollcall, which takes no commands; rollcall console attaches to it (ROLLCALL_CONSOLE_PROTOCOL)\n',
      ],
      [EXIT.ended, expect.stringContaining('(ROLLCALL_CONSOLE_ENDED)')],
    ])
  })
})
