import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventLog } from '../../src/http/event-log.ts'

const MIB = 1_048_576

/** Numbers of the events that a reader gets after `from`; undefined where it cannot go on. */
function readFrom(log: EventLog, from: number): number[] | undefined {
  if (!log.reaches(from)) return undefined
  const ids: number[] = []
  const parser = createParser({
    onEvent: ({ event, id, data }) => {
      const number = Number(id?.split(':')[1])
      expect({ event, id, data }).toEqual({ event: 'e', id: `life:${number}`, data: `{"n":${number}}` })
      ids.push(number)
    },
  })
  let at = from
  for (let part = log.after(at); part !== undefined; part = log.after(at)) {
    parser.feed(part.bytes.toString())
    expect(ids.at(-1)).toBe(part.to)
    at = part.to
  }
  return ids
}

const range = (after: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - after) }, (_, at) => after + 1 + at)

/** Appends some, which say their own numbers. */
function append(log: EventLog, count: number): void {
  for (let n = 0; n < count; n++) log.append('e', { n: log.newest + 1 })
}

test('whoever goes on gets all that came after, once and in order, or is told that it cannot', () => {
  const step = fc.oneof(
    fc.record({ append: fc.integer({ min: 1, max: 700 }) }),
    fc.record({ read: fc.integer({ min: 0, max: 2_500 }) }),
    fc.constant('seal' as const),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const log = new EventLog('life', MIB)
      let newest = 0
      let sealed = 0
      for (const step of steps) {
        if (step === 'seal') {
          log.seal()
          sealed = newest
        } else if ('append' in step) {
          append(log, step.append)
          newest += step.append
        } else {
          const oldest = Math.max(0, newest - 1_000)
          const isKept = step.read >= oldest && step.read <= newest
          expect(log.follows({ epoch: 'life', number: step.read })).toBe(isKept)
          expect(log.follows({ epoch: 'former', number: step.read })).toBe(false)
          expect(readFrom(log, step.read)).toEqual(isKept ? range(step.read, sealed) : undefined)
        }
      }
      expect(log.newest).toBe(newest)
    }),
  )
})

describe('bounds', () => {
  const big = { text: 'x'.repeat(1_000) }

  /** How many events it can be read from. */
  const keptBy = (log: EventLog): number => {
    let kept = 0
    while (log.reaches(log.newest - kept - 1) && kept < log.newest) kept++
    return kept
  }

  test('it keeps so many bytes', () => {
    const log = new EventLog('life', 50_000)
    for (let n = 0; n < 200; n++) {
      log.append('e', big)
      log.seal()
    }
    let bytes = 0
    for (let at = log.newest - keptBy(log); ;) {
      const part = log.after(at)
      if (part === undefined) break
      bytes += part.bytes.length
      at = part.to
    }
    expect(bytes).toBeLessThanOrEqual(50_000)
    expect(bytes).toBeGreaterThan(48_000)
  })

  test('and always the latest, however big', () => {
    const log = new EventLog('life', 10)
    for (let n = 0; n < 3; n++) log.append('e', big)
    log.seal()
    expect(keptBy(log)).toBe(1)
    expect(log.after(log.newest - 1)?.bytes.length).toBeGreaterThan(1_000)
  })

  test('of a burst it writes out no more than it keeps', () => {
    let written = 0
    const log = new EventLog('life', MIB)
    for (let n = 0; n < 10_000; n++) log.append('e', { toJSON: () => written++ })
    log.seal()
    expect(written).toBe(1_000)
    expect(keptBy(log)).toBe(1_000)
  })

  test('nor of big ones, and lets go of them', () => {
    let written = 0
    const log = new EventLog('life', 50_000)
    append(log, 10)
    log.seal()
    for (let n = 0; n < 900; n++) log.append('e', { toJSON: () => `${written++}${'x'.repeat(1_000)}` })
    log.seal()
    expect(keptBy(log)).toBe(48)
    // And the one that was too much.
    expect(written).toBe(49)
  })

  test('an event is written out once, and readers in step share what they are sent', () => {
    let written = 0
    const log = new EventLog('life', MIB)
    for (let n = 0; n < 10; n++) log.append('e', { toJSON: () => written++ })
    log.seal()
    const [one, other] = [log.after(0), log.after(0)]
    expect(one?.bytes).toBe(other?.bytes)
    log.after(3)
    log.seal()
    expect(written).toBe(10)
  })

  test('it is sent in parts of some 16 KiB', () => {
    const log = new EventLog('life', MIB)
    for (let n = 0; n < 100; n++) log.append('e', big)
    log.seal()
    const part = log.after(0)
    expect(part?.bytes.length).toBeGreaterThan(15_000)
    expect(part?.bytes.length).toBeLessThan(18_000)
  })
})
