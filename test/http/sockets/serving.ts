import { afterEach, beforeEach } from 'vitest'
import { serveHttp } from '../../../src/http/index.ts'
import type { HttpServer, HttpServerOptions } from '../../../src/http/index.ts'
import type { Registry } from '../../../src/registry/registry.ts'
import { alone } from '../scene.ts'

interface Serving {
  readonly registry: Registry
  /** The last one. */
  readonly server: HttpServer | undefined
  /** Serves the registry, on a free port, until the test ends. */
  serve(options?: HttpServerOptions): Promise<HttpServer>
}

/** For each test of a file a registry, and servers of it. */
export function serving(): Serving {
  let registry: Registry
  let server: HttpServer | undefined
  beforeEach(async () => {
    registry = await alone()
  })
  afterEach(async () => {
    await server?.close()
    await registry.close()
  })
  return {
    get registry() {
      return registry
    },
    get server() {
      return server
    },
    async serve(options = {}) {
      server = await serveHttp(registry, { port: 0, token: 't', ...options })
      return server
    },
  }
}
