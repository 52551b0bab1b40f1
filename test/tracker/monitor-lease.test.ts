import { describe, expect, test, vi } from 'vitest'
import { Lease, Monitor } from '../../src/tracker/monitor.ts'
import type { Clock } from '../../src/tracker/ports.ts'
import { backgroundClock, systemClock, systemRandom } from '../../src/tracker/system.ts'
import { codeOf } from '../wire/codes.ts'

interface Pending {
  readonly callback: () => void
  readonly at: number
}

/** A clock that a test winds. */
class HandClock implements Clock {
  readonly pending = new Set<Pending>()
  #now = 0

  now(): number {
    return this.#now
  }

  wallNow(): number {
    return this.#now
  }

  setTimer(callback: () => void, ms: number): { cancel(): void } {
    const timer = { callback, at: this.#now + ms }
    this.pending.add(timer)
    return { cancel: () => this.pending.delete(timer) }
  }

  advance(ms: number): void {
    this.#now += ms
    for (const timer of this.pending) {
      if (timer.at > this.#now) continue
      this.pending.delete(timer)
      timer.callback()
    }
  }
}

const timeouts = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

describe('a lease', () => {
  test('expires unless it is renewed', () => {
    const clock = new HandClock()
    const lease = Monitor.lease(100, { clock })
    expect(lease).toBeInstanceOf(Lease)
    clock.advance(99)
    lease.renew()
    clock.advance(99)
    expect(lease.closed).toBe(false)
    lease.renew(1_000)
    clock.advance(999)
    expect(lease.closed).toBe(false)
    clock.advance(1)
    expect([lease.closed, lease.reason]).toEqual([true, 'expired'])
  })

  test('renewed for a while of its own goes back to its length', () => {
    const clock = new HandClock()
    const lease = Monitor.lease(100, { clock })
    lease.renew(1_000)
    lease.renew()
    clock.advance(100)
    expect(lease.closed).toBe(true)
  })

  test('holds one timer, and none once closed', () => {
    const clock = new HandClock()
    const lease = Monitor.lease(100, { clock })
    lease.renew()
    lease.renew()
    expect(clock.pending.size).toBe(1)
    lease.close()
    expect(clock.pending.size).toBe(0)
  })

  test('that is closed cannot be renewed', () => {
    const lease = Monitor.lease(100, { clock: new HandClock() })
    lease.close()
    expect(codeOf(() => lease.renew())).toBe('ROLLCALL_MONITOR_CLOSED')
  })

  test.each([0, -1, NaN, Infinity, '100', undefined])('of %s ms is refused', (ms) => {
    const clock = new HandClock()
    expect(codeOf(() => Monitor.lease(ms as number, { clock }))).toBe('ROLLCALL_INVALID_ARGUMENT')
    const lease = Monitor.lease(100, { clock })
    if (ms !== undefined) expect(codeOf(() => lease.renew(ms as number))).toBe('ROLLCALL_INVALID_ARGUMENT')
    expect(clock.pending.size).toBe(1)
  })

  test('by the clock of the system expires, and keeps no process alive', async () => {
    const before = timeouts()
    const lease = Monitor.lease(20)
    expect(timeouts()).toBe(before)
    expect(await new Promise((resolve) => lease.onClose(resolve))).toBe('expired')
  })
})

describe('the system', () => {
  test('a timer of the system clock keeps the process alive, one of the background clock does not', () => {
    const before = timeouts()
    const [alive, background] = [systemClock, backgroundClock].map((clock) =>
      clock.setTimer(() => {}, 60_000),
    )
    expect(timeouts()).toBe(before + 1)
    alive!.cancel()
    expect(timeouts()).toBe(before)
    background!.cancel()
  })

  test('a timer waits longer than setTimeout can, and is cancelled on the way', () => {
    vi.useFakeTimers()
    try {
      const monthMs = 30 * 24 * 60 * 60 * 1_000
      const fired = vi.fn()
      const cancelled = vi.fn()
      systemClock.setTimer(fired, monthMs)
      const timer = systemClock.setTimer(cancelled, monthMs)
      vi.advanceTimersByTime(monthMs - 1)
      expect(fired).not.toHaveBeenCalled()
      timer.cancel()
      vi.advanceTimersByTime(1)
      expect(fired).toHaveBeenCalledOnce()
      vi.runAllTimers()
      expect(cancelled).not.toHaveBeenCalled()
    } finally {
      vi.useRealTimers()
    }
  })

  test('now is monotonic and wallNow is the date', () => {
    expect(systemClock.now()).toBeLessThanOrEqual(systemClock.now())
    expect(Math.abs(systemClock.wallNow() - Date.now())).toBeLessThan(1_000)
    expect(systemRandom.next()).toBeLessThan(1)
  })
})
