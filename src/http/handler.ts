import type { IncomingMessage, ServerResponse } from 'node:http'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import { argumentError, isRecord } from '../tracker/check.ts'
import { Face } from './face.ts'
import type { Next } from './face.ts'
import { resolveHttpOptions } from './options.ts'
import type { HttpOptions } from './options.ts'

/**
 * Answers requests for a registry. It goes wherever a listener of `node:http` goes: it is a middleware of Express and its like too,
 * under any path, and passes on (`next`) what is not its own.
 */
export interface HttpHandler {
  (request: IncomingMessage, response: ServerResponse, next?: Next): void
  /** Ends the event streams and the registrations that came over HTTP. Idempotent. Also done when the registry closes. */
  close(): void
}

/** Throws `ROLLCALL_INVALID_ARGUMENT`, and `ROLLCALL_CLOSED`. */
export function httpHandler(registry: Registry, options: HttpOptions = {}): HttpHandler {
  const face = openFace(registry, options)
  const handle = (request: IncomingMessage, response: ServerResponse, next?: Next): void =>
    face.handle(request, response, next)
  return Object.assign(handle, { close: () => face.close() })
}

/** What a handler and a server are made of. Throws as `httpHandler`. */
export function openFace(registry: Registry, options: HttpOptions): Face {
  const resolved = resolveHttpOptions(options)
  if (!isRegistry(registry)) throw argumentError('The registry', registry, 'must be one of createRegistry')
  if (registry.closed) throw new RollcallError('ROLLCALL_CLOSED')
  return new Face(registry, resolved)
}

const isRegistry = (registry: unknown): boolean =>
  isRecord(registry) && isRecord(registry['tracker']) && typeof registry['diagnostics'] === 'function'
