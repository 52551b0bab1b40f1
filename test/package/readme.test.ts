import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERROR_CODES } from '../../src/errors.ts'
import { PROFILES } from '../../src/profiles.ts'
import { REGISTRY_DEFAULTS } from '../../src/registry/options.ts'
import { TRACKER_DEFAULTS } from '../../src/tracker/options.ts'
import { MESH_DEFAULTS, NODE_DEFAULTS } from '../../src/transports/libp2p/options.ts'

const readme = await readFile('README.md', 'utf8')

/** Rows of the table under a heading, as cells without their back-ticks. */
function tableUnder(heading: string): string[][] {
  const section = readme.split(new RegExp(`^#+ ${heading}$`, 'm'))[1]?.split(/^#+ /m)[0] ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) => {
    const cells = line.slice(1, -1).split(/(?<!\\)\|/)
    return cells.map((cell) => cell.trim().replace(/^`(.*)`$/, '$1'))
  })
}

/** The members that an interface declares itself. */
async function membersOf(file: string, name: string): Promise<string[]> {
  const source = ts.createSourceFile(file, await readFile(file, 'utf8'), ts.ScriptTarget.Latest)
  const found = source.statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  )
  expect(found, `${name} in ${file}`).toBeDefined()
  return (found as ts.InterfaceDeclaration).members.map((member) => member.name?.getText(source) ?? '')
}

const printed = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : Array.isArray(value) ? '[]' : String(value)

describe('tables', () => {
  test.each([
    [
      'Of the network',
      { ...MESH_DEFAULTS, ...NODE_DEFAULTS },
      ['identityFile', 'stateFile', 'secret', 'transport'],
    ],
    ['Of the tracker', TRACKER_DEFAULTS, ['name', 'zone', 'clock', 'random']],
    ['Of the registry', REGISTRY_DEFAULTS, ['logger']],
  ])('options: %s', (heading, defaults, others) => {
    const rows = tableUnder(heading)
    const stated: Record<string, string | undefined> = Object.fromEntries(
      rows
        .filter(([option]) => !others.includes(option ?? ''))
        .map(([option, value]) => [String(option), value]),
    )
    expect(stated).toEqual(
      Object.fromEntries(Object.entries(defaults).map(([option, value]) => [option, printed(value)])),
    )
    for (const option of others) expect(rows.map(([first]) => first)).toContain(option)
  })

  test('profiles', () => {
    const names = Object.keys(PROFILES) as (keyof typeof PROFILES)[]
    const options = Object.keys(PROFILES.default) as (keyof typeof PROFILES.default)[]
    expect(tableUnder('Profiles')).toEqual(
      options.map((option) => [option, ...names.map((name) => printed(PROFILES[name][option]))]),
    )
    const heads = `| option | ${names.map((name) => `\`${name}\``).join(' | ')} |`
    expect(readme.replaceAll(/ +/g, ' ')).toContain(heads)
  })

  test('options: every one that the types declare', async () => {
    const declared = [
      ...(await membersOf('src/transports/libp2p/options.ts', 'MeshOptions')),
      ...(await membersOf('src/transports/libp2p/options.ts', 'Libp2pTransportOptions')),
      ...(await membersOf('src/tracker/options.ts', 'TrackerOptions')),
      ...(await membersOf('src/registry/options.ts', 'RegistryBehaviour')),
    ]
    const stated = ['Of the network', 'Of the tracker', 'Of the registry']
      .flatMap(tableUnder)
      .map(([option]) => option)
    expect(stated.sort()).toEqual(declared.sort())
  })

  test.each([
    ['Events of a registry', 'src/registry/types.ts', 'RegistryEvents'],
    ['Events of a tracker', 'src/tracker/types.ts', 'TrackerEvents'],
  ])('%s', async (heading, file, name) => {
    expect(tableUnder(heading).map(([event]) => event)).toEqual(await membersOf(file, name))
  })

  test('errors, with their meanings', () => {
    expect(Object.fromEntries(tableUnder('Errors'))).toEqual(ERROR_CODES)
  })

  test('options of a lookup', async () => {
    const declared = [
      ...(await membersOf('src/registry/types.ts', 'FilterOptions')),
      ...(await membersOf('src/registry/types.ts', 'LookupOptions')),
      ...(await membersOf('src/registry/types.ts', 'StaleOptions')),
    ]
    const rows =
      readme
        .split('## Looking up')[1]
        ?.split(/^\| option/m)[1]
        ?.split('\n\n')[0] ?? ''
    const stated = [...rows.matchAll(/^\| `(\w+)`/gm)].map(([, option]) => option)
    expect(stated.sort()).toEqual(declared.sort())
  })
})

/** Where two pieces of data differ in names or kinds of values. Lists are compared by their first items, null fits all. */
function shapesDiffer(a: unknown, b: unknown, at = ''): string[] {
  if (a === null || b === null) return []
  if (typeof a !== 'object' || typeof b !== 'object') return typeof a === typeof b ? [] : [at]
  if (Array.isArray(a) || Array.isArray(b)) {
    const [first, second] = [a, b] as [unknown[], unknown[]]
    return first.length === 0 || second.length === 0 ? [] : shapesDiffer(first[0], second[0], `${at}[0]`)
  }
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].flatMap((name) =>
    name in a && name in b
      ? shapesDiffer(Reflect.get(a, name), Reflect.get(b, name), `${at}.${name}`)
      : [`${at}.${name}`],
  )
}

test('the example of diagnostics has the shape that its snippet prints', { timeout: 60_000 }, async () => {
  const section = readme.split('## Diagnostics')[1]?.split(/^## /m)[0] ?? ''
  const [, code = ''] = /^```ts\n([^]*?)^```$/m.exec(section) ?? []
  const [, example = ''] = /^```json\n([^]*?)^```$/m.exec(section) ?? []
  const folder = await mkdtemp(join('test', 'package', 'readme-'))
  const file = join(folder, 'diagnostics.ts')
  try {
    await writeFile(file, code)
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file])
    expect(shapesDiffer(JSON.parse(stdout), JSON.parse(example))).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})

describe('snippets', () => {
  const snippets = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code ?? '')
  let folder = ''

  beforeAll(async () => {
    // Inside the project, so that 'rollcall' means this source.
    folder = await mkdtemp(join('test', 'package', 'readme-'))
    await Promise.all(snippets.map((code, index) => writeFile(join(folder, `${index}.ts`), code)))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('there are some', () => {
    expect(snippets.length).toBeGreaterThanOrEqual(4)
  })

  test('compile', { timeout: 60_000 }, () => {
    const { config } = ts.readConfigFile('tsconfig.json', (file) => ts.sys.readFile(file)) as {
      config: object
    }
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.')
    const program = ts.createProgram(
      snippets.map((_, index) => join(folder, `${index}.ts`)),
      options,
    )
    const faults = ts
      .getPreEmitDiagnostics(program)
      .map(
        ({ messageText, file }) =>
          `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
      )
    expect(faults).toEqual([])
  })

  test.each(snippets.map((code, index) => [code.split('\n').at(-2) ?? '', index] as const))(
    'runs: %s',
    { timeout: 60_000 },
    async (_, index) => {
      const run = promisify(execFile)(process.execPath, ['--import', 'tsx', join(folder, `${index}.ts`)], {
        timeout: 45_000,
      })
      const { stdout, stderr } = await run
      expect(stderr).toBe('')
      expect(stdout).not.toBe('')
    },
  )
})
