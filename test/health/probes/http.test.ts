import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Health } from '../../../src/health/health.ts'
import { httpProbe, type HttpProbeOptions } from '../../../src/health/probes/http.ts'
import { backgroundClock, systemRandom } from '../../../src/tracker/system.ts'

const NEVER = new AbortController().signal

/** A server on loopback, closed with the test. */
async function serve(
  answer: RequestListener,
  port = 0,
): Promise<{ server: Server; url: string; port: number }> {
  const server = createServer(answer).listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => shut(server))
  const address = server.address() as AddressInfo
  return { server, url: `http://127.0.0.1:${address.port}/health`, port: address.port }
}

async function shut(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

/** Answers with a status, and with an instance id where one is given. */
const answering =
  (status: number, id?: string, header = 'x-rollcall-instance'): RequestListener =>
  (_, response) =>
    response.writeHead(status, id === undefined ? {} : { [header]: id }).end('body')

test.each([
  [200, undefined],
  [204, undefined],
  [299, undefined],
  [503, 503],
  [302, 302],
  [401, [200, 401]],
])('an answer of %i passes where %j is expected', async (status, expectStatus) => {
  const { url } = await serve(answering(status))
  await expect(httpProbe(url, { expectStatus })(NEVER)).resolves.toBeUndefined()
})

test.each([
  [300, undefined],
  [404, undefined],
  [503, undefined],
  [200, 204],
  [204, [200, 201]],
])('an answer of %i fails where %j is expected', async (status, expectStatus) => {
  const { url } = await serve(answering(status))
  await expect(httpProbe(url, { expectStatus })(NEVER)).rejects.toThrow(`answered with status ${status}`)
})

test('a redirect is not followed, so it fails', async () => {
  const { url: elsewhere } = await serve(answering(200))
  const { url } = await serve((_, response) => response.writeHead(302, { location: elsewhere }).end())
  await expect(httpProbe(url)(NEVER)).rejects.toThrow('answered with status 302')
})

test('nobody listening fails', async () => {
  const { server, url } = await serve(answering(200))
  await shut(server)
  await expect(httpProbe(url)(NEVER)).rejects.toThrow('fetch failed')
})

test('method, path and headers are sent', async () => {
  const seen: unknown[] = []
  const { url } = await serve(({ method, url: path, headers }, response) => {
    seen.push(method, path, headers['authorization'])
    response.end()
  })
  await httpProbe(url, { method: 'HEAD', headers: { authorization: 'Bearer x' } })(NEVER)
  await httpProbe(new URL(url))(NEVER)
  expect(seen).toEqual(['HEAD', '/health', 'Bearer x', 'GET', '/health', undefined])
})

test.each([
  ['the one expected', 'mine', undefined, true],
  ['another one', 'theirs', /another instance: "theirs"/, true],
  ['none', undefined, /without x-rollcall-instance/, true],
  ['another one, which was not asked for', 'theirs', undefined, false],
])('C57: an answer with the id of %s', async (_, id, fault, asks) => {
  const { url } = await serve(answering(200, id))
  const run = httpProbe(url, asks ? { instanceId: { value: 'mine' } } : {})(NEVER)
  if (fault === undefined) await expect(run).resolves.toBeUndefined()
  else await expect(run).rejects.toThrow(fault)
})

test('C57: the id may stand in a header of choice', async () => {
  const { url } = await serve(answering(200, 'mine', 'x-life'))
  const probeOf = (header: string): unknown =>
    httpProbe(url, { instanceId: { header, value: 'mine' } })(NEVER)
  await expect(probeOf('X-Life')).resolves.toBeUndefined()
  await expect(probeOf('x-other')).rejects.toThrow('without x-other')
})

test('C57: who takes over the address of a dead instance does not revive it; its own return does', async () => {
  const first = await serve(answering(200, 'first'))
  const states: string[] = []
  const health = new Health(
    {
      readiness: {
        check: httpProbe(first.url, { instanceId: { value: 'first' } }),
        periodMs: 20,
        fall: 2,
      },
      reentryMs: 0,
    },
    {
      clock: backgroundClock,
      random: systemRandom,
      changed: ({ state }) => states.push(state),
      gone: () => states.push('gone'),
    },
  )
  onTestFinished(() => health.stop())
  health.start()
  await expect.poll(() => states).toEqual(['ready'])
  await shut(first.server)
  await expect.poll(() => states).toEqual(['ready', 'unready'])

  let asked = 0
  const second = await serve((request, response) => {
    asked++
    answering(200, 'second')(request, response)
  }, first.port)
  await expect.poll(() => asked).toBeGreaterThan(5)
  expect(states).toEqual(['ready', 'unready'])

  await shut(second.server)
  await serve(answering(200, 'first'), first.port)
  await expect.poll(() => states).toEqual(['ready', 'unready', 'ready'])
})

test('a body without end is not read to its end, and its connection is let go', async () => {
  let closed = false
  const { url } = await serve((_, response) => {
    response.writeHead(200)
    const write = (): void => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', write)
    }
    response.on('close', () => (closed = true))
    write()
  })
  await httpProbe(url)(NEVER)
  await expect.poll(() => closed).toBe(true)
})

test.each<[string, RequestListener]>([
  ['without an answer', () => undefined],
  ['in the middle of the headers', (_, response) => response.socket?.write('HTTP/1.1 200 OK\r\n')],
])('cut off %s, it lets the connection go', async (_, answer) => {
  let asked = false
  let closed = false
  const { url } = await serve((request, response) => {
    asked = true
    request.socket.on('close', () => (closed = true))
    answer(request, response)
  })
  const controller = new AbortController()
  const run = expect(httpProbe(url)(controller.signal)).rejects.toThrow('too long')
  await expect.poll(() => asked).toBe(true)
  controller.abort(new Error('too long'))
  await run
  await expect.poll(() => closed).toBe(true)
})

test.each<[unknown, object, string]>([
  ['ftp://host/', {}, 'The url is "ftp://host/": must be an http or https URL without a user'],
  ['host:80', {}, 'The url is "host:80": must be an http or https URL without a user'],
  ['http://me:pw@host/', {}, 'The url is "http://me:pw@host/": must be an http or https URL without a user'],
  ['http://me@host/', {}, 'The url is "http://me@host/": must be an http or https URL without a user'],
  ['http://:pw@host/', {}, 'The url is "http://:pw@host/": must be an http or https URL without a user'],
  [5, {}, 'The url is 5: must be an http or https URL without a user'],
  ['http://h', { expectedStatus: 200 }, 'The options has an unknown field "expectedStatus"'],
  [
    'http://h',
    { expectStatus: 99 },
    'The option expectStatus is 99: must be a status from 200 to 599, or some',
  ],
  [
    'http://h',
    { expectStatus: '200' },
    'The option expectStatus is "200": must be a status from 200 to 599, or some',
  ],
  [
    'http://h',
    { expectStatus: [] },
    'The option expectStatus is an array: must be a status from 200 to 599, or some',
  ],
  ['http://h', { method: 'POST' }, 'The option method is "POST": must be GET or HEAD'],
  [
    'http://h',
    { headers: { 'a b': 'c' } },
    'The option headers is an object: must be names and values of headers',
  ],
  ['http://h', { headers: 5 }, 'The option headers is 5: must be names and values of headers'],
  ['http://h', { instanceId: 'me' }, 'The option instanceId is "me": must be an object'],
  ['http://h', { instanceId: { id: 'me' } }, 'The option instanceId has an unknown field "id"'],
  [
    'http://h',
    { instanceId: { header: 'a b', value: 'c' } },
    'The option instanceId.header is "a b": must be the name of a header',
  ],
  ...['', ' a', 'a\nb', 'ü€', 5].map((value): [string, object, string] => [
    'http://h',
    { instanceId: { value } },
    `The option instanceId.value is ${JSON.stringify(value)}: must be a string that a header carries unchanged`,
  ]),
])('%j with %j is refused', (url, options, message) => {
  expect(() => httpProbe(url as string, options as HttpProbeOptions)).toThrow(
    expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT', message }),
  )
})
