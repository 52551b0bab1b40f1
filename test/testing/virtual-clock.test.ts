import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'

async function chain(length: number): Promise<void> {
  for (let turn = 0; turn < length; turn += 1) await Promise.resolve()
}

describe('VirtualClock', () => {
  test('runs timers by time, and those of one time as they were set', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 40 }), async (delays) => {
        const clock = new VirtualClock()
        const ran: [number, number][] = []
        delays.forEach((ms, index) => clock.setTimer(() => ran.push([clock.now(), index]), ms))
        await clock.advance(20)
        const expected = delays.map((ms, index): [number, number] => [ms, index])
        expect(ran).toEqual(expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]))
        expect(clock.now()).toBe(20)
      }),
    )
  })

  test('does not run what is due later, or was cancelled', async () => {
    const clock = new VirtualClock()
    const ran: string[] = []
    clock.setTimer(() => ran.push('late'), 11)
    const cancelled = clock.setTimer(() => ran.push('cancelled'), 5)
    clock.setTimer(() => cancelled.cancel(), 4)
    clock.setTimer(() => ran.push('edge'), 10)
    await clock.advance(10)
    expect(ran).toEqual(['edge'])
    await clock.advance(1)
    expect(ran).toEqual(['edge', 'late'])
  })

  test('timers set while advancing run in the same advance when they are due', async () => {
    const clock = new VirtualClock()
    let count = 0
    const tick = (): void => {
      count += 1
      clock.setTimer(tick, 10)
    }
    clock.setTimer(tick, 10)
    await clock.advance(1_000)
    expect(count).toBe(100)
  })

  test('promises settle between two callbacks, however long the chain', async () => {
    const clock = new VirtualClock()
    const seen: string[] = []
    for (const name of ['a', 'b']) {
      clock.setTimer(() => {
        void chain(10_000).then(() => seen.push(`${name} at ${clock.now()}`))
      }, 5)
    }
    clock.setTimer(() => seen.push('c'), 5)
    await clock.advance(6)
    expect(seen).toEqual(['a at 5', 'b at 5', 'c'])
  })

  test('what the caller did before advancing settles first, and what the last callback did before it resolves', async () => {
    const clock = new VirtualClock()
    const seen: string[] = []
    void chain(1_000).then(() => {
      clock.setTimer(() => {
        void chain(1_000).then(() => seen.push('settled'))
      }, 1)
    })
    await clock.advance(1)
    expect(seen).toEqual(['settled'])
  })

  test('a callback that throws rejects the advance where it stands; the rest can go on', async () => {
    const clock = new VirtualClock()
    let later = false
    clock.setTimer(() => {
      throw new Error('boom')
    }, 5)
    clock.setTimer(() => (later = true), 6)
    await expect(clock.advance(10)).rejects.toThrow('boom')
    expect(clock.now()).toBe(5)
    await clock.advance(1)
    expect(later).toBe(true)
  })

  test('two advances at once are refused', async () => {
    const clock = new VirtualClock()
    const first = clock.advance(1)
    expect(() => clock.advance(1)).toThrow('advanced already')
    await first
  })

  test('C20: a wall clock jumps, for one node or for all, and monotonic time does not', async () => {
    const clock = new VirtualClock()
    const [a, b] = [clock.node(), clock.node()]
    const start = clock.wallNow()
    a.jumpWall(3_600_000)
    clock.jumpWall(-1_000)
    await clock.advance(7)
    expect([a.wallNow() - start, b.wallNow() - start]).toEqual([3_600_000 - 1_000 + 7, -1_000 + 7])
    expect([a.now(), b.now(), clock.now()]).toEqual([7, 7, 7])
  })

  test('a stalled node runs nothing, then all that was due, late and in order, while others go on', async () => {
    const clock = new VirtualClock()
    const [a, b] = [clock.node(), clock.node()]
    const ran: string[] = []
    a.setTimer(() => {
      ran.push(`a2 at ${clock.now()}`)
      a.setTimer(() => ran.push(`a after at ${clock.now()}`), 0)
    }, 2)
    a.setTimer(() => ran.push(`a1 at ${clock.now()}`), 1)
    a.setTimer(() => ran.push(`a9 at ${clock.now()}`), 9)
    a.setTimer(() => ran.push(`a10 at ${clock.now()}`), 10)
    b.setTimer(() => ran.push(`b at ${clock.now()}`), 3)
    a.stall(10)
    await clock.advance(20)
    expect(ran).toEqual(['b at 3', 'a1 at 10', 'a2 at 10', 'a9 at 10', 'a10 at 10', 'a after at 10'])
  })

  test('a killed node runs nothing any more', async () => {
    const clock = new VirtualClock()
    const node = clock.node()
    const ran: string[] = []
    node.setTimer(() => ran.push('before'), 1)
    node.setTimer(() => ran.push('after'), 3)
    await clock.advance(2)
    node.kill()
    node.setTimer(() => ran.push('set after'), 0)
    await clock.advance(5)
    expect(ran).toEqual(['before'])
  })
})
