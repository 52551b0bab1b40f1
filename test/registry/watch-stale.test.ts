import { expect, test, vi } from 'vitest'
import type { Snapshot, WatchOptions } from '../../src/registry/watch-types.ts'
import type { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { Timer } from '../../src/tracker/ports.ts'
import { entry } from './replica.ts'
import { settle, Watched } from './watched.ts'

const KEEP: WatchOptions = { stale: 'keep-last', maxStaleMs: 1_000 }

const [A, B] = [
  entry('s', { version: '1.0.0' }, { node: 'n1' }),
  entry('s', { version: '1.0.0' }, { node: 'n2' }),
]

/** Timers of a clock that neither ran nor were called off. */
function openTimers(clock: VirtualClock): ReadonlySet<Timer> {
  const open = new Set<Timer>()
  const setTimer = clock.setTimer.bind(clock)
  vi.spyOn(clock, 'setTimer').mockImplementation((callback, ms) => {
    const inner = setTimer(() => {
      open.delete(timer)
      callback()
    }, ms)
    const timer: Timer = {
      cancel: () => {
        open.delete(timer)
        inner.cancel()
      },
    }
    open.add(timer)
    return timer
  })
  return open
}

const printed = ({ instances, stale }: Snapshot): string =>
  `${instances.map(({ node }) => node).join(' ')}${stale ? ' stale' : ''}`

function watched(options: WatchOptions) {
  const world = new Watched()
  const timers = openTimers(world.fed.clock)
  const shown: string[] = []
  world.apply({ node: 'n1', joins: [A] })
  world.apply({ node: 'n2', joins: [B] })
  const stop = world.watch('s', undefined, options).subscribe((snapshot) => shown.push(printed(snapshot)))
  return { world, timers, shown, stop }
}

const hide = (world: Watched, gone: typeof A): void =>
  world.apply({ node: gone.node, leaves: [gone], reason: 'silent' })

test('each of those who stand in leaves the list when its time is over, and the watch is told to the ms', async () => {
  const { world, timers, shown } = watched(KEEP)
  await settle()
  hide(world, A)
  await settle()
  await world.fed.clock.advance(400)
  hide(world, B)
  await settle()
  expect(shown).toEqual(['n1 n2', 'n2', 'n1 n2 stale'])
  expect(timers.size).toBe(1)
  await world.fed.clock.advance(599)
  expect(shown).toHaveLength(3)
  await world.fed.clock.advance(1)
  await settle()
  expect(shown.slice(3)).toEqual(['n2 stale'])
  await world.fed.clock.advance(399)
  expect(shown).toHaveLength(4)
  await world.fed.clock.advance(1)
  await settle()
  expect(shown.slice(4)).toEqual([''])
  expect(timers.size).toBe(0)
})

test('the same list, once it is stale and once it is not, is told twice, but not what others lose', async () => {
  const { world, shown } = watched(KEEP)
  await settle()
  world.apply({ node: 'n1', leaves: [A] })
  hide(world, B)
  await settle()
  world.apply({ node: 'n3', joins: [entry('t', { version: '1.0.0' }, { node: 'n3' })] })
  world.apply({ node: 'n3', leaves: [entry('t', { version: '1.0.0' }, { node: 'n3' })], reason: 'silent' })
  world.watches.wakeAll()
  await settle()
  world.apply({ node: 'n2', joins: [B] })
  await settle()
  expect(shown).toEqual(['n1 n2', 'n2 stale', 'n2'])
})

test('evidence of death is told at once, and takes the timer with it', async () => {
  const { world, timers, shown } = watched(KEEP)
  hide(world, A)
  hide(world, B)
  await settle()
  expect(timers.size).toBe(1)
  world.watches.wake(world.fed.index.lapses.forget('n1'))
  await settle()
  world.watches.wake(world.fed.index.lapses.forget('n2'))
  await settle()
  expect(shown).toEqual(['n1 n2 stale', 'n2 stale', ''])
  expect(timers.size).toBe(0)
})

test('one that begins while others stand in is told when that ends; no timer outlives who waits', async () => {
  const { world, timers, stop } = watched(KEEP)
  hide(world, A)
  hide(world, B)
  await settle()
  stop()
  expect(timers.size).toBe(0)
  const late: string[] = []
  const end = world.watch('s', undefined, KEEP).subscribe((snapshot) => late.push(printed(snapshot)))
  await settle()
  expect([late, timers.size]).toEqual([['n1 n2 stale'], 1])
  const loop = world.watch('s', undefined, KEEP)[Symbol.asyncIterator]()
  await loop.next()
  void loop.next()
  end()
  expect(timers.size).toBe(1)
  await loop.return?.()
  expect([timers.size, world.watches.size]).toEqual([0, 0])
  world.watch('s', undefined, KEEP).subscribe((snapshot) => late.push(printed(snapshot)))
  await settle()
  world.watches.close()
  expect([timers.size, world.watches.size]).toEqual([0, 0])
})

test('who does not ask for it is told that nobody is left, sets no timer, and is no company for who does', async () => {
  const { world, timers, shown } = watched({})
  hide(world, A)
  hide(world, B)
  await settle()
  expect([shown, timers.size]).toEqual([[''], 0])
  const kept = world.watch('s', undefined, KEEP)
  const longer = world.watch('s', undefined, { ...KEEP, maxStaleMs: 5_000 })
  kept.subscribe(() => undefined)
  longer.subscribe(() => undefined)
  await settle()
  await world.fed.clock.advance(1_000)
  expect([kept.stale, longer.stale]).toEqual([false, true])
})

test('who comes back with a revision is told who stands in, and that nobody does any more', async () => {
  const { world } = watched({})
  hide(world, A)
  hide(world, B)
  const loop = world.watch('s', undefined, KEEP)[Symbol.asyncIterator]()
  const { value: first } = await loop.next()
  expect(printed(first!)).toBe('n1 n2 stale')
  await loop.return?.()
  await world.fed.clock.advance(1_000)
  const resumed = world.watch('s', undefined, { ...KEEP, since: first! })[Symbol.asyncIterator]()
  const { value: second } = await resumed.next()
  expect([printed(second!), second?.reset, second?.revision]).toEqual(['', false, first?.revision])
  await resumed.return?.()
})
