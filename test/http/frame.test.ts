import { createParser } from 'eventsource-parser'
import type { EventSourceMessage } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frame } from '../../src/http/frame.ts'

function parse(bytes: Buffer): EventSourceMessage[] {
  const events: EventSourceMessage[] = []
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onError: (error) => {
      throw error
    },
  })
  parser.feed(bytes.toString())
  return events
}

const id = { epoch: 'e/1', number: 7 }

test('C44: whatever the data says, it is one event, and arrives as it was', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      'a\nb',
      'a\r\nid: 9\n\n',
      '\u2028',
      '\u2029',
      '\u0085',
      '\0',
      '\ud800',
      '<script>',
      '__proto__',
    ),
  )
  fc.assert(
    fc.property(hostile, fc.jsonValue(), (text, value) => {
      const data = { text, value }
      const events = parse(frame('snapshot', id, data))
      expect(events).toHaveLength(1)
      expect(events[0]).toMatchObject({ event: 'snapshot', id: 'e/1:7' })
      expect(events[0]!.data).toBe(JSON.stringify(data))
    }),
  )
})
