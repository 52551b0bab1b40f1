import { expect, test } from 'vitest'
import { Observer, Speaker } from './phoenix-roster.ts'

const PROBE_TIMEOUT_MS = 100

/** A node that has just begun to suspect b. */
function suspicious(): { a: Observer; b: Speaker } {
  const a = new Observer('a', { probeTimeoutMs: PROBE_TIMEOUT_MS })
  const b = new Speaker('b')
  a.exchange.hear('b', 'b', b.beat(0))
  a.reported()
  expect(a.roster.suspect('b', 'unreachable')).toBe(true)
  expect(a.reported()).toEqual(['node_suspected b unreachable'])
  return { a, b }
}

test('a beat that another passes on may have been under way when its author came to hang: it clears nobody too soon', async () => {
  const { a, b } = suspicious()
  await a.clock.advance(PROBE_TIMEOUT_MS)
  a.exchange.hear('b', 'c', b.beat())
  a.exchange.compare('c', [{ ...b.head(0), beat: 9 }])
  expect(a.reported()).toEqual([])
  await a.clock.advance(1)
  a.exchange.hear('b', 'c', { ...b.beat(), beat: 10 })
  expect(a.reported()).toEqual(['node_trusted b'])
})

test('what it says over a connection clears it at once', () => {
  const { a, b } = suspicious()
  a.exchange.hear('b', 'b', b.beat())
  expect(a.reported()).toEqual(['node_trusted b'])
})

test('a question that was asked before a node came back says nothing against it', async () => {
  const { a, b } = suspicious()
  a.roster.touch('b')
  await a.clock.advance(401)
  a.roster.judge(0)
  const askedAt = a.clock.now()
  await a.clock.advance(50)
  // A third node heard it before that, and passes it on only now.
  a.exchange.compare('c', [b.head(100, 9)])
  expect(a.reported()).toContain('node_up b')
  expect(a.roster.suspect('b', 'unanswered', askedAt)).toBe(false)
  await a.clock.advance(1)
  expect(a.roster.suspect('b', 'unanswered', a.clock.now())).toBe(true)
})

test('only a node that is up can be suspected', async () => {
  const { a, b } = suspicious()
  a.roster.touch('b')
  await a.clock.advance(401)
  a.roster.judge(0)
  expect(a.reported()).toEqual(['node_trusted b', 'node_down b silent', 'isolated'])
  expect(a.roster.suspect('b', 'unanswered')).toBe(false)
  expect(a.roster.suspect('nobody', 'unanswered')).toBe(false)
  a.exchange.compare('b', [b.head(0)])
  expect(a.reported()).toEqual(['node_up b'])
})
