import { once } from 'node:events'
import { request as sendRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { Monitor } from '../../../src/tracker/monitor.ts'
import { checkSchema } from '../contract.ts'
import { CountedClock } from '../../counted-clock.ts'
import { Reader } from '../face.ts'
import { GET, Line } from './line.ts'
import { serving } from './serving.ts'

const stage = serving()

/** Bytes, of all kinds. */
const memoryHeld = (): number => {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

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
    const { port, url } = await stage.serve({ clock, maxConnections: 300 })
    const monitor = new Monitor()
    for (let n = 0; n < 400; n++) {
      stage.registry.register(
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
    await stage.server?.close()
    expect(clock.pending).toBe(0)
  })
})

describe('streams', () => {
  test('tell what is and what comes, under the same headers as all answers', async () => {
    const { port } = await stage.serve()
    const watch = Reader.ask(port, '/v1/watch/Mail?version=1.0.0&state=any')
    const events = Reader.ask(port, '/v1/events')
    await expect.poll(() => [...watch.names, ...events.names]).toEqual(['snapshot', 'begin'])
    stage.registry.register({ name: 'Mail', version: '1.0.0', state: 'starting' })
    stage.registry.register({ name: 'Mail', version: '2.0.0' })
    await expect.poll(() => events.names).toEqual(['begin', 'service_up', 'service_up'])
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
    const { port, url } = await stage.serve({ readToken: 'r', maxStreams: 1 })
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
