import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { httpHandler } from '../../../src/http/index.ts'
import type { HttpHandler } from '../../../src/http/index.ts'
import type { Registry } from '../../../src/registry/registry.ts'
import { Reader } from '../face.ts'
import { alone } from '../scene.ts'

let registry: Registry
let handler: HttpHandler
const ends: (() => unknown)[] = []

beforeEach(async () => {
  registry = await alone()
  handler = httpHandler(registry, { token: 't' })
})
afterEach(async () => {
  handler.close()
  for (const end of ends.splice(0)) await end()
  await registry.close()
})

async function portOf(listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1')
  ends.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const BODY = JSON.stringify({ name: 'Mail', version: '1.0.0', leaseMs: 60_000 })

/** The whole of what clients do, under a path. */
async function checkMount(port: number, path: string): Promise<void> {
  const url = `http://127.0.0.1:${port}${path}`
  const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
  const put = await fetch(`${url}/v1/registrations/mail`, { method: 'PUT', headers, body: BODY })
  expect([put.status, await put.json()]).toMatchObject([201, { instance: { name: 'Mail' } }])
  const found = await fetch(`${url}/v1/lookup/Mail?version=1.0.0`)
  expect([found.status, await found.json()]).toMatchObject([200, { ok: true }])
  const renewed = await fetch(`${url}/v1/registrations/mail/renew`, {
    method: 'POST',
    headers,
    body: '{"state":"unready"}',
  })
  expect(await renewed.json()).toMatchObject({ instance: { state: 'unready' } })
  const bare = await fetch(`${url}/v1/registrations/mail/renew`, {
    method: 'POST',
    headers: { authorization: 'Bearer t' },
  })
  expect(bare.status).toBe(200)
  const name = encodeURIComponent('a/b %2F')
  expect(await (await fetch(`${url}/v1/services/${name}`)).json()).toMatchObject({ service: 'a/b %2F' })
  const refused = await fetch(`${url}/v1/registrations/mail`, { method: 'DELETE' })
  expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'ROLLCALL_HTTP_UNAUTHORIZED' }])
  const wrong = await fetch(`${url}/v1/services`, { method: 'OPTIONS' })
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  const head = await fetch(`${url}/v1/services`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  const reader = Reader.ask(port, `${path}/v1/watch/Mail?state=any`)
  await expect.poll(() => reader.names).toEqual(['snapshot'])
  const gone = await fetch(`${url}/v1/registrations/mail`, { method: 'DELETE', headers })
  expect(gone.status).toBe(204)
  await expect.poll(() => reader.data(-1)).toMatchObject({ instances: [] })
  reader.leave()
}

test('a registration whose body is still coming when the handler closes is none', async () => {
  const port = await portOf(handler)
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let text = ''
  socket.on('data', (piece: string) => (text += piece))
  const head = ['PUT /v1/registrations/a HTTP/1.1', 'Host: x', 'Authorization: Bearer t']
  const rest = ['Content-Type: application/json', `Content-Length: ${BODY.length}`, '', BODY.slice(0, -1)]
  socket.write([...head, 'Expect: 100-continue', ...rest].join('\r\n'))
  await expect.poll(() => text).toMatch(/^HTTP\/1\.1 100/)
  handler.close()
  socket.write('}')
  await expect.poll(() => text).toMatch(/HTTP\/1\.1 503 [^]*ROLLCALL_CLOSED/)
  expect(registry.services()).toEqual([])
  socket.destroy()
})

describe('the handler lives', () => {
  test('in a server of node:http', async () => {
    await checkMount(await portOf(handler), '')
  })

  test('under a path of one', async () => {
    const port = await portOf((request, response) => {
      if (request.url?.startsWith('/rollcall/') !== true) {
        response.end('elsewhere')
        return
      }
      request.url = request.url.slice('/rollcall'.length)
      handler(request, response)
    })
    await checkMount(port, '/rollcall')
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('elsewhere')
  })

  test.each([
    ['as it is', express()],
    ['after a parser of bodies', express().use(express.json())],
  ])('under any path of Express, %s', async (_, app) => {
    app.get('/v1/nodes/mine', (_request, response) => {
      response.send('mine')
    })
    app.use('/any/path', handler)
    app.use(handler)
    app.use((_request, response) => {
      response.status(404).send('nobody')
    })
    const port = await portOf(app as RequestListener)
    await checkMount(port, '/any/path')
    await checkMount(port, '')
    expect(await (await fetch(`http://127.0.0.1:${port}/v1/nodes/mine`)).text()).toBe('mine')
    expect(await (await fetch(`http://127.0.0.1:${port}/elsewhere`)).text()).toBe('nobody')
  })

  test('in a plugin of Fastify', async () => {
    const app = fastify()
    await app.register((plugin, _options, done) => {
      // The body is left to the handler.
      plugin.removeAllContentTypeParsers()
      plugin.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
      plugin.all('/rollcall/*', (request, reply) => {
        reply.hijack()
        request.raw.url = request.raw.url?.slice('/rollcall'.length) ?? '/'
        handler(request.raw, reply.raw)
      })
      done()
    })
    app.get('/', () => 'elsewhere')
    await app.listen({ port: 0, host: '127.0.0.1' })
    ends.push(() => app.close())
    const { port } = app.server.address() as AddressInfo
    await checkMount(port, '/rollcall')
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('elsewhere')
  })
})
