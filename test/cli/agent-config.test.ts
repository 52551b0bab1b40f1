import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { readAgentConfig } from '../../src/cli/agent-config.ts'
import type { AgentConfig, AgentFlags } from '../../src/cli/agent-config.ts'
import { makeFolder } from '../console/opened.ts'

const NONE: AgentFlags = {
  config: undefined,
  secretFile: undefined,
  tokenFile: undefined,
  readTokenFile: undefined,
  console: undefined,
  registry: {},
  http: {},
}

let folder = ''

beforeEach(async () => {
  folder = await makeFolder()
})

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const read = (flags: Partial<AgentFlags>, env: NodeJS.ProcessEnv = {}): Promise<AgentConfig> =>
  readAgentConfig({ ...NONE, ...flags }, env)

const refused = (code: string, message: string): unknown =>
  expect.objectContaining({ code, message: expect.stringContaining(message) as string })

test('nothing said: the defaults, and no console', async () => {
  expect(await read({})).toEqual({ registry: {}, http: {}, console: undefined })
})

test('the file has the options of createRegistry, those of serveHttp in http, and console; flags win over it', async () => {
  const config = await file('config.json', {
    name: 'of-the-file',
    zone: 'a',
    http: { port: 1, host: '::1' },
    console: 'c.sock',
  })
  expect(await read({ config })).toEqual({
    registry: { name: 'of-the-file', zone: 'a' },
    http: { port: 1, host: '::1' },
    console: { path: 'c.sock' },
  })
  const flags = {
    config,
    registry: { name: 'said', zone: undefined },
    http: { port: 0 },
    console: true,
  } as const
  expect(await read(flags)).toEqual({
    registry: { name: 'said', zone: 'a' },
    http: { port: 0, host: '::1' },
    console: {},
  })
})

test('tokens: of a file that is named, else of the environment, else of the config file', async () => {
  const config = await file('config.json', { http: { token: 'c', readToken: 'c' } })
  const tokenFile = await file('token', 'f\n')
  const readTokenFile = await file('read-token', 'f\r\n')
  const env = { ROLLCALL_TOKEN: 'e', ROLLCALL_READ_TOKEN: 'e' }
  const tokens = async (...args: Parameters<typeof read>): Promise<unknown[]> => {
    const { http } = await read(...args)
    return [http.token, http.readToken]
  }
  expect(await tokens({ config })).toEqual(['c', 'c'])
  expect(await tokens({ config }, env)).toEqual(['e', 'e'])
  expect(await tokens({ config, tokenFile }, env)).toEqual(['f', 'e'])
  expect(await tokens({ config, readTokenFile }, env)).toEqual(['e', 'f'])
})

test('the secret is what its file holds, but for the end of its line', async () => {
  const secretFile = await file('secret', ' sixteen bytes!! \n')
  expect((await read({ secretFile })).registry).toEqual({ secret: ' sixteen bytes!! ' })
})

test.each([
  [true, {}],
  [false, undefined],
  ['c.sock', { path: 'c.sock' }],
])('console: %j', async (value, options) => {
  expect((await read({ config: await file('c.json', { console: value }) })).console).toEqual(options)
})

describe('what is refused', () => {
  test.each([
    ['not JSON', '{', 'ROLLCALL_CONFIG_FILE', 'must be JSON'],
    ['no object', '[]', 'ROLLCALL_CONFIG_FILE', 'must hold an object'],
    ['http', { http: 7780 }, 'ROLLCALL_INVALID_OPTION', 'http must be an object, not 7780'],
    ['console', { console: 1 }, 'ROLLCALL_INVALID_OPTION', 'console must be a path, true or false, not 1'],
    ['logger', { logger: {} }, 'ROLLCALL_INVALID_OPTION', 'the option "logger" cannot be given in a file'],
    [
      'clock',
      { http: { clock: {} } },
      'ROLLCALL_INVALID_OPTION',
      'the option "clock" cannot be given in a file',
    ],
  ])('%s', async (_, content, code, message) => {
    await expect(read({ config: await file('config.json', content) })).rejects.toEqual(refused(code, message))
  })

  test.each(['config', 'secretFile', 'tokenFile', 'readTokenFile'] as const)(
    '%s that is not there',
    async (flag) => {
      const path = join(folder, 'absent')
      await expect(read({ [flag]: path })).rejects.toEqual(refused('ROLLCALL_CONFIG_FILE', 'cannot be read'))
      await expect(read({ [flag]: path })).rejects.toThrow(path.slice(0, 20))
    },
  )

  test.each(['secretFile', 'tokenFile', 'readTokenFile'] as const)('%s that is empty', async (flag) => {
    const path = await file('empty', '\n')
    await expect(read({ [flag]: path })).rejects.toEqual(refused('ROLLCALL_CONFIG_FILE', 'must not be empty'))
  })
})
