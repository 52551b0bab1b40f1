import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { makeFolder } from '../opened.ts'
import { COMMAND, PATIENCE, rollcall, serve, start, lacks } from '../started.ts'
import type { Run } from '../started.ts'

describe('piped', () => {
  test('input is run, plain text is printed, and all ends with 0', async () => {
    const { path } = await serve()
    const run = rollcall(['console', path])
    run.child.stdin!.end("services()[0].version\nlookup('Orders')")
    expect(await run.code).toBe(0)
    expect(run.out()).toMatch(/^'1\.2\.0'\nname +version .*\nOrders +1\.2\.0 .*\n$/)
    expect(run.errors()).toBe('')
  })

  test.each([
    ['SIGKILL', 'the process has ended'],
    ['registry.close()', 'the registry has closed'],
  ])('%s: a clear line, and 3', async (how, line) => {
    const server = await serve()
    const run = rollcall(['console', server.path])
    run.type('1 + 1\n')
    await vi.waitFor(() => expect(run.out()).toBe('2\n'), PATIENCE)
    if (how === 'SIGKILL') server.child.kill(how)
    else run.type(`${how}, 0\n`)
    expect(await run.code).toBe(3)
    expect(run.errors()).toBe(`\nrollcall: ${line}\n`)
    expect(await server.code).toBe(how === 'SIGKILL' ? null : 0)
  })
})

describe('which console', () => {
  test('none there, no socket, and none to choose: 4, 1 and 4', async () => {
    const folder = await makeFolder()
    await writeFile(join(folder, 'file'), '')
    const runs = [
      rollcall(['console', join(folder, 'absent')]),
      rollcall(['console', join(folder, 'file')]),
      rollcall(['console'], { XDG_RUNTIME_DIR: folder }),
    ]
    expect(await Promise.all(runs.map(({ code }) => code))).toEqual([4, 1, 4])
    for (const run of runs) expect(run.errors()).toMatch(/^rollcall: .+\n$/)
  })

  test.skipIf(process.getuid?.() !== 0)("another user's: 5", async () => {
    const { path } = await serve()
    await chown(path, 65_534, 65_534)
    const run = rollcall(['console', path])
    expect(await run.code).toBe(5)
    expect(run.errors()).toContain("must be this user's or root's")
  })
})

describe.skipIf(lacks('python3', 'the command is not tried in a terminal'))('in a terminal', () => {
  async function sit(path: string): Promise<Run> {
    // Then says how it finds the terminal.
    const shell = ['sh', '-c', '"$@"; code=$?; stty -a; exit $code', 'sh']
    const command = [...shell, process.execPath, ...COMMAND, 'console', path]
    const run = start('python3', ['test/console/terminal.py', ...command])
    await sees(run, /billing-1> $/)
    return run
  }

  const sees = (run: Run, pattern: RegExp): Promise<void> =>
    vi.waitFor(() => expect(stripVTControlCharacters(run.out())).toMatch(pattern), PATIENCE)

  test('completion, history, colours, and Ctrl-D', async () => {
    const run = await sit((await serve()).path)
    run.type('serv\t')
    await sees(run, /> services$/)
    run.type('()[0].version\r')
    await sees(run, /'1\.2\.0'\s+billing-1> $/)
    expect(run.out()).toContain("\x1b[32m'1.2.0'\x1b[39m")
    run.type('40 + 2\r')
    await sees(run, /\s42\s+billing-1> $/)
    run.type('\x1b[A\x1b[A')
    await sees(run, /services\(\)\[0\]\.version$/)
    run.type('\x15\x04')
    expect(await run.code).toBe(0)
  })

  test('a watch shows lines above what is typed, and Ctrl-C ends it but not the session', async () => {
    const run = await sit((await serve()).path)
    run.type("watch('Mail')\r")
    await sees(run, /Mail at revision \d+: nobody\s+billing-1> $/)
    run.type('1 + ')
    await sees(run, /> 1 \+ $/)
    run.type("\x15setTimeout(() => registry.register({ name: 'Mail', version: '2.0.0' }), 300), 0\r7 * ")
    await sees(run, /Mail at revision \d+: 2\.0\.0 on billing-1\s+billing-1> 7 \* $/)
    // The cursor stands where it stood.
    expect(run.out().endsWith('billing-1> 7 * \x1b[16G')).toBe(true)
    run.type('\x03')
    run.type('6\r')
    await sees(run, /\s42\s+billing-1> $/)
    expect(run.out()).not.toContain('To exit')
    run.type('\x03')
    await sees(run, /To exit[^]*billing-1> $/)
  })

  test('tables go by the size of the terminal, as it is now', async () => {
    const run = await sit((await serve()).path)
    run.type(
      "registry.register({ name: 'N'.repeat(60), version: '1.0.0', address: 'http://' + 'h'.repeat(60) }), 0\r",
    )
    await sees(run, /\s0\s+billing-1> $/)
    const width = (): number =>
      Math.max(
        ...stripVTControlCharacters(run.out())
          .split(/\r?\n/)
          .filter((line) => line.includes('NNN') && line.includes('1.0.0') && line.includes('ready'))
          .map((line) => line.length),
      )
    run.type('services()\r')
    await vi.waitFor(() => expect(width()).toBe(100), PATIENCE)
    run.type('\0resize 140 30\0')
    // Asked again and again, since nothing says when the console has heard of it.
    await vi.waitFor(
      () => {
        run.type('services()\r')
        expect(width()).toBe(140)
      },
      { ...PATIENCE, interval: 100 },
    )
  })

  test('the process is killed: a clear line, 3, and the terminal as it was', async () => {
    const server = await serve()
    const run = await sit(server.path)
    server.child.kill('SIGKILL')
    expect(await run.code).toBe(3)
    expect(run.out()).toMatch(/\r\nrollcall: the process has ended\r\n[^]* icanon [^]* echo /)
  })

  test('the process hangs: Ctrl-\\ leaves', async () => {
    const server = await serve()
    const run = await sit(server.path)
    server.type('hang\n')
    run.type('\x1c')
    expect(await run.code).toBe(0)
  })

  test('two people at once', async () => {
    const { path } = await serve()
    const [one, two] = [await sit(path), await sit(path)]
    one.type('var mine = 1\r')
    two.type('typeof mine\r')
    await sees(two, /'undefined'\s+billing-1> $/)
    one.type('.exit\r')
    expect(await one.code).toBe(0)
    two.type('6 * 7\r')
    await sees(two, /\s42\s+billing-1> $/)
  })
})
