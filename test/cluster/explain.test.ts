import { expect, test } from 'vitest'
import { cluster, simulate, type SimNode } from '../../src/testing/index.ts'

test('explain tells of an instance on a node that is down, and why it is not returned', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a, b] = (await cluster(2, { net })) as [SimNode, SimNode]
    b.registry.register({ name: 'Mail', version: '1.0.0' })
    await net.until('a sees it', 5_000, () => a.registry.lookup('Mail').ok)
    expect(a.registry.explain('Mail').map(({ reason }) => reason)).toEqual(['returned'])
    b.crash()
    await net.until('a misses it', 5_000, () => !a.registry.lookup('Mail').ok)
    expect(a.registry.explain('Mail')).toMatchObject([
      { reason: 'down', returned: false, node: b.id, text: 'Mail 1.0.0 is on b, which is not up here' },
    ])
    expect(a.tracker.getByKey('$service', 'Mail')).toEqual([])
    expect(a.tracker.hidden('$service', 'Other')).toEqual([])
  })
})

test('a tracker that is closed directly closes its registry: who waits is told', async () => {
  await simulate({ seed: 1 }, async (net) => {
    const [a] = (await cluster(2, { net })) as [SimNode, SimNode]
    const { registry, tracker } = a
    const waiting = registry.waitFor('Never').catch((error: unknown) => error)
    await net.settle(tracker.close())
    expect(await net.settle(waiting)).toMatchObject({ code: 'ROLLCALL_CLOSED' })
    expect(registry.closed).toBe(true)
    expect(a.events('close')).toHaveLength(1)
  })
})
