import { describe, expect, test } from 'vitest'
import { BODY, GET, Line, pause, PUT } from './line.ts'
import { serving } from './serving.ts'

const stage = serving()

describe('a connection', () => {
  test('is kept, and requests that come at once are answered in their order', async () => {
    const { port } = await stage.serve()
    const line = new Line(port)
    const put = [PUT, `Content-Length: ${BODY.length}`, '', BODY].join('\r\n')
    const miss = GET.replace('/services', '/lookup/Post')
    line.say(GET + put + miss + GET.replace('GET', 'HEAD') + put + miss)
    await expect.poll(() => line.statuses).toEqual([200, 201, 404, 200, 200, 404])
    expect(line.isOver).toBe(false)
    line.socket.destroy()
  })

  test('after HEAD goes on at once, for there is no body', async () => {
    const { port } = await stage.serve()
    const line = new Line(port)
    line.say(GET.replace('GET', 'HEAD'))
    await line.heard(/\r\n\r\n/)
    expect(line.text.endsWith('\r\n\r\n')).toBe(true)
    expect(line.text).toMatch(/^Content-Length: [1-9]/m)
    line.socket.destroy()
  })

  test('with something that is not HTTP is refused, and the server lives', async () => {
    const { port, url } = await stage.serve()
    const line = new Line(port)
    line.say('\u0000\u0001 garbage\r\n\r\n')
    await line.over()
    expect(line.statuses).toEqual([400])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })
})

describe('a body', () => {
  test('is asked for when all that comes before it is in order', async () => {
    const { port } = await stage.serve()
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
    const { port } = await stage.serve()
    const line = new Line(port)
    line.say(head, 'Expect: 100-continue', `Content-Length: ${length}`, '', '')
    await expect.poll(() => line.statuses).toEqual([status])
    expect(line.text).toMatch(/^Connection: close/m)
    await line.over()
    expect(line.statuses).toEqual([status])
  })

  test('that says it is too long is refused before any of it', async () => {
    const { port } = await stage.serve()
    const line = new Line(port)
    line.say(PUT, 'Content-Length: 65537', '', '')
    await line.heard(/^HTTP\/1\.1 413 [^]*ROLLCALL_HTTP_BODY/)
    await line.over()
  })

  test('that does not say how long it is is cut off where it is too long, however much comes', async () => {
    const { port } = await stage.serve()
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
    const { port } = await stage.serve()
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
    const { port } = await stage.serve()
    const line = new Line(port)
    const [one, two] = [BODY.slice(0, 20), BODY.slice(20)]
    const piece = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
    line.say(PUT, 'Transfer-Encoding: chunked', '', piece(one))
    line.say(`${piece(two)}0\r\n\r\n`)
    await expect.poll(() => line.statuses).toEqual([201])
    line.socket.destroy()
  })

  test('that breaks off changes nothing', async () => {
    const { port, url } = await stage.serve()
    const line = new Line(port)
    line.say(PUT, `Content-Length: ${BODY.length}`, '', BODY.slice(0, -1))
    await pause()
    line.socket.resetAndDestroy()
    await line.over()
    await pause()
    expect(await (await fetch(`${url}/v1/registrations`)).json()).toEqual({ registrations: [] })
  })
})
