import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { Monitor, monitorState } from '../../src/tracker/monitor.ts'
import { nextUncaught } from './uncaught.ts'
import { codeOf } from '../wire/codes.ts'

describe('close', () => {
  test('C14: closes once; the first reason stays; a second close is nothing', () => {
    const monitor = new Monitor()
    const reasons: unknown[] = []
    monitor.onClose((reason) => reasons.push(reason))
    expect([monitor.closed, monitor.reason]).toEqual([false, undefined])
    monitor.close('first')
    monitor.close('second')
    expect([monitor.closed, monitor.reason]).toEqual([true, 'first'])
    expect(reasons).toEqual(['first'])
  })

  test('listeners are called within close, in order, and see it closed', () => {
    const monitor = new Monitor()
    const seen: unknown[] = []
    monitor.onClose(() => seen.push(1, monitor.closed))
    monitor.onClose(() => seen.push(2))
    monitor.close()
    seen.push('after')
    expect(seen).toEqual([1, true, 2, 'after'])
  })

  test('one function listening twice is called twice', () => {
    const monitor = new Monitor()
    let calls = 0
    const listener = (): number => ++calls
    const off = monitor.onClose(listener)
    monitor.onClose(listener)
    monitor.onClose(listener)
    off()
    expect(monitorState(monitor).isObserved).toBe(true)
    monitor.close()
    expect(calls).toBe(2)
    // They are let go, whoever still holds the monitor.
    expect(monitorState(monitor).isObserved).toBe(false)
  })

  test('a listener of a closed monitor is called in a microtask, unless called off', async () => {
    const monitor = new Monitor()
    monitor.close('gone')
    const seen: unknown[] = []
    monitor.onClose((reason) => seen.push(reason))
    const off = monitor.onClose(() => seen.push('called off'))
    off()
    expect(seen).toEqual([])
    await Promise.resolve()
    expect(seen).toEqual(['gone'])
  })

  test('one called off by an earlier listener is not called', () => {
    const monitor = new Monitor()
    const seen: number[] = []
    monitor.onClose(() => {
      seen.push(1)
      off()
    })
    const off = monitor.onClose(() => seen.push(2))
    monitor.close()
    expect(seen).toEqual([1])
  })

  test('C64: a listener that throws harms neither the others nor close; the error surfaces', async () => {
    const monitor = new Monitor()
    const seen: number[] = []
    const error = new Error('listener')
    monitor.onClose(() => {
      throw error
    })
    monitor.onClose(() => seen.push(2))
    const uncaught = nextUncaught()
    monitor.close()
    expect(seen).toEqual([2])
    expect(await uncaught).toBe(error)
  })

  test('close from within a listener is nothing', () => {
    const monitor = new Monitor()
    let calls = 0
    monitor.onClose(() => {
      calls++
      monitor.close('again')
    })
    monitor.close('first')
    expect([calls, monitor.reason]).toEqual([1, 'first'])
  })

  test('using closes it at the end of the block', () => {
    const closed: boolean[] = []
    const outer = new Monitor()
    {
      using monitor = Monitor.of(outer)
      monitor.onClose(() => closed.push(true))
    }
    expect(closed).toEqual([true])
    expect(outer.closed).toBe(false)
  })
})

describe('signal', () => {
  test('closes when it aborts, with its reason', () => {
    const controller = new AbortController()
    const monitor = new Monitor({ signal: controller.signal })
    expect(monitor.closed).toBe(false)
    controller.abort('enough')
    expect([monitor.closed, monitor.reason]).toEqual([true, 'enough'])
  })

  test('one that has aborted makes a closed monitor', () => {
    const monitor = new Monitor({ signal: AbortSignal.abort('before') })
    expect([monitor.closed, monitor.reason]).toEqual([true, 'before'])
  })

  test('what is not a signal is refused', () => {
    const signal = new EventEmitter() as unknown as AbortSignal
    expect(codeOf(() => new Monitor({ signal }))).toBe('ROLLCALL_INVALID_OPTION')
  })
})
