import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { resolve } from 'node:path'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import { argumentError, checkKeys } from '../tracker/check.ts'
import { Session } from './session.ts'
import { defaultPath, listenAt } from './socket-file.ts'
import type { Place } from './socket-file.ts'

export interface ConsoleOptions {
  /**
   * Of a Unix socket in a folder that exists, is this user's or root's, and is not writable by others. Default:
   * `$XDG_RUNTIME_DIR/rollcall/<pid>.sock`, else `rollcall-<uid>/<pid>.sock` in the folder for temporary files.
   */
  readonly path?: string | undefined
}

/** The open console of a registry. Closes with it. Whoever can open its socket has the power of this process. */
export class Console implements AsyncDisposable {
  /** Where it listens. */
  readonly path: string
  readonly #server: Server
  readonly #place: Place
  readonly #sessions: Set<Session>
  readonly #registryClosed: () => void
  readonly #registry: Registry
  #closing: Promise<void> | undefined

  /** @internal See `openConsole`. */
  constructor(path: string, registry: Registry, server: Server, place: Place, sessions: Set<Session>) {
    this.path = path
    this.#registry = registry
    this.#server = server
    this.#place = place
    this.#sessions = sessions
    this.#registryClosed = () => void this.#close('the registry has closed')
    registry.tracker.once('close', this.#registryClosed)
  }

  /** Ends all sessions with a line, and takes the socket away. Idempotent, never rejects. */
  close(): Promise<void> {
    return this.#close('the console has closed')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #close(why: string): Promise<void> {
    this.#closing ??= this.#shutDown(why)
    return this.#closing
  }

  async #shutDown(why: string): Promise<void> {
    this.#registry.tracker.off('close', this.#registryClosed)
    this.#server.close()
    for (const session of this.#sessions) session.end(why)
    await this.#place.remove()
  }
}

/**
 * Serves `repl` on a Unix socket, for `npx rollcall console` and `attach`: any number of sessions, each with variables of
 * its own, on this registry. Never keeps the process alive.
 *
 * Rejects with `ROLLCALL_INVALID_ARGUMENT`, `ROLLCALL_CLOSED`, `ROLLCALL_CONSOLE_PATH`, `ROLLCALL_CONSOLE_UNTRUSTED` or
 * `ROLLCALL_CONSOLE_IN_USE`.
 */
export async function openConsole(registry: Registry, options: ConsoleOptions = {}): Promise<Console> {
  checkKeys('The options', options, ['path'])
  const { path: given } = options
  if (given !== undefined && (typeof given !== 'string' || given === '' || given.includes('\0'))) {
    throw argumentError('The option path', given, 'must be the path of a socket')
  }
  checkOpen(registry)
  const path = resolve(given ?? (await defaultPath()))
  const sessions = new Set<Session>()
  const server = createServer((socket) => {
    socket.unref()
    const session = new Session(socket, registry)
    sessions.add(session)
    socket.once('close', () => sessions.delete(session))
  })
  const console = new Console(path, registry, server, await listenAt(server, path), sessions)
  server.unref()
  try {
    checkOpen(registry)
  } catch (error) {
    await console.close()
    throw error
  }
  return console
}

function checkOpen({ closed }: Registry): void {
  if (closed) throw new RollcallError('ROLLCALL_CLOSED')
}
