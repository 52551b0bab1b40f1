import { expect, test } from 'vitest'
import { Waiters } from '../../src/registry/waiters.ts'
import { RollcallError } from '../../src/errors.ts'
import type { Clock } from '../../src/tracker/ports.ts'
import { entry, Fed } from './replica.ts'

/** A clock whose timers are fired by hand. */
class HandClock implements Clock {
  readonly pending = new Set<() => void>()

  now(): number {
    return 0
  }

  wallNow(): number {
    return 0
  }

  setTimer(callback: () => void): { cancel(): void } {
    this.pending.add(callback)
    return { cancel: () => void this.pending.delete(callback) }
  }
}

test('however a wait ends, neither a waiter nor a timer is left', async () => {
  const fed = new Fed()
  const clock = new HandClock()
  const waiters = new Waiters(clock)
  const wait = (options: { signal?: AbortSignal } = {}): Promise<unknown> =>
    waiters.wait('s', fed.pool.select('s', '~> 2.0', undefined), { timeoutMs: 50, ...options })
  const nothingLeft = (): void => {
    expect(waiters.size).toBe(0)
    expect(clock.pending.size).toBe(0)
  }

  const controller = new AbortController()
  const aborted = expect(wait({ signal: controller.signal })).rejects.toBe('enough')
  expect(waiters.size).toBe(1)
  expect(clock.pending.size).toBe(1)
  controller.abort('enough')
  await aborted
  nothingLeft()

  const late = expect(wait()).rejects.toMatchObject({
    code: 'ROLLCALL_WAIT_TIMEOUT',
    message: expect.stringContaining('50 ms (noservice)') as string,
  })
  for (const fire of clock.pending) fire()
  await late
  expect(waiters.size).toBe(0)
  clock.pending.clear()

  const closed = [wait(), wait()].map((each) =>
    expect(each).rejects.toMatchObject({ code: 'ROLLCALL_CLOSED' }),
  )
  waiters.rejectAll(new RollcallError('ROLLCALL_CLOSED'))
  await Promise.all(closed)
  nothingLeft()

  const found = [wait(), wait()]
  fed.apply({ joins: [entry('s', { version: '1.0.0' })] })
  waiters.wake([{ entry: { key: 's' } }])
  expect(waiters.size).toBe(2)
  fed.apply({ node: 'n2', joins: [entry('s', { version: '2.0.0' }, { node: 'n2' })] })
  waiters.wake([{ entry: { key: 'other' } }])
  waiters.wake([{ entry: { key: 's' } }])
  for (const each of await Promise.all(found)) expect(each).toMatchObject({ version: '2.0.0', node: 'n2' })
  nothingLeft()

  expect(await wait()).toMatchObject({ node: 'n2' })
  nothingLeft()
})
