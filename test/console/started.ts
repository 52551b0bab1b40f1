import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, vi } from 'vitest'
import { makeFolder } from './opened.ts'

const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
})

/** A process and what it has written. */
export interface Run {
  readonly child: ChildProcess
  readonly code: Promise<number | null>
  readonly out: () => string
  readonly errors: () => string
  type(text: string): void
}

export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Run {
  const child = spawn(command, args, { env: { ...process.env, ...env } })
  children.push(child)
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => (text[name] += chunk))
  }
  return {
    child,
    code: once(child, 'close').then(([code]) => code as number | null),
    out: () => text.stdout,
    errors: () => text.stderr,
    type: (keys) => void child.stdin.write(keys),
  }
}

const NODE = ['--import', 'tsx']
const SERVER = fileURLToPath(new URL('server.ts', import.meta.url))
/** The command, as arguments of Node. */
export const COMMAND = [...NODE, 'src/cli/main.ts']

export const rollcall = (args: readonly string[], env?: NodeJS.ProcessEnv): Run =>
  start(process.execPath, [...COMMAND, ...args], env)

export const PATIENCE = { timeout: 10_000 }

/** A process with a console. */
export async function serve(env?: NodeJS.ProcessEnv): Promise<Run & { readonly path: string }> {
  const path = join(await makeFolder(), 'c.sock')
  const server = start(process.execPath, [...NODE, SERVER, path], env)
  await vi.waitFor(() => expect(server.out()).toBe('open\n'), PATIENCE)
  return { ...server, path }
}

/**
 * Whether this machine lacks a program, so that what needs it is not tried; says so. Where everything must be tested that is a
 * failure, not an excuse.
 */
export function lacks(program: string, what: string): boolean {
  if (process.env['CI'] === 'true') return false
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return false
  } catch {
    process.stdout.write(`      ${what} here: there is no ${program} (Debian's package ${program})\n`)
    return true
  }
}
