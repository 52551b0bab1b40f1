import { readFile } from 'node:fs/promises'
import type { ConsoleOptions } from '../console/console.ts'
import type { CreateRegistryOptions } from '../create.ts'
import { RollcallError } from '../errors.ts'
import type { HttpServerOptions } from '../http/options.ts'
import { isRecord, print } from '../tracker/check.ts'

/** What the command line says of a node. What it leaves out, the file says, or the defaults. */
export interface AgentFlags {
  readonly config: string | undefined
  /** By the names of the options of `createRegistry`. */
  readonly registry: Readonly<Record<string, unknown>>
  /** By the names of the options of `serveHttp`. */
  readonly http: Readonly<Record<string, unknown>>
  readonly secretFile: string | undefined
  readonly tokenFile: string | undefined
  readonly readTokenFile: string | undefined
  /** True: at its default path. */
  readonly console: string | true | undefined
}

/** All that a node by itself is started with. */
export interface AgentConfig {
  readonly registry: CreateRegistryOptions
  readonly http: HttpServerOptions
  /** Undefined: no console. */
  readonly console: ConsoleOptions | undefined
}

/** Options that JSON cannot hold. */
const NOT_IN_FILES = ['transport', 'clock', 'random', 'logger']

/**
 * Puts together what the command line, the environment and the file say, the first of them that says it. Whether values are
 * right is for those to say whom they are given to.
 *
 * Rejects with `ROLLCALL_CONFIG_FILE` or `ROLLCALL_INVALID_OPTION`.
 */
export async function readAgentConfig(flags: AgentFlags, env: NodeJS.ProcessEnv): Promise<AgentConfig> {
  const file = flags.config === undefined ? {} : await readConfig(flags.config)
  const { http: httpInFile = {}, console: consoleInFile, ...registryInFile } = file
  if (!isRecord(httpInFile)) {
    throw new RollcallError('ROLLCALL_INVALID_OPTION', `http must be an object, not ${print(httpInFile)}`)
  }
  refuse(registryInFile, NOT_IN_FILES)
  refuse(httpInFile, NOT_IN_FILES)
  const secret = await readSecret(flags.secretFile)
  const { ROLLCALL_TOKEN, ROLLCALL_READ_TOKEN } = env
  const token = (await readSecret(flags.tokenFile)) ?? ROLLCALL_TOKEN
  const readToken = (await readSecret(flags.readTokenFile)) ?? ROLLCALL_READ_TOKEN
  return {
    registry: { ...registryInFile, ...definedOf({ ...flags.registry, secret }) },
    http: { ...httpInFile, ...definedOf({ ...flags.http, token, readToken }) },
    console: consoleOf(flags.console ?? consoleInFile),
  }
}

async function readConfig(path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await read(path)
  let config: unknown
  try {
    config = JSON.parse(text)
  } catch (cause) {
    throw fileError(path, `must be JSON: ${(cause as Error).message}`, cause)
  }
  if (!isRecord(config)) throw fileError(path, 'must hold an object')
  return config
}

/** A secret word, without the end of its line. */
async function readSecret(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  const secret = (await read(path)).replace(/\r?\n$/, '')
  if (secret === '') throw fileError(path, 'must not be empty')
  return secret
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw fileError(path, `cannot be read: ${(cause as Error).message}`, cause)
  }
}

function refuse(options: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const name = names.find((each) => Object.hasOwn(options, each))
  if (name === undefined) return
  throw new RollcallError('ROLLCALL_INVALID_OPTION', `the option ${print(name)} cannot be given in a file`)
}

function consoleOf(value: unknown): ConsoleOptions | undefined {
  if (value === undefined || value === false) return undefined
  if (value === true) return {}
  if (typeof value === 'string') return { path: value }
  throw new RollcallError(
    'ROLLCALL_INVALID_OPTION',
    `console must be a path, true or false, not ${print(value)}`,
  )
}

const definedOf = (options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

const fileError = (path: string, rule: string, cause?: unknown): RollcallError =>
  new RollcallError('ROLLCALL_CONFIG_FILE', `The file ${print(path)} ${rule}`, { cause })
