import type { IncomingMessage, ServerResponse } from 'node:http'
import { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import { surfaceError } from '../tracker/surface.ts'
import { Auth } from './auth.ts'
import { readBody } from './body.ts'
import { documentRoutes } from './documents.ts'
import { Health, healthRoutes } from './health.ts'
import { checkHost } from './hosts.ts'
import type { ResolvedHttpOptions } from './options.ts'
import { pageRoutes } from './page-routes.ts'
import { problemOf, Refusal } from './problem.ts'
import { readQueryString } from './query-string.ts'
import { Rate } from './rate.ts'
import { readRoutes } from './reads.ts'
import { registrationRoutes } from './registration-routes.ts'
import { Registrations } from './registrations.ts'
import type { Route, Routes } from './route.ts'
import { decodeParameter, Router } from './router.ts'
import type { Match } from './router.ts'
import { Sender } from './sender.ts'
import { streamRoutes } from './stream-routes.ts'
import { Streams } from './streams.ts'

/** Passes a request on to whoever comes after. */
export type Next = (error?: unknown) => void

type Methods = Routes[string]

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Called before a body is read. */
  readonly willRead: () => void
}

/** All that a registry answers over HTTP. */
export class Face {
  readonly #registry: Registry
  readonly #options: ResolvedHttpOptions
  readonly #auth: Auth
  readonly #rate: Rate
  readonly #sender: Sender
  readonly #health: Health
  readonly #registrations: Registrations
  readonly #streams: Streams
  readonly #router: Router<Methods>
  #closed = false

  constructor(registry: Registry, options: ResolvedHttpOptions) {
    this.#registry = registry
    this.#options = options
    this.#auth = new Auth(options)
    this.#rate = new Rate(options.requestsPerSecond, options.clock)
    this.#sender = new Sender(options.clock)
    this.#health = new Health(registry)
    this.#registrations = new Registrations(registry, options)
    this.#streams = new Streams(registry, options)
    this.#router = new Router<Methods>({
      ...readRoutes(registry),
      ...registrationRoutes(this.#registrations),
      ...streamRoutes(this.#streams),
      ...healthRoutes(registry, this.#health),
      ...documentRoutes(),
      ...(options.page ? pageRoutes() : {}),
    })
    registry.tracker.once('close', this.#end)
  }

  /** `willRead` is called before a body is read. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    next: Next | undefined,
    willRead: () => void = NOTHING,
  ): void {
    const target = targetOf(request)
    const match = this.#router.find(target.path)
    if (match === undefined && next !== undefined) {
      next()
      return
    }
    try {
      const answer = this.#answer({ request, response, willRead }, match, target.search)
      if (answer instanceof Promise) {
        answer.then(
          (later) => this.#sender.send(request, response, later),
          (error: unknown) => this.#fail(request, response, error),
        )
      } else if (answer !== undefined) this.#sender.send(request, response, answer)
    } catch (error) {
      this.#fail(request, response, error)
    }
  }

  /** Idempotent. */
  close(): void {
    this.#registry.tracker.off('close', this.#end)
    this.#end()
  }

  readonly #end = (): void => {
    this.#closed = true
    this.#health.close()
    this.#registrations.close()
    this.#streams.close()
  }

  /** Undefined: somebody else sees to the response. */
  #answer(
    { request, response, willRead }: Exchange,
    match: Match<Methods> | undefined,
    search: string,
  ): ReturnType<Route['answer']> {
    const route = match && routeOf(match, request)
    if (route?.always !== true) this.#admit(request)
    if (match === undefined) throw nothingThere()
    if (route === undefined) throw notAllowed(match.target)
    this.#auth.check(route.access, request.headers.authorization)
    if ((this.#closed || this.#registry.closed) && route.always !== true) {
      throw new RollcallError('ROLLCALL_CLOSED')
    }
    const parameter = decodeParameter(match.parameter)
    const query = readQueryString(search, route.parameters ?? [])
    const body = (): Promise<unknown> => readBody(request, this.#options.maxBodyBytes, willRead)
    return route.answer({ parameter, query, body, request, response })
  }

  #admit(request: IncomingMessage): void {
    checkHost(request.headers.host, this.#options.hosts)
    const waitMs = this.#rate.take(request.socket.remoteAddress)
    if (waitMs === 0) return
    throw new Refusal('ROLLCALL_HTTP_RATE', 429, 'Too many requests of this address', {
      'Retry-After': String(Math.ceil(waitMs / 1_000)),
    })
  }

  /** Of a fault that is our own, the client is told no more than that there is one. */
  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (!(error instanceof RollcallError)) surfaceError(error)
    this.#sender.send(request, response, problemOf(error))
  }
}

const NOTHING = (): void => undefined

/** What is asked for. A proxy may send a whole URL. */
function targetOf({ url = '/' }: IncomingMessage): { readonly path: string; readonly search: string } {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const at = target.indexOf('?')
  return at < 0 ? { path: target, search: '' } : { path: target.slice(0, at), search: target.slice(at + 1) }
}

const routeOf = ({ target }: Match<Methods>, { method = '' }: IncomingMessage): Route | undefined => {
  const asked = method === 'HEAD' ? 'GET' : method
  return target[asked as keyof Methods]
}

const nothingThere = (): Refusal =>
  new Refusal('ROLLCALL_HTTP_NOT_FOUND', 404, 'There is nothing at this path')

function notAllowed(methods: Methods): Refusal {
  const allowed = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const Allow = allowed.join(', ')
  return new Refusal('ROLLCALL_HTTP_METHOD', 405, `The method must be one of ${Allow}`, { Allow })
}
