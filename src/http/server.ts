import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import type { Clock } from '../tracker/ports.ts'
import { backgroundClock } from '../tracker/system.ts'
import type { Face } from './face.ts'
import { openFace } from './handler.ts'
import { namesAt } from './hosts.ts'
import { splitServerOptions } from './options.ts'
import type { HttpServerOptions, ListenOptions } from './options.ts'

/** A server of its own for the HTTP face of a registry. */
export interface HttpServer extends AsyncDisposable {
  /** Where it answers, without a slash at the end. */
  readonly url: string
  readonly port: number
  /**
   * Takes no more requests, ends streams and registrations, and resolves when all requests are answered, or cut off after a
   * second. Idempotent, never rejects. Also done when the registry closes.
   */
  close(): Promise<void>
}

/** Longest that a client may take to send a request. Node's own five minutes are meant for uploads. */
const REQUEST_TIMEOUT_MS = 30_000

/** What answers under way may take when the server closes. */
const CLOSE_GRACE_MS = 1_000

/**
 * Answers for a registry over HTTP, by default to this machine alone. Resolves once it listens.
 *
 * Rejects as `httpHandler` throws, also when the registry closes meanwhile, and with `ROLLCALL_START_FAILED`, for example because the
 * port is in use.
 */
export async function serveHttp(registry: Registry, options: HttpServerOptions = {}): Promise<HttpServer> {
  const { listen, rest } = splitServerOptions(options)
  const { hosts = namesAt(listen.host), clock = backgroundClock } = rest
  const face = openFace(registry, { ...rest, hosts })
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) =>
    face.handle(request, response, undefined),
  )
  server.on('checkContinue', (request, response) =>
    face.handle(request, response, undefined, () => response.writeContinue()),
  )
  server.maxConnections = listen.maxConnections
  try {
    await startListening(server, listen)
  } catch (error) {
    face.close()
    throw error
  }
  const listening = new ListeningServer({ registry, face, server, clock })
  if (!registry.closed) return listening
  await listening.close()
  throw new RollcallError('ROLLCALL_CLOSED')
}

async function startListening(server: Server, { host, port }: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new RollcallError(
          'ROLLCALL_START_FAILED',
          `cannot listen on ${host}, port ${port}: ${cause.message}`,
          {
            cause,
          },
        ),
      ),
    )
    server.listen(port, host, resolve)
  })
  server.removeAllListeners('error')
}

interface Parts {
  readonly registry: Registry
  readonly face: Face
  readonly server: Server
  readonly clock: Clock
}

class ListeningServer implements HttpServer {
  readonly url: string
  readonly port: number
  readonly #parts: Parts
  #closing: Promise<void> | undefined

  constructor(parts: Parts) {
    const { address, family, port } = parts.server.address() as AddressInfo
    this.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
    this.port = port
    this.#parts = parts
    parts.registry.tracker.once('close', this.#follow)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  readonly #follow = (): void => void this.close()

  async #close(): Promise<void> {
    const { registry, face, server, clock } = this.#parts
    registry.tracker.off('close', this.#follow)
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    face.close()
    const timer = clock.setTimer(() => server.closeAllConnections(), CLOSE_GRACE_MS)
    await closed
    timer.cancel()
  }
}
