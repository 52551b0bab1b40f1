import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { EXIT, EXIT_MEANINGS } from '../../src/cli/exit.ts'
import { LIBRARY_VERSION } from '../../src/version.ts'
import { came } from './ran.ts'

const COMMANDS = [
  'services',
  'nodes',
  'lookup',
  'explain',
  'watch',
  'events',
  'drain',
  'metrics',
  'console',
  'agent',
]

describe('help', () => {
  test.each([[], ...COMMANDS.map((command) => [command])].map((args) => [[...args, '--help']]))(
    'of %j fits 24 lines of 80 columns',
    async (args) => {
      const { code, out, errors } = await came(args)
      expect([code, errors]).toEqual([EXIT.done, ''])
      expect(out).toMatch(/^Usage: rollcall .*\n\S/)
      const lines = out.split('\n')
      expect(lines.length).toBeLessThanOrEqual(24)
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80)
    },
  )

  test('says what every command does, and what every exit code means', async () => {
    const { out } = await came(['--help'])
    for (const command of COMMANDS) expect(out).toMatch(new RegExp(`^  ${command}\\b.* {2}\\S`, 'm'))
    for (const [code, meaning] of Object.entries(EXIT_MEANINGS))
      expect(out).toContain(`  ${code}  ${meaning}\n`)
    expect(Object.keys(EXIT_MEANINGS)).toEqual(Object.values(EXIT).map(String))
  })

  test('of a command says all its options', async () => {
    const { out } = await came(['lookup', '--help'])
    for (const option of [
      '--zone',
      '--state',
      '--function',
      '--capability',
      '--socket',
      '--json',
      '--help',
    ]) {
      expect(out).toContain(option)
    }
  })
})

test('the README says the same of the exit codes, and of every command', async () => {
  const readme = await readFile('README.md', 'utf8')
  const section = readme.split('## The command')[1]?.split(/^## /m)[0] ?? ''
  const codes = [...section.matchAll(/^\| `(\d)` +\| (.*?) *\|$/gm)].map(([, code, meaning]) => [
    code,
    meaning,
  ])
  expect(Object.fromEntries(codes)).toEqual(EXIT_MEANINGS)
  const commands = [...section.matchAll(/^\| `([a-z]+)\b.*?` +\|/gm)].map(([, command]) => command)
  expect(commands).toEqual(COMMANDS)
})

test('the README says the same of the flags of a node by itself', async () => {
  const readme = await readFile('README.md', 'utf8')
  const section = readme.split('## Sidecar')[1]?.split(/^## /m)[0] ?? ''
  const { out } = await came(['agent', '--help'])
  const inHelp = [...out.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, flag]) => flag)
  const inReadme = [...section.matchAll(/^\| `(--[\w-]+)`/gm)].map(([, flag]) => flag)
  expect(inReadme).toEqual(inHelp)
})

test('--version is that of the package', async () => {
  expect(await came(['--version'])).toEqual({ code: 0, out: `${LIBRARY_VERSION}\n`, errors: '' })
})

describe('what is not understood: 2, in a line that names it', () => {
  test.each([
    [[], 'no command'],
    [['konsole'], "unknown command 'konsole' (Did you mean console?)"],
    [['--hepl'], "unknown option '--hepl' (Did you mean --help?)"],
    [['console', 'a', 'b'], 'too many arguments'],
    [['nodes', 'a'], 'too many arguments'],
    [['lookup'], "missing required argument 'name'"],
    [['services', '--zone', 'x'], "unknown option '--zone'"],
    [['watch', 'X', '--count', '0'], 'It must be a whole number, at least 1.'],
    [['watch', 'X', '--count', '1.5'], 'It must be a whole number, at least 1.'],
    [['events', '--count', 'many'], 'It must be a whole number, at least 1.'],
    [['drain', '--grace-ms', '-1'], 'It must be a number of ms, at least 0.'],
    [['drain', '--settle-ms', ''], 'It must be a number of ms, at least 0.'],
  ])('%j', async (args, message) => {
    const { code, out, errors } = await came(args)
    expect([code, out]).toEqual([EXIT.usage, ''])
    expect(errors).toMatch(/^rollcall: .+; see rollcall --help\n$/)
    expect(errors).toContain(message)
  })

  test('with --json, as JSON', async () => {
    const { code, errors } = await came(['nodes', '--json', '--nodes'])
    expect(code).toBe(EXIT.usage)
    expect(JSON.parse(errors)).toEqual({
      error: {
        code: 'ROLLCALL_INVALID_ARGUMENT',
        message: "unknown option '--nodes'; see rollcall --help",
      },
    })
  })
})
