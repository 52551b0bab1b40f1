import { expect, test } from 'vitest'
import { entry } from './replica.ts'
import { settle, Watched } from './watched.ts'

/** A watched registry to which instances of a service come, each in a turn of its own. */
function filling() {
  const watched = new Watched()
  let ref = 0
  const come = async (name = 's'): Promise<void> => {
    watched.apply({ joins: [entry(name, { version: '1.0.0' }, { ref: ++ref })] })
    await settle()
  }
  return { watched, come, clock: watched.fed.clock }
}

test('a reader that waits is given every change, and is never late', async () => {
  const { watched, come } = filling()
  watched.watch('s').subscribe(() => undefined)
  await settle()
  for (let n = 0; n < 3; n++) await come()
  await come('another')
  expect(watched.watches.tally).toEqual({ snapshots: 4, coalesced: 0 })
  expect(watched.watches.lateMs).toBe(0)
})

test('changes of one turn are one for who waits', async () => {
  const { watched, come } = filling()
  watched.watch('s').subscribe(() => undefined)
  await settle()
  await Promise.all([come(), come()])
  expect(watched.watches.tally).toEqual({ snapshots: 2, coalesced: 0 })
  expect(watched.watches.lateMs).toBe(0)
})

test('a busy reader is late from the first change on that it has not taken, and takes all in one', async () => {
  const { watched, come, clock } = filling()
  const loop = watched.watch('s')[Symbol.asyncIterator]()
  await loop.next()
  await clock.advance(1_000)
  expect(watched.watches.lateMs).toBe(0)
  for (let n = 0; n < 3; n++) {
    await come()
    await clock.advance(100)
  }
  expect(watched.watches.lateMs).toBe(300)
  expect(watched.watches.tally).toEqual({ snapshots: 1, coalesced: 2 })
  const { value } = await loop.next()
  expect(value?.instances).toHaveLength(3)
  expect(watched.watches.lateMs).toBe(0)
  expect(watched.watches.tally).toEqual({ snapshots: 2, coalesced: 2 })
  await come()
  await clock.advance(50)
  expect(watched.watches.lateMs).toBe(50)
})

test('one that waits again is busy again once it is given something', async () => {
  const { watched, come, clock } = filling()
  const loop = watched.watch('s')[Symbol.asyncIterator]()
  await loop.next()
  const next = loop.next()
  await come()
  await next
  await come()
  await clock.advance(10)
  expect(watched.watches.lateMs).toBe(10)
  expect(watched.watches.tally).toEqual({ snapshots: 2, coalesced: 0 })
})

test('one that has not begun to read is late as well; of many, the slowest counts', async () => {
  const { watched, come, clock } = filling()
  const [first, second] = [1, 2].map(() => watched.watch('s')[Symbol.asyncIterator]())
  await come()
  await clock.advance(500)
  await first?.next()
  expect(watched.watches.lateMs).toBe(500)
  await come()
  await clock.advance(100)
  expect(watched.watches.lateMs).toBe(600)
  await second?.next()
  expect(watched.watches.lateMs).toBe(100)
})

test('one that has left is late no more, and counts no more', async () => {
  const { watched, come, clock } = filling()
  const loop = watched.watch('s')[Symbol.asyncIterator]()
  await loop.next()
  const other = watched.watch('s').subscribe(() => undefined)
  await come()
  await clock.advance(100)
  await loop.return?.()
  expect(watched.watches.lateMs).toBe(0)
  await come()
  expect(watched.watches.tally.coalesced).toBe(0)
  other()
})
