import { describe, expect, test } from 'vitest'
import {
  allSee,
  DOWN_MS,
  lineOf,
  LINES,
  offer,
  pass,
  PERIOD_MS,
  print,
  SLACK_MS,
  start,
  told,
  useProcesses,
} from './cluster.ts'

useProcesses()

describe.each(LINES)('$called', ({ lines }) => {
  test('two nodes that never connect see each other through a third', { timeout: 60_000 }, async () => {
    const middle = await start({ line: lineOf(lines, 0), name: 'middle', atHand: true })
    const side = { join: [middle.address], allow: [middle.id], atHand: true }
    const [a, c] = await Promise.all([
      start({ line: lineOf(lines, 1), name: 'a', ...side }),
      start({ line: lineOf(lines, 2), name: 'c', ...side }),
    ])
    await offer(a, 'of-a')
    await offer(c, 'of-c')
    await allSee([a, middle, c], 'of-a', [a])
    await allSee([a, middle, c], 'of-c', [c])

    // Nobody flaps for want of a connection.
    await pass(3 * DOWN_MS)
    expect(told(a, 'of-c').map(({ kind }) => kind)).toEqual(['service_up'])
    expect(told(c, 'of-a').map(({ kind }) => kind)).toEqual(['service_up'])
    expect(await a.child.ask('neighbours')).toEqual([middle.id])
    expect(await c.child.ask('neighbours')).toEqual([middle.id])

    const second = await offer(a, 'second-of-a')
    await allSee([c], 'second-of-a', [a])
    await a.child.ask('unregister', second)
    await allSee([c], 'second-of-a', [])

    const at = await c.child.kill()
    const down = await a.child.seen('service_down', ({ name }) => name === 'of-c')
    print(`killed → down behind the middle (${down.reason ?? ''})`, [down.at - at])
    expect(down.at - at).toBeLessThan(DOWN_MS + PERIOD_MS + SLACK_MS)
  })

  test(
    'a node that advertises an address where nobody listens is hidden once at most',
    {
      timeout: 60_000,
    },
    async () => {
      const middle = await start({ line: lineOf(lines, 0), name: 'middle', atHand: true })
      const side = { join: [middle.address], mesh: { advertise: '127.0.0.1:1' }, atHand: true }
      const [a, c] = await Promise.all([
        start({ line: lineOf(lines, 1), name: 'a', ...side }),
        start({ line: lineOf(lines, 2), name: 'c', ...side }),
      ])
      await offer(a, 'of-a')
      await offer(c, 'of-c')
      await allSee([a, middle, c], 'of-a', [a])
      await allSee([a, middle, c], 'of-c', [c])
      await pass(4 * DOWN_MS)
      expect(await a.child.ask('neighbours')).toEqual([middle.id])
      expect(told(middle, 'of-a').map(({ kind }) => kind)).toEqual(['service_up'])
      expect(told(middle, 'of-c').map(({ kind }) => kind)).toEqual(['service_up'])
      for (const [observer, service] of [
        [a, 'of-c'],
        [c, 'of-a'],
      ] as const) {
        const kinds = told(observer, service).map(({ kind }) => kind)
        expect(kinds.length, kinds.join()).toBeLessThanOrEqual(3)
        expect(kinds.at(-1)).toBe('service_up')
      }
    },
  )
})
