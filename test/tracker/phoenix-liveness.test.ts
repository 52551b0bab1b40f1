import { describe, expect, test } from 'vitest'
import { Membership } from '../../src/core/membership.ts'
import type { Sign } from '../../src/core/liveness.ts'
import { SeededRandom } from '../../src/testing/random.ts'
import { createTracker, type Tracker } from '../../src/tracker/tracker.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { StubTransport } from './stub-transport.ts'

const sign = (beat: number, heardAt: number): Sign => ({
  incarnation: 1,
  beat,
  promiseMs: 1,
  heardAt,
  direct: true,
})

/** `b` is up since 0. */
function withPeer(): Membership {
  const membership = new Membership({ downPeriodMs: 5, permdownPeriodMs: 10, maxNodes: 10 })
  membership.sense('b', sign(1, 0), 0)
  membership.raise('b', { incarnation: 1, version: 0 }, 0)
  return membership
}

describe('lives', () => {
  const starting = (clock: VirtualClock, seed: number, id = 'same') =>
    createTracker({ transport: new StubTransport(id), clock, random: new SeededRandom(seed), name: 'n1' })
  const incarnation = (tracker: Tracker): number => tracker.nodes()[0]?.incarnation ?? 0

  test('R1: two lives of one name and identity, begun in the same ms, are told apart', async () => {
    const clock = new VirtualClock()
    const lives = await Promise.all([1, 2, 3].map((seed) => starting(clock, seed)))
    expect(new Set(lives.map(incarnation)).size).toBe(3)
  })

  test('R1: a later life has the higher incarnation, whatever chance does', async () => {
    const clock = new VirtualClock()
    const highest = new VirtualClock()
    const first = await createTracker({
      transport: new StubTransport(),
      clock,
      random: { next: () => 1 - Number.EPSILON },
    })
    await highest.advance(1)
    const second = await createTracker({
      transport: new StubTransport(),
      clock: highest,
      random: { next: () => 0 },
    })
    expect(incarnation(second)).toBeGreaterThan(incarnation(first))
    expect(Number.isSafeInteger(incarnation(second))).toBe(true)
  })

  test('R2 (ours): a life is named by node id and incarnation; the name is only a label', async () => {
    const clock = new VirtualClock()
    const [one, other] = [await starting(clock, 1, 'id-1'), await starting(clock, 2, 'id-2')]
    expect([one, other].map(({ id, name }) => [id, name])).toEqual([
      ['id-1', 'n1'],
      ['id-2', 'n1'],
    ])
    expect(one.nodes()).toMatchObject([{ id: 'id-1', name: 'n1', self: true, status: 'up' }])
  })
})

describe('verdicts', () => {
  test('R4: a heartbeat of one that is up, or down, makes it heard now and up, in the same life', () => {
    const membership = withPeer()
    const was = membership.get('b')
    membership.sense('b', sign(2, 3), 3)
    expect(membership.get('b')).toEqual({ ...was, pulse: { ...was?.pulse, beat: 2, heardAt: 3 } })
    expect(membership.judge(9).down).toEqual(['b'])
    expect(membership.get('b')?.status).toBe('down')
    membership.sense('b', sign(3, 9), 9)
    expect(membership.raise('b', { incarnation: 1, version: 0 }, 9)).toBe(true)
    expect(membership.get('b')).toEqual({ ...was, pulse: { ...was?.pulse, beat: 3, heardAt: 9 }, upAt: 9 })
  })

  test('R5: silent for 6, where 5 is down and 10 the end: down, and still known', () => {
    const membership = withPeer()
    expect(membership.judge(6)).toEqual({ down: ['b'], purged: [] })
    expect(membership.get('b')).toMatchObject({ status: 'down', pulse: { heardAt: 0, beat: 1 } })
    expect(membership.size).toBe(1)
  })

  test('R6: silent for 11: gone', () => {
    const membership = withPeer()
    membership.judge(6)
    expect(membership.judge(11)).toMatchObject({ down: [], purged: [{ node: 'b' }] })
    expect(membership.get('b')).toBeUndefined()
    expect(membership.size).toBe(0)
  })

  test('R7: silent for 0: up, and not touched', () => {
    const membership = withPeer()
    const was = membership.get('b')
    expect(membership.judge(0)).toEqual({ down: [], purged: [] })
    expect(membership.get('b')).toBe(was)
  })
})
