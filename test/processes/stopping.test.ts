import { describe, expect, test } from 'vitest'
import {
  allSee,
  cluster,
  DOWN_MS,
  LINES,
  pass,
  PERIOD_MS,
  print,
  SLACK_MS,
  told,
  useProcesses,
} from './cluster.ts'
import { monotonicNow } from './served.ts'

useProcesses()

/** libp2p gives a connection up that has answered no ping for 6 s or so: once without that, once with. */
const STOPS = LINES.map((line, index) => ({ ...line, stopMs: index === 1 ? 10_000 : 3 * DOWN_MS }))

describe.each(STOPS)('$called, stopped for $stopMs ms', ({ lines, stopMs }) => {
  const title =
    'C22 C23: a stopped process is down in time and up again when it goes on, and itself declares nobody down'
  test(title, { timeout: 60_000 }, async () => {
    const [a, stopped, b] = (await cluster(3, lines)) as [never, never, never]
    await expectStop([a, b], stopped, stopMs)
  })
})

type Members = Awaited<ReturnType<typeof cluster>>

async function expectStop(observers: Members, stopped: Members[number], stopMs: number): Promise<void> {
  const marks = observers.map(({ child }) => child.happenings.length)
  const at = stopped.child.signal('SIGSTOP')
  const downs: number[] = []
  for (const { child } of observers) {
    const down = await child.seen('service_down', ({ node }) => node === stopped.id)
    expect(down.reason).toBe('silent')
    downs.push(down.at - at)
  }
  print('down after', downs)
  expect(Math.max(...downs)).toBeLessThan(DOWN_MS + PERIOD_MS + SLACK_MS)
  await allSee(observers, stopped.name, [])

  await pass(Math.max(0, at + stopMs - monotonicNow()))
  const back = stopped.child.signal('SIGCONT')
  await allSee([...observers, stopped], 'shared', [...observers, stopped])
  // Long enough for a verdict formed from what it missed.
  await pass(DOWN_MS + 2 * PERIOD_MS)
  expect(stopped.child.happenings.filter(({ kind }) => kind === 'node_down')).toEqual([])
  const ups: number[] = []
  for (const [index, observer] of observers.entries()) {
    const kinds = told(observer, stopped.name, marks[index])
    expect(kinds.map(({ kind }) => kind)).toEqual(['service_down', 'service_up'])
    ups.push((kinds[1]?.at ?? Infinity) - back)
    const up = observer.child.find('node_up', ({ node }) => node === stopped.id, marks[index])
    expect(up?.incarnation).toBe(stopped.incarnation)
  }
  print('up again after', ups)
  await allSee([...observers, stopped], 'shared', [...observers, stopped])
}
