import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { EXIT } from '../../../src/cli/exit.ts'
import { makeFolder } from '../../console/opened.ts'
import { COMMAND, PATIENCE, rollcall, serve, start, lacks } from '../../console/started.ts'

describe('Ctrl-C', () => {
  test('ends a watch well', async () => {
    const { path } = await serve()
    const run = rollcall(['watch', 'Orders', '--socket', path])
    await vi.waitFor(
      () => expect(run.out()).toMatch(/^Orders at revision \d+: 1\.2\.0 on billing-1\n$/),
      PATIENCE,
    )
    run.child.kill('SIGINT')
    expect(await run.code).toBe(EXIT.done)
    expect(run.errors()).toBe('')
  })

  test('ends events well', async () => {
    const { path } = await serve()
    const run = rollcall(['events', '--json', '--socket', path])
    // What it hears shows that it listens.
    const probe = rollcall(['console', path])
    probe.type(
      "setInterval(() => registry.register({ name: 'X', version: '1.0.0' }).unregister(), 50).unref(), 0\n",
    )
    await vi.waitFor(() => expect(run.out()).toContain('"service_down"'), PATIENCE)
    run.child.kill('SIGINT')
    expect(await run.code).toBe(EXIT.done)
    expect(run.errors()).toBe('')
  })
})

test('the process is killed while it is watched: 3', async () => {
  const server = await serve()
  const run = rollcall(['watch', 'Orders', '--socket', server.path])
  await vi.waitFor(() => expect(run.out()).not.toBe(''), PATIENCE)
  server.child.kill('SIGKILL')
  expect(await run.code).toBe(EXIT.ended)
  expect(run.errors()).toMatch(/^rollcall: .+ \(ROLLCALL_CONSOLE_ENDED\)\n$/)
})

test('a reader that has seen enough, such as head, is no failure', async () => {
  const { path } = await serve()
  const command = `${process.execPath} ${COMMAND.join(' ')} watch Orders --socket ${path}`
  const writer = rollcall(['console', path])
  const writing = setInterval(
    () => writer.type("registry.register({ name: 'Orders', version: '1.2.0' }), 0\n"),
    50,
  )
  try {
    const { stdout, stderr } = await promisify(execFile)('bash', [
      '-o',
      'pipefail',
      '-c',
      `${command} | head -n 1`,
    ])
    expect(stdout).toMatch(/^Orders at revision .*\n$/)
    expect(stderr).toBe('')
  } finally {
    clearInterval(writing)
  }
})

describe.skipIf(lacks('python3', 'the command is not tried in a terminal'))('in a terminal', () => {
  /** What a table looks like there, with this said of the environment. */
  async function show(...env: readonly string[]): Promise<string> {
    const { path } = await serve()
    const command = [process.execPath, ...COMMAND, 'explain', 'Orders', '~> 2.0', '--socket', path]
    const run = start('python3', ['test/console/terminal.py', 'env', ...env, ...command])
    expect(await run.code).toBe(EXIT.done)
    return run.out()
  }

  test('heads are bold', async () => {
    expect(await show()).toMatch(/^\s*\S*\[1mreturned +reason +text\S*\[22m\r\nno /)
  })

  test('NO_COLOR: nothing but text', async () => {
    expect(await show('NO_COLOR=1')).toMatch(/^\s*returned +reason +text\r\nno /)
  })
})

test('metrics where prom-client is not installed: what is missing, in words', async () => {
  const folder = await makeFolder()
  const hooks = `export const resolve = (name, context, next) => {
    if (name !== 'prom-client') return next(name, context)
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  }`
  const loader = join(folder, 'without.mjs')
  const url = `data:text/javascript,${encodeURIComponent(hooks)}`
  await writeFile(loader, `import { register } from 'node:module'\nregister(${JSON.stringify(url)})\n`)
  const { path } = await serve({ NODE_OPTIONS: `--import ${loader}` })
  const run = rollcall(['metrics', '--socket', path])
  expect(await run.code).toBe(EXIT.failed)
  expect([run.out(), run.errors()]).toEqual([
    '',
    'rollcall: prom-client, which metrics need, is not installed where the process runs. (ROLLCALL_METRICS_ABSENT)\n',
  ])
})
