import { describe, expect, test } from 'vitest'
import {
  allSee,
  cluster,
  LINES,
  print,
  SLACK_MS,
  start,
  startProcess,
  useProcesses,
  withPeriods,
} from './cluster.ts'
import type { Child } from './fleet.ts'
import type { ChildCommands } from './child.ts'

useProcesses()

/** What was left running the process ended soon after; its own word for when, for its end is seen late. */
async function expectEnd(
  child: Child<ChildCommands>,
  { closedAt, left }: { readonly closedAt: number; readonly left: readonly string[] },
): Promise<void> {
  expect(await child.ended).toMatchObject({ code: 0, signal: null })
  const line = child.lines.find((each) => each.startsWith('exit at '))
  const afterMs = Number(line?.slice('exit at '.length)) - closedAt
  print('close resolved → process ends', [afterMs])
  // 100 ms on a machine at rest; the timers that libp2p is known to leave behind last a second.
  expect(afterMs).toBeLessThan(SLACK_MS)
  // A timer that lasts shows in the time above.
  expect(left.filter((each) => each !== 'Timeout')).toEqual([])
}

async function closeAndExpectEnd(child: Child<ChildCommands>): Promise<number> {
  const closed = await child.ask('close')
  expect(closed.same).toBe(true)
  await expectEnd(child, closed)
  return closed.closedAt - closed.startedAt
}

describe.each(LINES.slice(0, 2))('$called', ({ lines }) => {
  const [line] = lines

  test('C65: with neighbours', { timeout: 40_000 }, async () => {
    const [first, second] = await cluster(2, lines)
    print('close took', [await closeAndExpectEnd(second!.child)])
    await allSee([first!], 'shared', [first!])
    print('close alone took', [await closeAndExpectEnd(first!.child)])
  })

  test('C65: with a neighbour that stands still', { timeout: 40_000 }, async () => {
    const [first, second] = await cluster(2, lines)
    second!.child.signal('SIGSTOP')
    const tookMs = await closeAndExpectEnd(first!.child)
    print('close took', [tookMs])
    // leaveTimeoutMs is a second, and stopping libp2p may take one.
    expect(tookMs).toBeLessThan(3_000)
  })

  test('C65: while seeds are dialled that do not answer', { timeout: 40_000 }, async () => {
    const frozen = await start({ line, name: 'frozen' })
    frozen.child.signal('SIGSTOP')
    const node = await start({ line, name: 'node', join: [frozen.address, '127.0.0.1:1'] })
    await node.child.seen('problem')
    await closeAndExpectEnd(node.child)
  })

  test('C65: at once after the start', { timeout: 40_000 }, async () => {
    const seed = await start({ line, name: 'seed' })
    const child = startProcess()
    await expectEnd(
      child,
      await child.ask('openAndClose', withPeriods({ line, name: 'brief', join: [seed.address] })),
    )
    expect(seed.child.find('error')).toBeUndefined()
  })
})
