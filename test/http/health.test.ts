import { expect, test } from 'vitest'
import { httpHandler } from '../../src/http/index.ts'
import { cluster, simAddress, simulate, SimNode } from '../../src/testing/index.ts'
import { askOf, onNode } from './ask.ts'
import type { Ask } from './ask.ts'

const READY = { status: 200, json: { status: 'ready' } }
const unready = (why: string): object => ({ status: 503, json: { status: 'unready', why } })

const handlerOf = ({ registry, clock }: SimNode): Ask => askOf(httpHandler(registry, { clock }))

test('a node without seeds is ready from the start', async () => {
  await onNode(async ({ ask }) => {
    expect(await ask('GET /healthz')).toMatchObject({ status: 200, json: { status: 'ok' } })
    expect(await ask('GET /readyz')).toMatchObject(READY)
  })
})

test('one that has met nobody yet, and tries to, is not ready until it has', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const join = [simAddress('b')]
    const a = await SimNode.start({ net, name: 'a', join, options: {} })
    const ask = handlerOf(a)
    await net.run(5_000)
    expect(await ask('GET /readyz')).toMatchObject(unready('joining'))
    expect((await ask('GET /healthz')).status).toBe(200)
    const b = await SimNode.start({ net, name: 'b', join: [], options: {} })
    await net.run(10_000)
    expect(await ask('GET /readyz')).toMatchObject(READY)
    // Who outlives all others is still worth asking.
    b.crash()
    await net.run(30 * 60_000)
    expect(a.registry.nodes()).toHaveLength(1)
    expect(await ask('GET /readyz')).toMatchObject(READY)
  })
})

test('one that has heard of others, of whom it knows nothing yet, is not ready', async () => {
  await simulate({ seed: 1, delayMs: [1_000, 1_000] }, async (net) => {
    const b = await SimNode.start({ net, name: 'b', join: [], options: {} })
    const metadata = { text: 'x'.repeat(15_000) }
    for (let n = 0; n < 100; n++) b.registry.register({ name: `Big ${n}`, version: '1.0.0', metadata })
    const a = await SimNode.start({ net, name: 'a', join: [simAddress('b')], options: {} })
    const ask = handlerOf(a)
    await net.until('it has heard of b', 20_000, () => a.registry.diagnostics().nodes.length > 0)
    expect(a.registry.nodes()).toHaveLength(1)
    expect(a.registry.diagnostics().dials).toEqual([])
    expect(await ask('GET /readyz')).toMatchObject(unready('joining'))
    await net.until('it has met b', 20_000, () => a.registry.nodes().length > 1)
    expect(await ask('GET /readyz')).toMatchObject(READY)
  })
})

test('one whose handler comes after the others have met, and gone, is ready', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b] = (await cluster(2, { net })) as [SimNode, SimNode]
    b.crash()
    await net.run(5_000)
    expect(await handlerOf(a)('GET /readyz')).toMatchObject(READY)
  })
})

test('one that has lost sight of most others at once is not ready while that lasts', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b, c] = (await cluster(3, { net })) as [SimNode, SimNode, SimNode]
    const ask = handlerOf(a)
    net.partition([a], [b, c])
    await net.run(40_000)
    expect(await ask('GET /readyz')).toMatchObject(unready('isolated'))
    net.heal()
    await net.run(40_000)
    expect(await ask('GET /readyz')).toMatchObject(READY)
  })
})
