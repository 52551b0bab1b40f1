import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, vi } from 'vitest'
import { serveHttp, type HttpServer, type HttpServerOptions } from '../../../src/http/index.ts'
import { createRegistry, type Registry } from '../../../src/registry/registry.ts'
import { MemoryNetwork } from '../../../src/transports/memory/network.ts'
import { memoryTransport, type MemoryTransport } from '../../../src/transports/memory/transport.ts'
import { launch, missing } from './browser.ts'
import { Visit } from './visit.ts'

interface VisitOptions extends BrowserContextOptions {
  /** Default: that of the face. */
  readonly url?: string
}

/** Two nodes, and the page of one of them in browsers that know nothing of it yet. */
export class Stage {
  readonly #browser: Browser
  readonly #network = new MemoryNetwork()
  readonly #transports = new Map<string, MemoryTransport>()
  readonly #visits: Visit[] = []
  #hub!: Registry
  #post!: Registry
  #face!: HttpServer

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async set(browser: Browser): Promise<Stage> {
    const stage = new Stage(browser)
    stage.#hub = await stage.#start('hub')
    stage.#post = await stage.#start('post')
    await stage.serve()
    return stage
  }

  /** The node whose page it is. */
  get hub(): Registry {
    return this.#hub
  }

  /** The other one. */
  get post(): Registry {
    return this.#post
  }

  get face(): HttpServer {
    return this.#face
  }

  async serve(options: HttpServerOptions = {}): Promise<void> {
    this.#face = await serveHttp(this.#hub, { port: 0, ...options })
  }

  async visit({ url = this.#face.url, ...options }: VisitOptions = {}): Promise<Visit> {
    const visit = await Visit.to(this.#browser, url, options)
    this.#visits.push(visit)
    return visit
  }

  /** The other node is gone without a word. */
  async crash(): Promise<void> {
    await this.#transports.get('post')?.stop()
  }

  async clear(): Promise<void> {
    await Promise.all(this.#visits.map((visit) => visit.close()))
    await this.#face.close()
    await Promise.all([this.#hub.close(), this.#post.close()])
  }

  async #start(name: string): Promise<Registry> {
    const transport = memoryTransport(this.#network, { address: `/memory/${name}`, join: ['/memory/hub'] })
    this.#transports.set(name, transport)
    return await createRegistry({ transport, name, flush: 'eager' })
  }
}

/** Describes the page, each test on a stage of its own. Where there is no browser, it is skipped. */
export function describePage(what: string, body: (stage: () => Stage) => void): void {
  describe.skipIf(missing !== undefined)(what, () => {
    let browser: Browser
    let stage: Stage
    beforeAll(async () => {
      browser = await launch()
    })
    afterAll(() => browser.close())
    beforeEach(async () => {
      stage = await Stage.set(browser)
    })
    afterEach(() => stage.clear())
    body(() => stage)
  })
}

/** Waits until the check passes. What the page reads again may be half a second old. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 8_000, interval: 30 })

/** What names might do. */
export const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(2)</script>',
  '__proto__',
  'constructor',
  '\u202Egpj.exe',
  '🦊 %2F../?&#',
  '"\'`${1}`',
  'w'.repeat(256),
  'javascript:alert(3)',
]
