import type { Stats } from 'node:fs'
import { chmod, link, lstat, mkdir, mkdtemp, readdir, rm, stat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { RollcallError } from '../errors.ts'
import { argumentError } from '../tracker/check.ts'

/** What a socket's path may take on every system that has them: macOS gives 104 bytes, the last of them a zero. */
const MAX_PATH_BYTES = 103

/** Others than the owner may write. */
const WRITABLE_BY_OTHERS = 0o022

const ME = process.getuid?.() ?? 0

/** `$XDG_RUNTIME_DIR/rollcall`, or `rollcall-<uid>` in the folder for temporary files. */
function defaultFolder(): string {
  const runtime = process.env['XDG_RUNTIME_DIR']
  return runtime === undefined || runtime === ''
    ? join(tmpdir(), `rollcall-${ME}`)
    : join(runtime, 'rollcall')
}

/** Where this process's console is unless told otherwise: its pid in the default folder, which is made. */
export async function defaultPath(): Promise<string> {
  const folder = defaultFolder()
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw pathError(folder, `cannot be made (${codeOf(error)})`, error)
  })
  return join(folder, `${process.pid}.sock`)
}

/** The sockets in the default folder, sorted. Whether anybody listens there is not asked. */
export async function listSockets(): Promise<string[]> {
  const folder = defaultFolder()
  const names = await readdir(folder).catch(() => [])
  if (names.length > 0) await checkFolder(folder)
  return names
    .filter((name) => name.endsWith('.sock'))
    .sort()
    .map((name) => join(folder, name))
}

/** A server's place in the file system. */
export interface Place {
  /** Takes the socket away, unless another has replaced it. Never rejects. */
  remove(): Promise<void>
}

/**
 * Makes the server listen at the path, for this user alone from the first moment on: the socket is made in a folder that
 * nobody else may enter, and shown at the path when its mode is 0600. A socket that nobody listens at is replaced.
 *
 * Rejects with `ROLLCALL_CONSOLE_PATH`, `ROLLCALL_CONSOLE_UNTRUSTED` or `ROLLCALL_CONSOLE_IN_USE`.
 */
export async function listenAt(server: Server, path: string): Promise<Place> {
  const folder = dirname(path)
  await checkFolder(folder)
  await clear(path)
  const hidden = await mkdtemp(join(folder, '.c')).catch((error: unknown) => {
    throw pathError(path, `its folder cannot be written to (${codeOf(error)})`, error)
  })
  try {
    const made = join(hidden, 's')
    checkLength(path)
    checkLength(made)
    await listen(server, made)
    await chmod(made, 0o600)
    // A link, unlike a renaming, replaces nobody who came meanwhile.
    await link(made, path)
    const { ino } = await lstat(path)
    return {
      remove: async () => {
        const there = await statOf(path).catch(() => undefined)
        if (there?.ino === ino) await unlink(path).catch(() => undefined)
      },
    }
  } catch (error) {
    server.close()
    if (error instanceof RollcallError) throw error
    if (codeOf(error) === 'EEXIST') throw inUse(path, error)
    throw pathError(path, `cannot be listened at (${codeOf(error)})`, error)
  } finally {
    await rm(hidden, { recursive: true, force: true })
  }
}

/**
 * Refuses a path that is not a socket of this user's or root's: whoever listens there sees what is typed.
 *
 * Rejects with `ROLLCALL_CONSOLE_ABSENT`, `ROLLCALL_CONSOLE_PATH` or `ROLLCALL_CONSOLE_UNTRUSTED`.
 */
export async function checkSocket(path: string): Promise<void> {
  checkLength(path)
  const there = await statOf(path)
  if (there === undefined) {
    throw argumentError('The path', path, 'there must be a socket', 'ROLLCALL_CONSOLE_ABSENT')
  }
  if (!there.isSocket()) throw pathError(path, 'must be a socket')
  if (!isTrusted(there)) throw untrusted(path, "must be this user's or root's")
}

async function checkFolder(folder: string): Promise<void> {
  const there = await statOf(folder)
  if (there === undefined) throw pathError(folder, 'the folder must exist')
  // What a link leads to can be changed by the owner of the link.
  const target = there.isSymbolicLink() ? await stat(folder) : there
  if (!target.isDirectory()) throw pathError(folder, 'must be a folder')
  if (!isTrusted(there) || !isTrusted(target)) throw untrusted(folder, "must be this user's or root's")
  if ((target.mode & WRITABLE_BY_OTHERS) !== 0) throw untrusted(folder, 'must not be writable by others')
}

/** Makes way at the path, if there is nothing but a socket that nobody listens at. */
async function clear(path: string): Promise<void> {
  const there = await statOf(path)
  if (there === undefined) return
  if (!there.isSocket()) throw pathError(path, 'must be a socket or nothing')
  if (await answers(path)) throw inUse(path)
  await unlink(path)
}

/** Whether anybody listens at a socket. In doubt, somebody does. */
export const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => resolve(codeOf(error) !== 'ECONNREFUSED'))
  })

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    // Exclusive: in a worker of node:cluster the primary would make the socket.
    server.listen({ path, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })

function checkLength(path: string): void {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw pathError(path, `must be at most ${MAX_PATH_BYTES} bytes, or in a folder with a shorter path`)
  }
}

const isTrusted = ({ uid }: Stats): boolean => uid === ME || uid === 0

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'EACCES') throw untrusted(path, 'must be open to this user')
    throw pathError(path, `cannot be looked at (${code})`, error)
  }
}

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)

const pathError = (path: string, rule: string, cause?: unknown): RollcallError =>
  new RollcallError('ROLLCALL_CONSOLE_PATH', `The path is ${JSON.stringify(path)}: ${rule}`, { cause })

const untrusted = (path: string, rule: string): RollcallError =>
  argumentError('The path', path, rule, 'ROLLCALL_CONSOLE_UNTRUSTED')

const inUse = (path: string, cause?: unknown): RollcallError =>
  new RollcallError('ROLLCALL_CONSOLE_IN_USE', `Another console answers at ${JSON.stringify(path)}`, {
    cause,
  })
