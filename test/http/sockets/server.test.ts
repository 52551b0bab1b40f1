import { fork } from 'node:child_process'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serveHttp } from '../../../src/http/index.ts'
import type { HttpServerOptions } from '../../../src/http/index.ts'
import { CountedClock } from '../../counted-clock.ts'
import { Reader } from '../face.ts'
import { BODY, GET, Line, pause, PUT } from './line.ts'
import { serving } from './serving.ts'

const stage = serving()

const hasIPv6 = (): boolean => networkInterfaces()['lo']?.some(({ family }) => family === 'IPv6') === true

describe('a server', () => {
  test('answers at its url, until it is closed', async () => {
    const { url, port } = await stage.serve()
    expect(url).toBe(`http://127.0.0.1:${port}`)
    const response = await fetch(`${url}/v1/nodes`)
    expect(await response.json()).toMatchObject({ nodes: [{ self: true }] })
    await stage.server?.close()
    await expect(fetch(`${url}/v1/nodes`)).rejects.toThrow()
    await stage.server?.close()
  })

  test('answers at an address of IPv6 too, which its url has in brackets', async ({ skip }) => {
    skip(!hasIPv6(), 'this machine has no IPv6')
    const { url, port } = await stage.serve({ host: '::1' })
    expect(url).toBe(`http://[::1]:${port}`)
    expect((await fetch(`${url}/v1/nodes`)).status).toBe(200)
  })

  test('closes at the end of its block', async () => {
    let url: string
    {
      await using brief = await serveHttp(stage.registry, { port: 0 })
      url = brief.url
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
    }
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  test('closes with the stage.registry, open streams and idle connections included', async () => {
    const { port } = await stage.serve()
    const reader = Reader.ask(port, '/v1/events')
    const idle = new Line(port)
    idle.say(GET)
    await idle.heard(/200 OK/)
    await expect.poll(() => reader.names).toEqual(['begin'])
    await stage.registry.close()
    await idle.over()
    await expect.poll(() => reader.isOver).toBe(true)
    expect(reader.faults).toEqual([])
  })

  test('does not wait for ever for a request that does not end', async () => {
    const { port } = await stage.serve()
    const slow = new Line(port)
    slow.say(PUT, 'Content-Length: 10', '', '{')
    await pause()
    const began = performance.now()
    await stage.server?.close()
    expect(performance.now() - began).toBeLessThan(3_000)
    await slow.over()
  })

  test('leaves no timer behind', async () => {
    const clock = new CountedClock()
    const { port, url } = await stage.serve({ clock })
    const events = Reader.ask(port, '/v1/events')
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
    await fetch(`${url}/v1/registrations/mail`, { method: 'PUT', headers, body: BODY })
    await fetch(`${url}/v1/registrations/mail`, { method: 'PUT', body: 'x'.repeat(100_000) })
    await expect.poll(() => events.names).toEqual(['begin'])
    expect(clock.pending).toBeGreaterThan(0)
    await stage.server?.close()
    await expect.poll(() => [clock.pending, events.isOver]).toEqual([0, true])
  })

  test('does not outlive a registry that closes before it listens', async () => {
    const serving = stage.serve()
    const closing = stage.registry.close()
    await expect(serving).rejects.toMatchObject({ code: 'ROLLCALL_CLOSED' })
    await closing
    await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('TCPServerWrap')
  })

  test('is refused a port that is in use, and leaves nothing behind', async () => {
    const { port } = await stage.serve()
    const count = (): number => stage.registry.tracker.listenerCount('close')
    const before = count()
    await expect(serveHttp(stage.registry, { port })).rejects.toMatchObject({
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
    await expect(serveHttp(stage.registry, options)).rejects.toMatchObject({
      code: 'ROLLCALL_INVALID_ARGUMENT',
      message,
    })
  })

  test('takes so many connections and no more', async () => {
    const { port } = await stage.serve({ maxConnections: 2 })
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
      .poll(async () => (await fetch(`${stage.server?.url ?? ''}/healthz`).catch(() => undefined))?.status)
      .toBe(200)
  })
})

test('C65: a process whose registry is closed ends by itself, its connections and leases included', async () => {
  const child = fork(new URL('child.ts', import.meta.url), { execArgv: ['--import', 'tsx'] })
  onTestFinished(() => void child.kill())
  const [port] = (await once(child, 'message')) as [number]
  const events = Reader.ask(port, '/v1/events')
  await expect.poll(() => events.names).toEqual(['begin'])
  const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
  const put = await fetch(`http://127.0.0.1:${port}/v1/registrations/mail`, {
    method: 'PUT',
    headers,
    body: BODY,
  })
  expect(put.status).toBe(201)
  await expect.poll(() => events.names).toEqual(['begin', 'service_up'])
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
    const { port } = await stage.serve()
    for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect(await statusOf(port, host), host).toBe(200)
    }
    for (const host of ['evil.example', `evil.example:${port}`, '', undefined]) {
      expect(await statusOf(port, host), host).toBe(403)
    }
  })

  test('of one that others reach may be any, unless hosts says which', async () => {
    const { port } = await stage.serve({ host: '0.0.0.0' })
    expect(await statusOf(port, 'any.example')).toBe(200)
    await stage.server?.close()
    const { port: other } = await stage.serve({ hosts: ['ours.example'] })
    expect(await statusOf(other, 'ours.example')).toBe(200)
    expect(await statusOf(other, 'localhost')).toBe(403)
  })
})
