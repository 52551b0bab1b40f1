import { expect, test } from 'vitest'
import { Observer, Speaker } from './phoenix-roster.ts'

/** A node to which b and c have fallen silent, together or by half. */
async function deaf(silent: 'both' | 'b'): Promise<{ a: Observer; b: Speaker; c: Speaker }> {
  const a = new Observer('a')
  const [b, c] = [new Speaker('b'), new Speaker('c')]
  for (const speaker of [b, c]) a.exchange.hear(speaker.id, speaker.id, speaker.beat(0))
  await a.clock.advance(401)
  if (silent === 'b') a.exchange.hear('c', 'c', c.beat())
  a.reported()
  a.roster.judge(0)
  return { a, b, c }
}

test('a silence that a refused dial explains is told once, as a death', async () => {
  const { a } = await deaf('b')
  expect(a.reported()).toEqual(['node_down b silent'])
  a.roster.refuse('b')
  a.roster.refuse('b')
  expect(a.reported()).toEqual(['node_dead b refused'])
  expect(a.directory.infoOf('b')).toMatchObject({ status: 'down', reason: 'refused' })
  a.roster.refuse('c')
  expect(a.reported()).toEqual(['node_down c refused'])
})

test('a later life of a silent node tells that the old one is dead, one of a node that is up hides it', async () => {
  const { a, b, c } = await deaf('b')
  a.reported()
  for (const { id, incarnation } of [b, c]) {
    const heardAt = a.clock.now()
    a.roster.sense(id, { incarnation: incarnation + 1, beat: 1, promiseMs: 200, heardAt, direct: true })
  }
  expect(a.reported()).toEqual(['node_dead b replaced', 'node_down c replaced'])
})

test('isolation begins once and ends once, when at most half are silent: heard again, or found dead', async () => {
  for (const end of ['heard', 'dead'] as const) {
    const { a, b } = await deaf('both')
    expect(a.reported()).toContain('isolated')
    expect(a.roster.isolated).toBe(true)
    a.roster.judge(0)
    expect(a.reported()).toEqual([])
    if (end === 'dead') a.roster.refuse('b')
    else a.exchange.compare('b', [b.head(0)])
    a.reported()
    expect(a.roster.isolated).toBe(true)
    a.roster.judge(0)
    a.roster.judge(0)
    expect(a.reported()).toEqual(['isolation_ended'])
    expect(a.roster.isolated).toBe(false)
  }
})
