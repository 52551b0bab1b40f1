import { on, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { Emitter } from '../../src/tracker/emitter.ts'
import { codeOf } from '../wire/codes.ts'
import { nextUncaught } from './uncaught.ts'

interface Events {
  diff: [count: number, name: string]
  quiet: []
  error: [error: Error]
}

class Source extends Emitter<Events> {
  fire<Event extends keyof Events>(event: Event, ...payload: Events[Event]): boolean {
    return this.dispatch(event, ...payload)
  }
}

test('listeners get the payload in the order they were added', () => {
  const source = new Source()
  const seen: unknown[] = []
  source.on('diff', (count, name) => seen.push('a', count, name))
  source.once('diff', (count) => seen.push('b', count))
  source.prependListener('diff', () => seen.push('first'))
  expect(source.fire('diff', 1, 'x')).toBe(true)
  expect(source.fire('diff', 2, 'y')).toBe(true)
  expect(source.fire('quiet')).toBe(false)
  expect(seen).toEqual(['first', 'a', 1, 'x', 'b', 1, 'first', 'a', 2, 'y'])
  expect(source.listenerCount('diff')).toBe(2)
})

test('listeners are called with the emitter as this', () => {
  const source = new Source()
  const seen: unknown[] = []
  source.on('quiet', function (this: unknown) {
    seen.push(this)
  })
  source.fire('quiet')
  expect(seen[0]).toBe(source)
})

describe('C64', () => {
  test('one that throws harms neither the others nor the dispatcher; the error surfaces', async () => {
    const source = new Source()
    const seen: number[] = []
    const error = new Error('listener')
    source.once('diff', () => {
      throw error
    })
    source.on('diff', (count) => seen.push(count))
    const uncaught = nextUncaught()
    expect(source.fire('diff', 1, '')).toBe(true)
    expect(seen).toEqual([1])
    expect(await uncaught).toBe(error)
    source.fire('diff', 2, '')
    expect(seen).toEqual([1, 2])
  })

  test('one that rejects surfaces as an unhandled rejection', async () => {
    const source = new Source()
    const error = new Error('async listener')
    const rejecting: () => unknown = async () => {
      await Promise.resolve()
      throw error
    }
    source.on('quiet', rejecting)
    const unhandled = nextUncaught('unhandledRejection')
    source.fire('quiet')
    expect(await unhandled).toBe(error)
  })

  test('listeners removed and added during a dispatch count from the next one', () => {
    const source = new Source()
    const seen: string[] = []
    const self = (): void => {
      seen.push('self')
      source.off('quiet', self)
      source.off('quiet', other)
      source.on('quiet', () => seen.push('added'))
    }
    const other = (): number => seen.push('other')
    source.on('quiet', self)
    source.on('quiet', other)
    source.fire('quiet')
    expect(seen).toEqual(['self', 'other'])
    source.fire('quiet')
    expect(seen).toEqual(['self', 'other', 'added'])
  })

  test('one that dispatches again is served within', () => {
    const source = new Source()
    const seen: unknown[] = []
    source.on('diff', (count) => {
      seen.push(count)
      if (count < 3) source.fire('diff', count + 1, '')
    })
    source.fire('diff', 1, '')
    expect(seen).toEqual([1, 2, 3])
  })
})

describe('error', () => {
  test('surfaces, asynchronously, when nobody listens', async () => {
    const source = new Source()
    const error = new Error('fatal')
    const uncaught = nextUncaught()
    expect(source.fire('error', error)).toBe(false)
    expect(await uncaught).toBe(error)
  })

  test('is an event like others when somebody does', () => {
    const source = new Source()
    const seen: Error[] = []
    source.on('error', (error) => seen.push(error))
    const error = new Error('fatal')
    expect(source.fire('error', error)).toBe(true)
    expect(seen).toEqual([error])
  })
})

describe('node:events', () => {
  test('events.once resolves, and rejects with an error', async () => {
    const source = new Source()
    const next = once(source, 'diff')
    source.fire('diff', 1, 'x')
    expect(await next).toEqual([1, 'x'])
    const failing = once(source, 'diff')
    const error = new Error('fatal')
    source.fire('error', error)
    await expect(failing).rejects.toBe(error)
    expect(source.eventNames()).toEqual([])
  })

  test('events.on iterates', async () => {
    const source = new Source()
    const events = on(source, 'diff')
    source.fire('diff', 1, 'x')
    source.fire('diff', 2, 'y')
    const seen: unknown[] = []
    for await (const payload of events) {
      seen.push(payload)
      if (seen.length === 2) break
    }
    expect(seen).toEqual([
      [1, 'x'],
      [2, 'y'],
    ])
    expect(source.listenerCount('diff')).toBe(0)
  })

  test('outsiders cannot fire, neither by type nor at run time', () => {
    const source = new Source()
    let calls = 0
    source.on('quiet', () => calls++)
    // @ts-expect-error -- `emit` takes no event.
    expect(codeOf(() => source.emit('quiet'))).toBe('ROLLCALL_INVALID_ARGUMENT')
    // @ts-expect-error -- `dispatch` is protected.
    expect(typeof source.dispatch).toBe('function')
    expect(calls).toBe(0)
  })

  test('names and payloads are typed', () => {
    const source = new Source()
    // @ts-expect-error -- no such event.
    source.on('diif', () => {})
    // @ts-expect-error -- the count is a number.
    source.on('diff', (count: string) => count)
    expect(source.eventNames()).toEqual(['diif', 'diff'])
  })

  test('listeners that come and go are told of as node:events does', () => {
    const source = new Source()
    const seen: unknown[] = []
    const untyped: NodeJS.EventEmitter = source
    untyped.on('newListener', (event) => seen.push(event))
    source.on('quiet', () => {})
    expect(seen).toEqual(['quiet'])
  })

  test('a hundred listeners are no leak', () => {
    expect(new Source().getMaxListeners()).toBe(100)
  })
})
