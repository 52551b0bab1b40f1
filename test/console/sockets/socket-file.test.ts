import { execFile } from 'node:child_process'
import { chmod, chown, lstat, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { attach } from '../../../src/console/attach.ts'
import { openConsole } from '../../../src/console/console.ts'
import { listSockets } from '../../../src/console/socket-file.ts'
import { makeFolder, pipe, say, startRegistry } from '../opened.ts'

const isRoot = process.getuid?.() === 0
/** Somebody else: `nobody` of most systems. */
const OTHER = 65_534

afterEach(() => vi.unstubAllEnvs())

const modeOf = async (path: string): Promise<number> => (await lstat(path)).mode & 0o777

/** A socket file whose process was killed. */
async function leaveStale(path: string): Promise<void> {
  const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  await promisify(execFile)(process.execPath, ['--eval', code]).catch(() => undefined)
  expect((await lstat(path)).isSocket()).toBe(true)
}

describe('opening', () => {
  test('makes a socket for this user alone, whatever the umask, and nothing beside it', async () => {
    const folder = await makeFolder()
    await using console = await openConsole(await startRegistry(), { path: join(folder, 'c.sock') })
    expect(await modeOf(console.path)).toBe(0o600)
    expect(await readdir(folder)).toEqual(['c.sock'])
    await console.close()
    expect(await readdir(folder)).toEqual([])
  })

  test('without a path: in a folder of its own, by the pid, where clients find it', async () => {
    vi.stubEnv('XDG_RUNTIME_DIR', await makeFolder())
    expect(await listSockets()).toEqual([])
    await using console = await openConsole(await startRegistry())
    expect(console.path).toMatch(new RegExp(`/rollcall/${process.pid}\\.sock$`))
    expect(await modeOf(join(console.path, '..'))).toBe(0o700)
    expect(await listSockets()).toEqual([console.path])
    expect(await say(console.path, '6 * 7\n')).toBe('42\n')
  })

  test('without $XDG_RUNTIME_DIR: in the folder for temporary files', async () => {
    vi.stubEnv('XDG_RUNTIME_DIR', '')
    vi.stubEnv('TMPDIR', await makeFolder())
    await using console = await openConsole(await startRegistry())
    expect(console.path).toBe(`${process.env['TMPDIR']}/rollcall-${process.getuid?.()}/${process.pid}.sock`)
  })

  test('replaces a socket that nobody listens at', async () => {
    const path = join(await makeFolder(), 'c.sock')
    await leaveStale(path)
    await using console = await openConsole(await startRegistry(), { path })
    expect(await say(console.path, '6 * 7\n')).toBe('42\n')
  })

  test('leaves one alone that somebody listens at', async () => {
    const path = join(await makeFolder(), 'c.sock')
    const registry = await startRegistry()
    await using console = await openConsole(registry, { path })
    await expect(openConsole(registry, { path })).rejects.toMatchObject({ code: 'ROLLCALL_CONSOLE_IN_USE' })
    expect(await say(console.path, '6 * 7\n')).toBe('42\n')
    expect(await readdir(join(path, '..'))).toEqual(['c.sock'])
  })

  test('of two at once at one path, one is refused', async () => {
    const path = join(await makeFolder(), 'c.sock')
    const registry = await startRegistry()
    const opened = await Promise.allSettled([
      openConsole(registry, { path }),
      openConsole(registry, { path }),
    ])
    const reasons = opened.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
    expect(reasons).toMatchObject([{ code: 'ROLLCALL_CONSOLE_IN_USE' }])
    expect(await say(path, '6 * 7\n')).toBe('42\n')
  })

  test('refuses what is no socket, and leaves it as it is', async () => {
    const path = join(await makeFolder(), 'notes')
    await writeFile(path, 'mine')
    const error = {
      code: 'ROLLCALL_CONSOLE_PATH',
      message: `The path is "${path}": must be a socket or nothing`,
    }
    await expect(openConsole(await startRegistry(), { path })).rejects.toMatchObject(error)
    expect((await lstat(path)).size).toBe(4)
  })

  test('refuses a folder that is not there, or is none', async () => {
    const folder = await makeFolder()
    await writeFile(join(folder, 'file'), '')
    const registry = await startRegistry()
    for (const name of ['absent', 'file']) {
      const opened = openConsole(registry, { path: join(folder, name, 'c.sock') })
      await expect(opened).rejects.toMatchObject({ code: 'ROLLCALL_CONSOLE_PATH' })
    }
  })

  test.each([0o770, 0o707, 0o1777])('refuses a folder that others can write to: %o', async (mode) => {
    const folder = await makeFolder()
    await chmod(folder, mode)
    const opened = openConsole(await startRegistry(), { path: join(folder, 'c.sock') })
    await expect(opened).rejects.toMatchObject({ code: 'ROLLCALL_CONSOLE_UNTRUSTED' })
    expect(await readdir(folder)).toEqual([])
  })

  test.skipIf(!isRoot)("refuses another user's folder, and another user's link to a folder", async () => {
    const folder = await makeFolder()
    const [theirs, mine, link] = ['theirs', 'mine', 'link'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    await mkdir(theirs)
    await mkdir(mine)
    await chmod(mine, 0o700)
    await symlink(mine, link)
    await openConsole(await startRegistry(), { path: join(link, 'c.sock') }).then((console) =>
      console.close(),
    )
    await chown(theirs, OTHER, OTHER)
    await promisify(execFile)('chown', ['-h', String(OTHER), link])
    const registry = await startRegistry()
    for (const each of [theirs, link]) {
      const opened = openConsole(registry, { path: join(each, 'c.sock') })
      await expect(opened).rejects.toMatchObject({ code: 'ROLLCALL_CONSOLE_UNTRUSTED' })
    }
  })

  test('refuses a path that is cut off by the system', async () => {
    const folder = await makeFolder()
    const registry = await startRegistry()
    const long = join(folder, 'x'.repeat(104 - folder.length - 1))
    await expect(openConsole(registry, { path: long })).rejects.toMatchObject({
      code: 'ROLLCALL_CONSOLE_PATH',
    })
    expect(await readdir(folder)).toEqual([])
    await using console = await openConsole(registry, { path: long.slice(0, -1) })
    expect(await say(console.path, '6 * 7\n')).toBe('42\n')
  })

  test.each([{ path: '' }, { path: 7 }, { path: 'a\0b' }, { paht: '/tmp/x' }, null])(
    'refuses %o',
    async (options) => {
      const opened = openConsole(await startRegistry(), options as { path: string })
      await expect(opened).rejects.toMatchObject({ code: 'ROLLCALL_INVALID_ARGUMENT' })
    },
  )

  test('refuses a closed registry', async () => {
    const folder = await makeFolder()
    const registry = await startRegistry()
    await registry.close()
    const opened = openConsole(registry, { path: join(folder, 'c.sock') })
    await expect(opened).rejects.toMatchObject({ code: 'ROLLCALL_CLOSED' })
    expect(await readdir(folder)).toEqual([])
  })

  test('refuses a registry that closes meanwhile, and leaves nothing', async () => {
    const folder = await makeFolder()
    const registry = await startRegistry()
    const opened = openConsole(registry, { path: join(folder, 'c.sock') })
    const refused = expect(opened).rejects.toMatchObject({ code: 'ROLLCALL_CLOSED' })
    await registry.close()
    await refused
    expect(await readdir(folder)).toEqual([])
  })
})

describe('closing', () => {
  test('with the registry, the socket goes too', async () => {
    const folder = await makeFolder()
    const registry = await startRegistry()
    const { path } = await openConsole(registry, { path: join(folder, 'c.sock') })
    await registry.close()
    await vi.waitFor(async () => expect(await readdir(folder)).toEqual([]))
    await expect(pipe(path).end).rejects.toMatchObject({ code: 'ROLLCALL_CONSOLE_ABSENT' })
  })

  test('leaves a socket alone that has taken its place', async () => {
    const folder = await makeFolder()
    const path = join(folder, 'c.sock')
    const console = await openConsole(await startRegistry(), { path })
    const next = createServer()
    await new Promise<void>((done) => next.listen(join(folder, 'next'), done))
    await rm(path)
    await promisify(execFile)('mv', [join(folder, 'next'), path])
    await console.close()
    expect(await readdir(folder)).toEqual(['c.sock'])
    await new Promise((done) => connect(path).once('connect', done))
    next.close()
  })
})

describe('attaching', () => {
  const streams = { input: process.stdin, output: process.stdout }

  test('refuses what is not there, is no socket, or has no listener', async () => {
    const folder = await makeFolder()
    await writeFile(join(folder, 'file'), '')
    await leaveStale(join(folder, 'stale'))
    const codes = {
      absent: 'ROLLCALL_CONSOLE_ABSENT',
      file: 'ROLLCALL_CONSOLE_PATH',
      stale: 'ROLLCALL_CONSOLE_ABSENT',
    }
    for (const [name, code] of Object.entries(codes)) {
      await expect(attach(join(folder, name), streams), name).rejects.toMatchObject({ code })
    }
  })

  test.skipIf(!isRoot)("refuses another user's socket: its owner would see what is typed", async () => {
    const { path } = await openConsole(await startRegistry(), { path: join(await makeFolder(), 'c.sock') })
    await chown(path, OTHER, OTHER)
    await expect(attach(path, streams)).rejects.toMatchObject({ code: 'ROLLCALL_CONSOLE_UNTRUSTED' })
  })
})
