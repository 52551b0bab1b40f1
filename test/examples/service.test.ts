import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createRegistry, type ServiceSpec } from '../../src/index.ts'
import { Run } from './run.ts'

const TEST_MS = 60_000

interface Service {
  readonly run: Run
  readonly address: string
  readonly joins: string[]
}

async function start(...args: string[]): Promise<Service> {
  const run = new Run('service.ts', args)
  const [, address, joins] = await run.line(/ answers at (\S+); join at (.+)$/)
  return { run, address: address!, joins: joins!.split(' or ') }
}

/** What a service answers, once it is this. */
async function answers(service: Service, status: number, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        const response = await fetch(service.address)
        return `${response.status} ${await response.text()}`
      },
      { timeout: 10_000, interval: 20 },
    )
    .toBe(`${status} ${text}`)
}

/** Offers Billing from the test, on a server that does as it is told. Resolves when the other node sees it. */
async function offerBilling(
  orders: Service,
  listener: RequestListener,
  options: Partial<ServiceSpec>,
): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const registry = await createRegistry({ join: orders.joins, flush: 'eager' })
  onTestFinished(async () => {
    await registry.close()
    server.closeAllConnections()
    server.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  registry.register({ name: 'Billing', version: '1.4.0', address, ...options })
  await orders.run.line(/Billing 1\.4\.0 became available/)
}

/** Whether a connection is taken there. */
async function isOpen(address: string): Promise<boolean> {
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  const isTaken = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isTaken
}

test(
  'a service finds another, misses it when it leaves, and ends in order on a signal',
  { timeout: TEST_MS },
  async () => {
    const billing = await start('Billing')
    const orders = await start('Orders', 'Billing', ...billing.joins)
    await answers(billing, 200, 'Billing says hello')
    await answers(orders, 200, 'Orders, and Billing says hello')

    billing.run.signal('SIGTERM')
    expect(await billing.run.end()).toMatchObject({ code: 0 })
    await orders.run.line(/^no Billing is left: answering 503 until one is back$/)
    await answers(orders, 503, 'Error: Billing 1.0.0: noservice')

    orders.run.signal('SIGINT')
    expect(await orders.run.end()).toMatchObject({ code: 0 })
  },
)

test('a call is tried again as often as the owner says', { timeout: TEST_MS }, async () => {
  const orders = await start('Orders', 'Billing')
  let calls = 0
  const listener: RequestListener = (_request, response) => {
    calls++
    response.writeHead(calls % 3 === 0 ? 200 : 500).end('third time lucky')
  }
  await offerBilling(orders, listener, { retry: { limit: 2, afterMs: 10 } })
  expect(await (await fetch(orders.address)).text()).toBe('Orders, and third time lucky')
  expect(calls).toBe(3)
})

test('a call takes as long as the owner says', { timeout: TEST_MS }, async () => {
  const orders = await start('Orders', 'Billing')
  let calls = 0
  await offerBilling(orders, () => calls++, { timeoutMs: 500, retry: { limit: 1, afterMs: 10 } })
  const answer = await Promise.race([fetch(orders.address), setTimeout(5_000, undefined)])
  expect(answer?.status).toBe(503)
  expect(await answer?.text()).toMatch(/^TimeoutError/)
  expect(calls).toBe(2)
})

test('a call under way is answered before the service ends', { timeout: TEST_MS }, async () => {
  const orders = await start('Orders', 'Billing')
  let answerCall: () => void = () => undefined
  const called = new Promise<void>((resolve) => {
    void offerBilling(
      orders,
      (_request, response) => {
        answerCall = () => response.end('late')
        resolve()
      },
      { timeoutMs: 10_000 },
    )
  })
  await orders.run.line(/Billing 1\.4\.0 became available/)
  const answer = fetch(orders.address)
  await called
  orders.run.signal('SIGTERM')
  await expect.poll(() => isOpen(orders.address), { timeout: 10_000, interval: 20 }).toBe(false)
  answerCall()
  expect(await (await answer).text()).toBe('Orders, and late')
  expect(await orders.run.end()).toMatchObject({ code: 0 })
})
