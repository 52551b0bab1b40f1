import { describe, expect, test } from 'vitest'
import { Observer, PERIODS, Speaker } from './phoenix-roster.ts'

const DOWN_AFTER_MS = PERIODS.downPeriodMs + 1

/** C has seen A up with `alice`; then A has been silent here for too long. */
async function downAtC() {
  const c = new Observer('c')
  const a = new Speaker('a')
  const alice = a.join('alice')
  c.exchange.hear('a', 'a', a.beat(0))
  expect(c.reported()).toEqual(['node_up a', '+alice'])
  await c.clock.advance(DOWN_AFTER_MS)
  c.roster.judge(0)
  expect(c.reported()).toEqual(['-alice', 'node_down a silent', 'isolated'])
  expect(c.list()).toEqual([])
  return { c, a, alice }
}

describe('what a third node tells of one that is down here', () => {
  test('S9 (ours): a join is kept, and reported when its owner is up again', async () => {
    const { c, a } = await downAtC()
    a.beat()
    a.join('bob')
    // B heard A after C did, but longer ago than C lets anybody be silent.
    expect(c.exchange.compare('b', [a.head(DOWN_AFTER_MS)]).wants).toEqual([
      { owner: 'a', incarnation: 10, version: 1 },
    ])
    c.exchange.learn('a', 'b', a.frame(1))
    expect(c.reported()).toEqual([])
    expect(c.list()).toEqual([])
    expect(c.replica.state('a')?.entries.size).toBe(2)
    c.exchange.compare('a', [a.head(0)])
    expect(c.reported()).toEqual(['node_up a', '+alice', '+bob'])
    expect(c.list()).toEqual(['alice', 'bob'])
  })

  test('S10 (ours): a leave is kept, and nobody ever sees the entry again', async () => {
    const { c, a, alice } = await downAtC()
    a.join('bob')
    a.leave(alice)
    a.beat()
    c.exchange.compare('b', [a.head(DOWN_AFTER_MS)])
    c.exchange.learn('a', 'b', a.frame(1))
    expect(c.reported()).toEqual([])
    c.exchange.compare('a', [a.head(0)])
    expect(c.reported()).toEqual(['node_up a', '+bob'])
  })

  test('S9 (ours): one that a third node heard lately enough is up here as well, once its state is here', async () => {
    const { c, a } = await downAtC()
    a.join('bob')
    a.beat()
    const { wants } = c.exchange.compare('b', [a.head(100)])
    expect(wants).toHaveLength(1)
    expect(c.reported()).toEqual([])
    c.exchange.learn('a', 'b', a.frame(1))
    expect(c.reported()).toEqual(['node_up a', '+alice', '+bob'])
  })

  test('what a third node heard no later than we did brings nobody up', async () => {
    const { c, a } = await downAtC()
    expect(c.exchange.compare('b', [a.head(0, 1)]).wants).toEqual([])
    expect(c.reported()).toEqual([])
    expect(c.directory.all()).toMatchObject([{ id: 'c' }, { id: 'a', status: 'down', reason: 'silent' }])
  })

  test('S17 (ours): one that is down here is neither offered nor handed on', async () => {
    const { c, a } = await downAtC()
    const want = { owner: 'a', incarnation: 0, version: 0 }
    expect(c.exchange.heads().map(({ owner }) => owner)).toEqual(['c'])
    expect(c.exchange.answer(want)).toBeUndefined()
    expect(c.exchange.answer({ ...want, owner: 'nobody' })).toBeUndefined()
    c.exchange.compare('a', [a.head(0)])
    expect(c.exchange.heads().map(({ owner }) => owner)).toEqual(['c', 'a'])
    expect(c.exchange.answer(want)).toMatchObject({ from: 0, to: 1, writes: [{ key: 'alice' }] })
  })

  test.each(['a', 'b'])(
    'a beat that %s delivered of one that is down shows nobody: gossip may replay it, so a sync must confirm it',
    async (via) => {
      const { c, a, alice } = await downAtC()
      const replayed = a.beat()
      a.leave(alice)
      a.join('bob')
      c.exchange.hear('a', via, replayed)
      expect(c.reported()).toEqual([])
      expect(c.behind).toEqual([['a', via]])
      expect(c.roster.isBehind('a')).toBe(true)
      c.exchange.compare(via, [a.head(0)])
      c.exchange.learn('a', via, a.frame(1))
      expect(c.reported()).toEqual(['node_up a', '+bob'])
      expect(c.roster.isBehind('a')).toBe(false)
    },
  )

  test('a down node that comes back behind what it claims stays hidden until it is whole', async () => {
    const { c, a, alice } = await downAtC()
    a.leave(alice)
    a.join('bob')
    c.exchange.hear('a', 'a', a.beat())
    expect(c.behind).toEqual([['a', 'a']])
    expect(c.reported()).toEqual([])
    c.exchange.compare('a', [a.head(0)])
    c.exchange.learn('a', 'a', a.frame(1))
    expect(c.reported()).toEqual(['node_up a', '+bob'])
  })
})

describe('an older life that is heard late', () => {
  test('J4 (ours): its beat is ignored: nothing of the living one is purged', async () => {
    const c = new Observer('c')
    const old = new Speaker('a', 10)
    old.join('old')
    const late = old.beat(0)
    const living = new Speaker('a', 11)
    living.join('living')
    c.exchange.hear('a', 'a', living.beat(0))
    expect(c.reported()).toEqual(['node_up a', '+living'])
    c.exchange.hear('a', 'b', late)
    c.exchange.hear('a', 'b', old.goodbye())
    c.exchange.meetLeft([{ owner: 'a', incarnation: 10 }])
    expect(c.exchange.compare('b', [old.head(0)])).toEqual({ wants: [], left: [] })
    c.exchange.learn('a', 'b', old.frame(0))
    await c.clock.advance(PERIODS.downPeriodMs)
    c.roster.judge(0)
    expect(c.reported()).toEqual([])
    expect(c.list()).toEqual(['living'])
    expect(c.directory.all()[1]).toMatchObject({ id: 'a', status: 'up', incarnation: 11 })
  })

  test('C12: the other way round, all of the old goes before anything of the new comes', () => {
    const c = new Observer('c')
    const old = new Speaker('a', 10)
    old.join('same')
    c.exchange.hear('a', 'a', old.beat(0))
    const living = new Speaker('a', 11)
    living.join('same')
    c.reported()
    c.exchange.hear('a', 'a', living.beat(0))
    expect(c.reported()).toEqual(['-same', 'node_down a replaced', 'node_up a', '+same'])
    expect(c.replica.getByKey('lobby', 'same')).toMatchObject([{ incarnation: 11 }])
  })

  test('N18 C15: a life that said goodbye is over at once and for ever, without a down phase', () => {
    const c = new Observer('c')
    const a = new Speaker('a')
    a.join('alice')
    const first = a.beat(0)
    c.exchange.hear('a', 'a', first)
    c.reported()
    c.exchange.hear('a', 'a', a.goodbye())
    expect(c.reported()).toEqual(['-alice', 'node_down a left', 'node_purged a'])
    expect(c.directory.all()).toHaveLength(1)
    expect(c.transport.calls).toEqual(['forget a'])
    c.exchange.hear('a', 'b', first)
    c.exchange.hear('a', 'b', a.beat(0))
    expect(c.exchange.compare('b', [a.head(0)])).toEqual({
      wants: [],
      left: [{ owner: 'a', incarnation: 10 }],
    })
    expect(c.reported()).toEqual([])
    expect([...c.replica.owners()]).toEqual(['c'])
  })
})
