import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'
import { heapUsed } from '../cluster/memory.ts'

const MB = 1024 * 1024

/** One loop left while it waits, one broken off, one listener; by a signal of their own and by one that lives on. */
async function once(registry: Registry, n: number, lasting: AbortSignal): Promise<void> {
  const controller = new AbortController()
  const watch = registry.watch(`s${n % 10}`, '^1.0.0', { signal: controller.signal })
  const loop = watch[Symbol.asyncIterator]()
  await loop.next()
  const waiting = loop.next().catch(() => undefined)
  watch.subscribe(() => undefined)
  for await (const { instances } of registry.watch(`name-${n}`, undefined, { signal: lasting })) {
    if (instances.length === 0) break
  }
  controller.abort()
  await waiting
}

test(
  '100,000 times watched and aborted, nothing is left on the heap, nor on a signal',
  { timeout: 120_000 },
  async () => {
    const transport = memoryTransport(new MemoryNetwork(), { address: '/memory/a' })
    await using registry = await createRegistry({ transport, name: 'a' })
    for (let n = 0; n < 5; n++) registry.register({ name: `s${n}`, version: '1.0.0' })
    const lasting = new AbortController().signal
    for (let n = 0; n < 5_000; n++) await once(registry, n, lasting)
    const before = await heapUsed()
    for (let n = 0; n < 100_000; n++) await once(registry, n, lasting)
    expect(getEventListeners(lasting, 'abort')).toEqual([])
    // A watch that stays would be at least 500 B: 50 MB.
    expect((await heapUsed()) - before).toBeLessThan(2 * MB)
  },
)
