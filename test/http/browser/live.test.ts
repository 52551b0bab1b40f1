import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { httpHandler } from '../../../src/http/index.ts'
import { describePage, eventually } from './stage.ts'

describePage('the page is true', (stage) => {
  test('shows who is there, and follows what comes, changes and goes', async () => {
    const { post } = stage()
    const mail = post.register({ name: 'Mail', version: '1.2.0', address: 'http://10.0.0.1:80', zone: 'eu' })
    const looked = await stage().visit()
    await eventually(async () => {
      const [row] = await looked.services()
      expect(row?.slice(0, 6)).toEqual(['Mail', '1.2.0', 'ready', 'post', 'http://10.0.0.1:80', 'eu'])
      expect(row?.[6]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
      expect((await looked.nodes()).map(([name, state]) => [name?.split(' ')[0], state])).toEqual([
        ['hub', 'up'],
        ['post', 'up'],
      ])
      expect(await looked.status()).toBe('Live')
    })
    const bills = post.register({ name: 'Bills', version: '2.0.0' })
    await eventually(async () => expect(await looked.names()).toEqual(['Bills', 'Mail']))
    mail.setState('unready', { reason: 'update' })
    await eventually(async () => expect((await looked.services())[1]?.[2]).toBe('unready update'))
    bills.unregister()
    await eventually(async () => expect(await looked.names()).toEqual(['Mail']))
    expect(await looked.events()).toEqual([
      'service_down Bills 2.0.0 on post, unregistered',
      'service_changed Mail 1.2.0 on post: state ready → unready, reason none → update',
      'service_up Bills 2.0.0 on post, ready',
    ])
    await stage().crash()
    await eventually(async () => expect((await looked.nodes())[1]?.[1]).toBe('down refused'))
    expect(await looked.names()).toEqual([])
    const counts = ['services', 'ready', 'notReady', 'up', 'down', 'doubted']
    const shown = counts.map((each) => looked.page.locator(`#count-${each}`).textContent())
    expect(await Promise.all(shown)).toEqual(['0', '0', '0', '1', '1', '0'])
    expect(looked.faults).toEqual([])
  })

  test('says who is stale, and that all may be old', async () => {
    const { hub, post } = stage()
    const mail = post.register({ name: 'Mail', version: '1.2.0' })
    await hub.waitFor('Mail')
    hub.lookup('Mail', undefined, { stale: 'keep-last' })
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.status()).toBe('Live'))
    mail.setState('unready')
    await eventually(() => {
      const answer = hub.lookup('Mail', undefined, { stale: 'keep-last' })
      expect(answer.ok && answer.stale).toBe(true)
    })
    await eventually(async () => expect((await looked.services())[0]?.[2]).toBe('unready stale by-hand'))
    expect(await looked.page.locator('#degraded').isVisible()).toBe(false)
    hub.freeze()
    await eventually(async () => expect(await looked.page.locator('#degraded').isVisible()).toBe(true))
    hub.unfreeze()
    mail.setState('ready')
    await eventually(async () => {
      expect((await looked.services())[0]?.[2]).toBe('ready by-hand')
      expect(await looked.page.locator('#degraded').isVisible()).toBe(false)
    })
  })

  test('says why it cannot read, until it can', async () => {
    const { post } = stage()
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.nodes()).toHaveLength(2))
    const problem = looked.page.locator('#problem')
    await looked.page.route('**/v1/nodes', (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"detail": "not now"}' }),
    )
    post.register({ name: 'Mail', version: '1.0.0' })
    await eventually(async () => expect(await problem.textContent()).toBe('not now'))
    expect(await looked.status()).toBe('Live')
    await looked.page.unroute('**/v1/nodes')
    post.register({ name: 'Bills', version: '1.0.0' })
    await eventually(async () => {
      expect(await looked.names()).toEqual(['Bills', 'Mail'])
      expect(await problem.isVisible()).toBe(false)
    })
  })

  test('does not read while nobody looks, and at once when somebody does', async () => {
    const { post } = stage()
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.nodes()).toHaveLength(2))
    const hide = (hidden: boolean) =>
      looked.page
        .evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`)
    await hide(true)
    let reads = 0
    looked.page.on('request', () => reads++)
    post.register({ name: 'Mail', version: '1.0.0' })
    await eventually(async () => expect(await looked.events()).toHaveLength(1))
    await looked.page.waitForTimeout(700)
    expect(reads).toBe(0)
    await hide(false)
    await eventually(async () => expect(await looked.names()).toEqual(['Mail']))
  })

  test('finds the server again after it was away, and shows what it missed', async () => {
    const { hub, post } = stage()
    const mail = post.register({ name: 'Mail', version: '1.0.0' })
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.names()).toEqual(['Mail']))
    const { port } = stage().face
    await stage().face.close()
    await eventually(async () => expect(await looked.status()).toMatch(/^Reconnecting since \d\d:\d\d:\d\d$/))
    const since = await looked.status()
    // Long enough for the next try to fail in another second.
    await looked.page.waitForTimeout(2_200)
    expect(await looked.status()).toBe(since)
    expect(await looked.names()).toEqual(['Mail'])
    mail.unregister()
    post.register({ name: 'Bills', version: '1.0.0' })
    await hub.waitFor('Bills')
    await stage().serve({ port })
    await eventually(async () => {
      expect(await looked.status()).toBe('Live')
      expect(await looked.names()).toEqual(['Bills'])
    })
    expect((await looked.events())[0]).toBe('reset  some events may be missing before this one')
    post.register({ name: 'Orders', version: '1.0.0' })
    await eventually(async () => expect(await looked.names()).toEqual(['Bills', 'Orders']))
  })

  test('reads as soon as the stream is open, without waiting for an event', async () => {
    const { post } = stage()
    post.register({ name: 'Mail', version: '1.0.0' })
    const looked = await stage().visit()
    await looked.page.route('**/v1/events', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: ': nothing yet\n\n' }),
    )
    await looked.page.reload()
    await eventually(async () => expect(await looked.names()).toEqual(['Mail']))
    expect(await looked.events()).toEqual([])
  })

  test.each(['/the/path', '/the/path/'])('lives at %s of Express', async (path) => {
    stage().post.register({ name: 'Mail', version: '1.0.0' })
    const handler = httpHandler(stage().hub)
    const server = createServer(express().use('/the/path', handler) as RequestListener)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => {
      handler.close()
      server.close()
      server.closeAllConnections()
    })
    const looked = await stage().visit({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    })
    await eventually(async () => expect(await looked.names()).toEqual(['Mail']))
    expect(await looked.status()).toBe('Live')
  })
})
