import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { feel, judge, type Sign } from '../../src/core/liveness.ts'
import { Membership, type MembershipLimits } from '../../src/core/membership.ts'
import { RetiredTable } from '../../src/core/retired.ts'

const LIMITS: MembershipLimits = { downPeriodMs: 30, permdownPeriodMs: 100, maxNodes: 4 }
const sign = (beat: number, heardAt: number, extra: Partial<Sign> = {}): Sign => ({
  incarnation: 1,
  beat,
  promiseMs: 10,
  heardAt,
  direct: false,
  ...extra,
})
const HEAD = { incarnation: 1, version: 3 }

/** A membership in which `b` is up since 0, with beat 1. */
function withPeer(limits: Partial<MembershipLimits> = {}): Membership {
  const membership = new Membership({ ...LIMITS, ...limits })
  expect(membership.sense('b', sign(1, 0), 0)).toEqual({ kind: 'new' })
  expect(membership.raise('b', HEAD, 0)).toBe(true)
  return membership
}

describe('R5 R6 R7: verdicts by silence', () => {
  test.each([
    [0, 10, 'up'],
    [30, 10, 'up'],
    [30.1, 10, 'down'],
    [100, 10, 'down'],
    [100.1, 10, 'purge'],
    // A promise of 20 ms allows 40; none reaches past the purge.
    [40, 20, 'up'],
    [40.1, 20, 'down'],
    [100, 1e9, 'up'],
    [100.1, 1e9, 'purge'],
  ])('silent for %d ms after a promise of %d: %s', (silentMs, promiseMs, verdict) => {
    expect(judge(silentMs, promiseMs, LIMITS)).toBe(verdict)
  })
})

test('R3 R4: a first sign makes a member, a newer one refreshes it, an old one delivered again does not', () => {
  const membership = withPeer()
  expect(membership.sense('b', sign(1, 9), 9)).toEqual({ kind: 'same' })
  expect(membership.get('b')?.pulse.heardAt).toBe(0)
  expect(membership.sense('b', sign(2, 9), 9)).toEqual({ kind: 'fresh' })
  expect(membership.get('b')?.pulse).toMatchObject({ beat: 2, heardAt: 9 })
})

test('a relayed sign makes "last heard" later, never earlier and never past now', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ beat: fc.nat(9), at: fc.nat(50), direct: fc.boolean() })), (signs) => {
      let pulse = feel(undefined, sign(1, 0), 0)
      for (const { beat, at, direct } of signs) {
        const next = feel(pulse, sign(beat, at, { direct }), 25)
        expect(next.heardAt).toBeGreaterThanOrEqual(pulse.heardAt)
        expect(next.heardAt).toBeLessThanOrEqual(25)
        expect(next.beat).toBeGreaterThanOrEqual(pulse.beat)
        if (!direct && beat <= pulse.beat) expect(next).toBe(pulse)
        pulse = next
      }
    }),
  )
})

test('an answer over a connection keeps an owner up; it brings nobody back, and counts as no beat', () => {
  const membership = withPeer()
  membership.touch('b', 25)
  expect(membership.get('b')?.pulse).toMatchObject({ beat: 1, heardAt: 25 })
  expect(membership.judge(55).down).toEqual([])
  expect(membership.judge(55.1).down).toEqual(['b'])
  membership.touch('b', 60)
  membership.touch('nobody', 60)
  expect(membership.raise('b', HEAD, 60)).toBe(false)
  expect(membership.get('b')).toMatchObject({ status: 'down', pulse: { heardAt: 25 } })
  expect(membership.size).toBe(1)
})

test('down once, purged once, and only after both periods', () => {
  const membership = withPeer()
  expect(membership.judge(30)).toEqual({ down: [], purged: [] })
  expect(membership.judge(31).down).toEqual(['b'])
  expect(membership.get('b')).toMatchObject({ status: 'down', reason: 'silent' })
  expect(membership.judge(32)).toEqual({ down: [], purged: [] })
  expect(membership.judge(101).purged.map((member) => member.node)).toEqual(['b'])
  expect(membership.judge(102)).toEqual({ down: [], purged: [] })
  expect(membership.size).toBe(0)
})

test('a silence past the purge that no tick saw is a down and a purge', () => {
  const verdicts = withPeer().judge(500)
  expect(verdicts.down).toEqual(['b'])
  expect(verdicts.purged).toHaveLength(1)
})

describe('raise', () => {
  test('waits until the replica holds what the owner claims, in its incarnation', () => {
    const membership = new Membership(LIMITS)
    membership.sense('b', sign(1, 0), 0)
    membership.claim('b', 1, 7)
    expect(membership.raise('b', undefined, 0)).toBe(false)
    expect(membership.raise('b', { incarnation: 1, version: 6 }, 0)).toBe(false)
    expect(membership.raise('b', { incarnation: 2, version: 7 }, 0)).toBe(false)
    expect(membership.raise('b', { incarnation: 1, version: 7 }, 0)).toBe(true)
    expect(membership.raise('b', { incarnation: 1, version: 7 }, 0)).toBe(false)
    expect(membership.upCount).toBe(1)
  })

  test('a claim of another incarnation, or a lower one, changes nothing', () => {
    const membership = withPeer()
    membership.claim('b', 1, 7)
    membership.claim('b', 1, 5)
    membership.claim('b', 2, 99)
    expect(membership.get('b')?.latest).toBe(7)
  })

  test('does not believe a stale relay: what was heard too long ago raises nobody', () => {
    const membership = new Membership(LIMITS)
    membership.sense('b', sign(1, 0), 31)
    expect(membership.raise('b', HEAD, 31)).toBe(false)
  })
})

describe('after proof of death', () => {
  test('a beat that may have been under way revives nobody, a later one does', () => {
    const membership = withPeer()
    expect(membership.refuse('b', 10)).toBe(true)
    expect(membership.refuse('b', 10)).toBe(false)
    expect(membership.get('b')).toMatchObject({ status: 'down', reason: 'refused' })
    membership.sense('b', sign(2, 40), 40)
    expect(membership.raise('b', HEAD, 40)).toBe(false)
    membership.sense('b', sign(3, 40.1), 40.1)
    expect(membership.raise('b', HEAD, 40.1)).toBe(true)
    expect(membership.get('b')).toMatchObject({ status: 'up', reason: undefined })
  })

  test('one that was down by silence is dead from then on, and only a silence can be proved more', () => {
    for (const proof of ['refuse', 'replace'] as const) {
      const membership = withPeer()
      membership.judge(31)
      expect(membership.get('b')?.reason).toBe('silent')
      expect(membership[proof]('b', 40)).toBe(false)
      const reason = proof === 'refuse' ? 'refused' : 'replaced'
      expect(membership.get('b')).toMatchObject({ status: 'down', reason })
      expect(membership.silence(40)).toEqual({ silent: 0, together: 0 })
      membership.refuse('b', 41)
      membership.replace('b', 41)
      expect(membership.get('b')?.reason).toBe(reason)
    }
  })

  test('a dial that is not refused makes what was heard count', () => {
    const membership = withPeer()
    membership.refuse('b', 10)
    membership.sense('b', sign(2, 12), 12)
    membership.trust('b')
    expect(membership.raise('b', HEAD, 12)).toBe(true)
    membership.refuse('b', 13)
    expect(membership.raise('b', HEAD, 13)).toBe(false)
  })

  test('the owner itself is believed at once', () => {
    const membership = withPeer()
    membership.refuse('b', 10)
    membership.sense('b', sign(1, 11, { direct: true }), 11)
    expect(membership.raise('b', HEAD, 11)).toBe(true)
  })

  test('C12: a new incarnation is a new life, whatever the old one came to', () => {
    const membership = withPeer()
    membership.refuse('b', 10)
    const sensed = membership.sense('b', sign(1, 11, { incarnation: 2 }), 11)
    expect(sensed).toMatchObject({ kind: 'restarted', was: { status: 'down' } })
    expect(membership.raise('b', { incarnation: 2, version: 0 }, 11)).toBe(true)
    expect(membership.sense('b', sign(99, 12), 12)).toEqual({ kind: 'over' })
  })
})

describe('J4: what is over stays over', () => {
  test('C6: leave, down and purge in any order, twice', () => {
    const orders = [
      ['leave', 'refuse', 'judge'],
      ['refuse', 'leave', 'judge'],
      ['judge', 'leave', 'leave'],
      ['refuse', 'judge', 'leave'],
    ] as const
    for (const order of orders) {
      const membership = withPeer()
      const ups: boolean[] = []
      for (const step of [...order, ...order]) {
        const was = membership.get('b')?.status === 'up'
        if (step === 'leave') membership.leave('b', 1)
        else if (step === 'refuse') membership.refuse('b', 1)
        else membership.judge(500)
        ups.push(was && membership.get('b')?.status !== 'up')
      }
      expect(ups.filter(Boolean)).toHaveLength(1)
      expect(membership.size).toBe(0)
      expect(membership.upCount).toBe(0)
    }
  })

  test('C15: an incarnation that left is over, its next one is not', () => {
    const membership = withPeer()
    expect(membership.leave('b', 1)).toMatchObject({ node: 'b', status: 'up' })
    expect(membership.leave('b', 1)).toBeUndefined()
    expect(membership.hasLeft('b', 1)).toBe(true)
    expect(membership.sense('b', sign(1e9, 5), 5)).toEqual({ kind: 'over' })
    expect(membership.sense('b', sign(1, 5, { incarnation: 2 }), 5)).toEqual({ kind: 'new' })
    expect(membership.leave('b', 1)).toBeUndefined()
    expect(membership.get('b')?.pulse.incarnation).toBe(2)
  })

  test('a leave that comes before anything else is remembered', () => {
    const membership = new Membership(LIMITS)
    expect(membership.leave('b', 1)).toBeUndefined()
    expect(membership.sense('b', sign(1, 0), 0)).toEqual({ kind: 'over' })
  })

  test('C11: purged, then an old frame is relayed: it stays gone; a newer beat of its own brings it back', () => {
    const membership = withPeer()
    membership.sense('b', sign(5, 1), 1)
    membership.judge(200)
    expect(membership.sense('b', sign(5, 200), 200)).toEqual({ kind: 'over' })
    // Newer, but so long ago that its teller should have purged it as well.
    expect(membership.sense('b', sign(6, 99), 200)).toEqual({ kind: 'over' })
    expect(membership.sense('b', sign(6, 199), 200)).toEqual({ kind: 'new' })
    expect(membership.retiredCount).toBe(0)
  })

  test('J2: a purged owner comes back with no less than was known of it', () => {
    const membership = withPeer()
    membership.claim('b', 1, 7)
    membership.judge(200)
    membership.sense('b', sign(6, 199), 200)
    expect(membership.raise('b', { incarnation: 1, version: 6 }, 200)).toBe(false)
    expect(membership.raise('b', { incarnation: 1, version: 7 }, 200)).toBe(true)
  })

  test('C8: what is remembered of the gone is bounded, oldest first', () => {
    const table = new RetiredTable(3)
    for (const node of ['a', 'b', 'c', 'a', 'd']) table.add(node, { incarnation: 1, version: 1, beat: 1 })
    expect(table.size).toBe(3)
    expect(['a', 'b', 'c', 'd'].map((node) => table.get(node) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ])
  })
})

test('no more members than maxNodes; a place that comes free is taken', () => {
  const membership = new Membership(LIMITS)
  for (const node of ['b', 'c', 'd', 'e']) membership.sense(node, sign(1, 0), 0)
  expect(membership.sense('f', sign(1, 0), 0)).toEqual({ kind: 'full' })
  membership.leave('c', 1)
  expect(membership.sense('f', sign(1, 0), 0)).toEqual({ kind: 'new' })
})

describe('C22: our own stall', () => {
  test('a long one: everyone is heard from our return on', () => {
    const membership = withPeer()
    membership.forgive(Infinity, 90)
    expect(membership.judge(120)).toEqual({ down: [], purged: [] })
    expect(membership.judge(121).down).toEqual(['b'])
  })

  test('a short one: only the time away does not count', () => {
    const membership = withPeer()
    membership.forgive(10, 40)
    expect(membership.judge(40)).toEqual({ down: [], purged: [] })
    expect(membership.judge(41).down).toEqual(['b'])
  })

  test('who was down stays so until heard', () => {
    const membership = withPeer()
    membership.judge(31)
    membership.forgive(Infinity, 60)
    expect(membership.judge(101).purged).toHaveLength(1)
  })
})

test('silence counts who fell silent, and who did so together', () => {
  const membership = withPeer({ maxNodes: 10, permdownPeriodMs: 1_000 })
  membership.sense('c', sign(1, 0), 0)
  membership.raise('c', HEAD, 0)
  membership.judge(31)
  expect(membership.silence(31)).toEqual({ silent: 2, together: 2 })
  expect(membership.silence(61)).toEqual({ silent: 2, together: 0 })
  membership.sense('c', sign(2, 62), 62)
  membership.raise('c', HEAD, 62)
  expect(membership.silence(62).silent).toBe(1)
})
