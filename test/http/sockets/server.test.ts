import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { fork } from 'node:child_process'
import { request as sendRequest } from 'node:http'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { serveHttp } from '../../../src/http/index.ts'
import type { HttpServer, HttpServerOptions } from '../../../src/http/index.ts'
import type { Registry } from '../../../src/registry/registry.ts'
import { Monitor } from '../../../src/tracker/monitor.ts'
import { CountedClock } from '../counted-clock.ts'
import { checkSchema } from '../contract.ts'
import { Reader } from '../face.ts'
import { alone } from '../scene.ts'

let registry: Registry
let server: HttpServer | undefined

beforeEach(async () => {
  registry = await alone()
})
afterEach(async () => {
  await server?.close()
  await registry.close()
})

async function serve(options: HttpServerOptions = {}): Promise<HttpServer> {
  server = await serveHttp(registry, { port: 0, token: 't', ...options })
  return server
}

/** A connection on which a test says what it likes, and all that came back. */
class Line {
  readonly socket: Socket
  text = ''
  isOver = false

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.setEncoding('latin1').on('data', (text: string) => (this.text += text))
    this.socket.on('close', () => (this.isOver = true)).on('error', () => undefined)
  }

  say(...lines: readonly string[]): void {
    this.socket.write(lines.join('\r\n'))
  }

  async heard(what: RegExp): Promise<void> {
    await expect.poll(() => this.text, { timeout: 5_000, interval: 5 }).toMatch(what)
  }

  async over(): Promise<void> {
    await expect.poll(() => this.isOver, { timeout: 5_000, interval: 5 }).toBe(true)
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
  }
}

const hasIPv6 = (): boolean => networkInterfaces()['lo']?.some(({ family }) => family === 'IPv6') === true

/** Bytes, of all kinds. */
const memoryHeld = (): number => {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Lets what was sent arrive. */
const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 50))

const PUT =
  'PUT /v1/registrations/mail HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\nContent-Type: application/json'
const BODY = JSON.stringify({ name: 'Mail', version: '1.0.0', leaseMs: 60_000 })
const GET = 'GET /v1/services HTTP/1.1\r\nHost: localhost\r\n\r\n'

describe('a server', () => {
  test('answers at its url, until it is closed', async () => {
    const { url, port } = await serve()
    expect(url).toBe(`http://127.0.0.1:${port}`)
    const response = await fetch(`${url}/v1/nodes`)
    expect(await response.json()).toMatchObject({ nodes: [{ self: true }] })
    await server?.close()
    await expect(fetch(`${url}/v1/nodes`)).rejects.toThrow()
    await server?.close()
  })

  test('answers at an address of IPv6 too, which its url has in brackets', async ({ skip }) => {
    skip(!hasIPv6(), 'this machine has no IPv6')
    const { url, port } = await serve({ host: '::1' })
    expect(url).toBe(`http://[::1]:${port}`)
    expect((await fetch(`${url}/v1/nodes`)).status).toBe(200)
  })

  test('closes at the end of its block', async () => {
    let url: string
    {
      await using brief = await serveHttp(registry, { port: 0 })
      url = brief.url
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
    }
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  test('closes with the registry, open streams and idle connections included', async () => {
    const { port } = await serve()
    const reader = Reader.ask(port, '/v1/events')
    const idle = new Line(port)
    idle.say(GET)
    await idle.heard(/200 OK/)
    await expect.poll(() => reader.names).toEqual(['open'])
    await registry.close()
    await idle.over()
    await expect.poll(() => reader.isOver).toBe(true)
    expect(reader.faults).toEqual([])
  })

  test('does not wait for ever for a request that does not end', async () => {
    const { port } = await serve()
    const slow = new Line(port)
    slow.say(PUT, 'Content-Length: 10', '', '{')
    await pause()
    const began = performance.now()
    await server?.close()
    expect(performance.now() - began).toBeLessThan(3_000)
    await slow.over()
  })

  test('leaves no timer behind', async () => {
    const clock = new CountedClock()
    const { port, url } = await serve({ clock })
    const events = Reader.ask(port, '/v1/events')
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
    await fetch(`${url}/v1/registrations/mail`, { method: 'PUT', headers, body: BODY })
    await fetch(`${url}/v1/registrations/mail`, { method: 'PUT', body: 'x'.repeat(100_000) })
    await expect.poll(() => events.names).toEqual(['open'])
    expect(clock.pending).toBeGreaterThan(0)
    await server?.close()
    await expect.poll(() => [clock.pending, events.isOver]).toEqual([0, true])
  })

  test('is refused a port that is in use, and leaves nothing behind', async () => {
    const { port } = await serve()
    const count = (): number => registry.tracker.listenerCount('close')
    const before = count()
    await expect(serveHttp(registry, { port })).rejects.toMatchObject({
      code: 'ROLLCALL_START_FAILED',
      message: expect.stringContaining(`cannot listen on 127.0.0.1, port ${port}`) as string,
    })
    expect(count()).toBe(before)
  })

  test.each<[HttpServerOptions, string]>([
    [{ host: '' }, 'The option host is "": must be an address or a name'],
    [{ port: 65_536 }, 'The option port is 65536: must be a whole number, from 0 to 65535'],
    [{ port: 1.5 }, 'The option port is 1.5: must be a whole number, from 0 to 65535'],
    [{ maxConnections: 0 }, 'The option maxConnections is 0: must be a whole number, at least 1'],
    [{ prot: 1 } as HttpServerOptions, 'The options has an unknown field "prot"'],
    [{ maxBodyBytes: 0 }, 'The option maxBodyBytes is 0: must be a whole number, at least 1'],
  ])('%o is refused', async (options, message) => {
    await expect(serveHttp(registry, options)).rejects.toMatchObject({
      code: 'ROLLCALL_INVALID_ARGUMENT',
      message,
    })
  })

  test('takes so many connections and no more', async () => {
    const { port } = await serve({ maxConnections: 2 })
    const lines = [new Line(port), new Line(port)]
    for (const line of lines) {
      line.say(GET)
      await line.heard(/200 OK/)
    }
    const third = new Line(port)
    third.say(GET)
    await third.over()
    expect(third.text).toBe('')
    lines[0]?.socket.destroy()
    await expect
      .poll(async () => (await fetch(`${server?.url ?? ''}/healthz`).catch(() => undefined))?.status)
      .toBe(200)
  })
})

test('C65: a process whose registry is closed ends by itself, its connections and leases included', async () => {
  const child = fork(new URL('child.ts', import.meta.url), { execArgv: ['--import', 'tsx'] })
  onTestFinished(() => void child.kill())
  const [port] = (await once(child, 'message')) as [number]
  const events = Reader.ask(port, '/v1/events')
  await expect.poll(() => events.names).toEqual(['open'])
  const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
  const put = await fetch(`http://127.0.0.1:${port}/v1/registrations/mail`, {
    method: 'PUT',
    headers,
    body: BODY,
  })
  expect(put.status).toBe(201)
  await expect.poll(() => events.names).toEqual(['open', 'service_up'])
  child.send('close')
  const [{ closedAt }] = (await once(child, 'message')) as [{ closedAt: number }]
  const [code] = (await once(child, 'exit')) as [number]
  expect(code).toBe(0)
  expect(Date.now() - closedAt).toBeLessThan(1_000)
})

describe('the header Host', () => {
  const statusOf = async (port: number, host: string | undefined): Promise<number | undefined> => {
    const line = new Line(port)
    line.say(`GET /v1/nodes HTTP/1.0${host === undefined ? '' : `\r\nHost: ${host}`}\r\n\r\n`)
    await line.over()
    return line.statuses[0]
  }

  test('of a server on a loopback address must be a name of this machine', async () => {
    const { port } = await serve()
    for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect(await statusOf(port, host), host).toBe(200)
    }
    for (const host of ['evil.example', `evil.example:${port}`, '', undefined]) {
      expect(await statusOf(port, host), host).toBe(403)
    }
  })

  test('of one that others reach may be any, unless hosts says which', async () => {
    const { port } = await serve({ host: '0.0.0.0' })
    expect(await statusOf(port, 'any.example')).toBe(200)
    await server?.close()
    const { port: other } = await serve({ hosts: ['ours.example'] })
    expect(await statusOf(other, 'ours.example')).toBe(200)
    expect(await statusOf(other, 'localhost')).toBe(403)
  })
})

describe('a connection', () => {
  test('is kept, and requests that come at once are answered in their order', async () => {
    const { port } = await serve()
    const line = new Line(port)
    const put = [PUT, `Content-Length: ${BODY.length}`, '', BODY].join('\r\n')
    const miss = GET.replace('/services', '/lookup/Post')
    line.say(GET + put + miss + GET.replace('GET', 'HEAD') + put + miss)
    await expect.poll(() => line.statuses).toEqual([200, 201, 404, 200, 200, 404])
    expect(line.isOver).toBe(false)
    line.socket.destroy()
  })

  test('after HEAD goes on at once, for there is no body', async () => {
    const { port } = await serve()
    const line = new Line(port)
    line.say(GET.replace('GET', 'HEAD'))
    await line.heard(/\r\n\r\n/)
    expect(line.text.endsWith('\r\n\r\n')).toBe(true)
    expect(line.text).toMatch(/^Content-Length: [1-9]/m)
    line.socket.destroy()
  })

  test('with something that is not HTTP is refused, and the server lives', async () => {
    const { port, url } = await serve()
    const line = new Line(port)
    line.say('\u0000\u0001 garbage\r\n\r\n')
    await line.over()
    expect(line.statuses).toEqual([400])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })
})

describe('a body', () => {
  test('is asked for when all that comes before it is in order', async () => {
    const { port } = await serve()
    const line = new Line(port)
    line.say(PUT, 'Expect: 100-continue', `Content-Length: ${BODY.length}`, '', '')
    await line.heard(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
    line.say(BODY)
    await expect.poll(() => line.statuses).toEqual([100, 201])
    line.socket.destroy()
  })

  test.each([
    ['a wrong token', PUT.replace('Bearer t', 'Bearer x'), 10, 401],
    ['another type', PUT.replace('application/json', 'text/plain'), 10, 415],
    ['too much', PUT, 100_000, 413],
  ])('is not asked for after %s', async (_, head, length, status) => {
    const { port } = await serve()
    const line = new Line(port)
    line.say(head, 'Expect: 100-continue', `Content-Length: ${length}`, '', '')
    await expect.poll(() => line.statuses).toEqual([status])
    expect(line.text).toMatch(/^Connection: close/m)
    await line.over()
    expect(line.statuses).toEqual([status])
  })

  test('that says it is too long is refused before any of it', async () => {
    const { port } = await serve()
    const line = new Line(port)
    line.say(PUT, 'Content-Length: 65537', '', '')
    await line.heard(/^HTTP\/1\.1 413 [^]*ROLLCALL_HTTP_BODY/)
    await line.over()
  })

  test('that does not say how long it is is cut off where it is too long, however much comes', async () => {
    const { port } = await serve()
    const line = new Line(port)
    line.say(PUT, 'Transfer-Encoding: chunked', '', '')
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    let sent = 0
    const timer = setInterval(() => {
      if (line.isOver || line.socket.writableNeedDrain) return
      line.socket.write(chunk)
      sent += chunk.length
    }, 5)
    await line.heard(/^HTTP\/1\.1 413 [^]*ROLLCALL_HTTP_BODY/)
    await line.over()
    clearInterval(timer)
    expect(sent).toBeLessThan(64 * 1_048_576)
  })

  test('of a client that sends it all before it listens does not cost it the answer', async () => {
    const { port } = await serve()
    const bytes = 16 * 1_048_576
    const line = new Line(port)
    line.socket.pause()
    line.say(PUT, `Content-Length: ${bytes}`, '', 'x'.repeat(bytes))
    await expect.poll(() => line.socket.writableLength).toBe(0)
    await pause()
    line.socket.resume()
    await line.heard(/^HTTP\/1\.1 413 [^]*ROLLCALL_HTTP_BODY/)
    await line.over()
  })

  test('in chunks is read whole', async () => {
    const { port } = await serve()
    const line = new Line(port)
    const [one, two] = [BODY.slice(0, 20), BODY.slice(20)]
    const piece = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
    line.say(PUT, 'Transfer-Encoding: chunked', '', piece(one))
    line.say(`${piece(two)}0\r\n\r\n`)
    await expect.poll(() => line.statuses).toEqual([201])
    line.socket.destroy()
  })

  test('that breaks off changes nothing', async () => {
    const { port, url } = await serve()
    const line = new Line(port)
    line.say(PUT, `Content-Length: ${BODY.length}`, '', BODY.slice(0, -1))
    await pause()
    line.socket.resetAndDestroy()
    await line.over()
    await pause()
    expect(await (await fetch(`${url}/v1/registrations`)).json()).toEqual({ registrations: [] })
  })
})

describe('clients that do not take their answers', () => {
  /** Asks for some 6 MB, and reads none of it. */
  const deaf = (port: number): Line => {
    const line = new Line(port)
    line.socket.pause()
    line.say(GET)
    return line
  }

  test('hold a bounded share of memory, for a bounded time, however many they are', async () => {
    const clock = new CountedClock()
    const { port, url } = await serve({ clock, maxConnections: 300 })
    const monitor = new Monitor()
    for (let n = 0; n < 400; n++) {
      registry.register(
        { name: `Big ${n}`, version: '1.0.0', metadata: { text: 'x'.repeat(15_000) } },
        { monitor },
      )
    }
    const before = memoryHeld()
    const lines = Array.from({ length: 100 }, () => deaf(port))
    const statusOf = async (path: string): Promise<number> => {
      const response = await fetch(url + path)
      await response.arrayBuffer()
      return response.status
    }
    await expect.poll(() => statusOf('/v1/services'), { timeout: 10_000 }).toBe(503)
    expect(await statusOf('/v1/lookup/Big%200')).toBe(200)
    expect(memoryHeld() - before).toBeLessThan(200 * 1_048_576)
    await clock.pass(30_000)
    await expect.poll(() => statusOf('/v1/services')).toBe(200)
    for (const line of lines) line.socket.resume()
    await expect
      .poll(() => lines.filter(({ isOver, statuses }) => !isOver && !statuses.includes(503)))
      .toEqual([])
    expect(lines.filter(({ isOver }) => isOver).length).toBeLessThan(40)
    for (const line of lines) line.socket.destroy()
    monitor.close()
    // What was taken, or cut off, is counted no more.
    for (let n = 0; n < 3; n++) expect(await statusOf('/v1/services')).toBe(200)
    await server?.close()
    expect(clock.pending).toBe(0)
  })
})

describe('streams', () => {
  test('tell what is and what comes, under the same headers as all answers', async () => {
    const { port } = await serve()
    const watch = Reader.ask(port, '/v1/watch/Mail?version=1.0.0&state=any')
    const events = Reader.ask(port, '/v1/events')
    await expect.poll(() => [...watch.names, ...events.names]).toEqual(['snapshot', 'open'])
    registry.register({ name: 'Mail', version: '1.0.0', state: 'starting' })
    registry.register({ name: 'Mail', version: '2.0.0' })
    await expect.poll(() => events.names).toEqual(['open', 'service_up', 'service_up'])
    await expect
      .poll(() => watch.data(-1))
      .toMatchObject({ instances: [{ version: '1.0.0', state: 'starting' }] })
    for (const at of watch.events.keys()) checkSchema('Snapshot', watch.data(at))
    for (const { response } of [watch, events]) {
      expect(response?.headers).toMatchObject({
        'content-type': 'text/event-stream',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      expect(response?.headers['cache-control']).toMatch(/no-store/)
    }
  })

  test('are not for who may not read, nor for too many, nor for what breaks a rule', async () => {
    const { port, url } = await serve({ readToken: 'r', maxStreams: 1 })
    expect((await fetch(`${url}/v1/events`)).status).toBe(401)
    const headers = { authorization: 'Bearer r' }
    const asked = sendRequest({ port, path: '/v1/events', headers }).end()
    const [first] = (await once(asked, 'response')) as [{ destroy(): void }]
    for (const path of ['events', 'watch/Mail']) {
      const response = await fetch(`${url}/v1/${path}`, { headers })
      expect([response.status, response.headers.get('content-type')]).toEqual([
        503,
        'application/problem+json',
      ])
      expect(await response.json()).toMatchObject({ code: 'ROLLCALL_HTTP_BUSY' })
    }
    first.destroy()
    await expect.poll(async () => (await fetch(`${url}/v1/watch/Mail?state=x`, { headers })).status).toBe(400)
  })
})
