import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { attach } from '../../../src/console/attach.ts'
import { openConsole } from '../../../src/console/console.ts'
import { encodeMessage } from '../../../src/console/message.ts'
import type { ServiceWatch } from '../../../src/registry/watch-types.ts'
import { makeFolder, pipe, say, startRegistry } from '../opened.ts'

async function open() {
  const registry = await startRegistry()
  const console = await openConsole(registry, { path: join(await makeFolder(), 'c.sock') })
  return { registry, console, path: console.path }
}

test('piped lines run one after the other, are answered in plain text, and end with the input', async () => {
  const { registry, path } = await open()
  registry.register({ name: 'Orders', version: '1.2.0', address: 'http://10.0.0.1:80' })
  const shown = await say(path, "services()\nservices()[0].version\nservices('other-1')\nlookup('Nothing')\n")
  const [head, row, ...rest] = shown.trimEnd().split('\n')
  expect(head).toMatch(/^name +version +node +address +state +since$/)
  expect(row).toMatch(
    /^Orders +1\.2\.0 +billing-1 +http:\/\/10\.0\.0\.1:80 +ready +20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ$/,
  )
  expect(rest).toEqual(["'1.2.0'", '(no services)', '(noservice)'])
})

test('a line may await, and statements may span lines', async () => {
  const { path } = await open()
  const text =
    "await new Promise((done) => setTimeout(done, 20, 'late'))\nfunction twice(n) {\n  return 2 * n\n}\ntwice(21)\n"
  expect(await say(path, text)).toBe("'late'\n42\n")
})

test('what is wrong is said, and the session goes on', async () => {
  const { path } = await open()
  const shown = await say(path, "lookup('X', 'not a requirement')\nlookup('')\n1 + 1\n")
  expect(shown).toContain('ROLLCALL_INVALID_REQUIREMENT')
  expect(shown).toContain('ROLLCALL_INVALID_ARGUMENT')
  expect(shown).toMatch(/\n2\n$/)
})

test('every command answers', async () => {
  const { registry, path } = await open()
  registry.register({ name: 'Orders', version: '1.2.0' })
  expect(await say(path, "lookup('Orders')\n")).toMatch(/^name[^]*Orders/)
  expect(await say(path, "lookup('Orders').service.version\n")).toBe("'1.2.0'\n")
  expect(await say(path, "explain('Orders', '~> 2.0')\n")).toMatch(
    /^returned +reason +text\nno +version +Orders 1\.2\.0 on/,
  )
  expect(await say(path, 'nodes()\nnodes()[0].self\n')).toMatch(/^name[^]*billing-1[^]* here [^]*\ntrue\n$/)
  expect(await say(path, 'diagnostics()\n')).toMatch(/services: \{ offered: 1, rejected: 0, avoided: 0 \}/)
  expect(await say(path, 'registry.register({ name: "Mail", version: "1.0.0" }), 0\n')).toBe('0\n')
  expect(registry.lookup('Mail').ok).toBe(true)
  const help = await say(path, 'help()\n')
  for (const command of [
    'services',
    'lookup',
    'explain',
    'nodes',
    'watch',
    'diagnostics',
    'registry',
    '.exit',
  ]) {
    expect(help).toContain(command)
  }
})

test('two sessions share the registry and no variables', async () => {
  const { path } = await open()
  const [one, two] = [pipe(path), pipe(path)]
  one.type('var mine = 1\nglobalThis.shared = registry\nmine\n')
  await vi.waitFor(() => expect(one.shown()).toMatch(/1\n$/))
  two.type('typeof mine\ntypeof shared\nregistry.nodes()[0].name\n')
  await vi.waitFor(() => expect(two.shown()).toBe("'undefined'\n'undefined'\n'billing-1'\n"))
  one.type('.exit\n')
  expect(await one.end).toEqual({ by: 'user', text: '' })
  two.type('40 + 2\n')
  await vi.waitFor(() => expect(two.shown()).toMatch(/42\n$/))
})

test('.clear forgets the variables, and leaves the commands', async () => {
  const { path } = await open()
  const shown = await say(path, 'var x = 1\n.clear\ntypeof x\ntypeof services\n')
  expect(shown).toMatch(/'undefined'\n'function'\n$/)
})

test('a watch says a line per change until .stop', async () => {
  const { registry, path } = await open()
  const client = pipe(path)
  client.type("watch('Orders')\n")
  await vi.waitFor(() => expect(client.shown()).toMatch(/^Orders at revision \d+: nobody\n$/))
  registry.register({ name: 'Orders', version: '1.2.0' })
  await vi.waitFor(() => expect(client.shown()).toMatch(/: nobody\n.*: 1\.2\.0 on billing-1\n$/))
  client.type(".stop\n'stopped'\n")
  await vi.waitFor(() => expect(client.shown()).toMatch(/'stopped'\n$/))
  registry.register({ name: 'Orders', version: '1.3.0' })
  client.type("registry.lookup('Orders').service.version\n")
  await vi.waitFor(() => expect(client.shown()).toMatch(/'stopped'\n'1\.3\.0'\n$/))
})

test.each(['input', 'console'] as const)('a watch ends with its session, when the %s does', async (what) => {
  const { registry, console, path } = await open()
  const end = vi.fn()
  vi.spyOn(registry, 'watch').mockReturnValue({ subscribe: () => end } as unknown as ServiceWatch)
  const client = pipe(path)
  client.type("watch('Orders')\n1\n")
  await vi.waitFor(() => expect(client.shown()).toBe('1\n'))
  expect(end).not.toHaveBeenCalled()
  if (what === 'input') client.endInput()
  else await console.close()
  await client.end
  expect(end).toHaveBeenCalledTimes(1)
})

test('a watch that is the last line shows what is', async () => {
  const { path } = await open()
  expect(await say(path, "watch('Orders')")).toMatch(/^Orders at revision \d+: nobody\n$/)
})

test('when the registry closes, sessions end with a line that says so', async () => {
  const { registry, path } = await open()
  const client = pipe(path)
  client.type('1 + 1\n')
  await vi.waitFor(() => expect(client.shown()).toBe('2\n'))
  await registry.close()
  expect(await client.end).toEqual({ by: 'console', text: 'the registry has closed' })
})

test('when the console closes, sessions end and the registry goes on', async () => {
  const { registry, console, path } = await open()
  const client = pipe(path)
  client.type('1 + 1\n')
  await vi.waitFor(() => expect(client.shown()).toBe('2\n'))
  await Promise.all([console.close(), console.close()])
  expect(await client.end).toEqual({ by: 'console', text: 'the console has closed' })
  expect(registry.closed).toBe(false)
  await expect(pipe(path).end).rejects.toMatchObject({ code: 'ROLLCALL_CONSOLE_ABSENT' })
})

test('neither the console nor a session keeps the process alive', async () => {
  const pipes = (): number =>
    process.getActiveResourcesInfo().filter((name) => name.startsWith('Pipe')).length
  const before = pipes()
  const { path } = await open()
  expect(pipes()).toBe(before)
  const client = pipe(path)
  client.type('1 + 1\n')
  await vi.waitFor(() => expect(client.shown()).toBe('2\n'))
  expect(pipes()).toBe(before + 1) // The client's own.
})

/** A client that reads nothing of what these lines print. */
function deaf(path: string, text: string): Socket {
  const socket = connect(path).pause()
  socket.write(encodeMessage({ kind: 'hello', terminal: false, colours: false, columns: 80, rows: 24 }))
  socket.write(encodeMessage({ kind: 'input', text }))
  return socket
}

test('who leaves too much unread is cut off', async () => {
  const { registry, path } = await open()
  const end = vi.fn()
  vi.spyOn(registry, 'watch').mockReturnValue({ subscribe: () => end } as unknown as ServiceWatch)
  const socket = deaf(path, "watch('X')\nconsole.log('x'.repeat(17 * 1024 * 1024))\n")
  await vi.waitFor(() => expect(end).toHaveBeenCalledTimes(1))
  socket.destroy()
})

test('who reads nothing does not keep its session open', async () => {
  const { registry, console, path } = await open()
  const watch = vi.spyOn(registry, 'watch')
  const socket = deaf(path, "console.log('x'.repeat(5 * 1024 * 1024))\nwatch('X')\n")
  await vi.waitFor(() => expect(watch).toHaveBeenCalled())
  await console.close()
  let last = ''
  for await (const chunk of socket) last = String(chunk)
  expect(last).not.toContain('bye')
})

test('a terminal is in raw mode while attached, and as it was afterwards', async () => {
  const { console, path } = await open()
  const setRawMode = vi.fn()
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode })
  const output = Object.assign(new PassThrough(), { isTTY: true })
  const end = attach(path, { input, output })
  await vi.waitFor(() => expect(String(output.read())).toContain('billing-1> '))
  expect(setRawMode.mock.calls).toEqual([[true]])
  await console.close()
  await end
  expect(setRawMode.mock.calls).toEqual([[true], [false]])
  expect(input.listenerCount('data') + output.listenerCount('resize')).toBe(0)
})

test('who speaks something else is told, and hung up on', async () => {
  const { path } = await open()
  const socket = connect(path)
  socket.write('GET / HTTP/1.1\r\n\r\n')
  let heard = ''
  for await (const chunk of socket) heard += String(chunk)
  expect(JSON.parse(heard)).toEqual({
    kind: 'bye',
    by: 'console',
    text: 'the client speaks another protocol',
  })
})
