import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lastEventId, readEventId, writeEventId } from '../../src/http/event-id.ts'
import { nameFault } from '../../src/core/name.ts'

/** What node ids and numbers make up. */
const epoch = fc
  .string({ unit: 'grapheme', minLength: 1 })
  .filter((text) => nameFault(text, 256) === undefined)

test('what is written is read, whatever the epoch, in one line', () => {
  fc.assert(
    fc.property(epoch, fc.maxSafeNat(), (epoch, number) => {
      const text = writeEventId({ epoch, number })
      expect(readEventId(text)).toEqual({ epoch, number })
      expect(text).not.toMatch(/[\r\n\0]/u)
    }),
  )
})

test.each([
  'x',
  ':',
  ':1',
  'e:',
  'e:-1',
  'e:01',
  'e:1.5',
  'e:1e3',
  'e: 1',
  'e:9007199254740992',
  'e:1\n',
  '\0',
])('C60: %j is a place that nobody can go on from', (text) => {
  expect(readEventId(text)).toEqual({ epoch: '', number: 0 })
})

const asked = (url: string, header?: string): unknown =>
  lastEventId({ url, headers: header === undefined ? {} : { 'last-event-id': header } })

test('a request says where it left off in its header, or in its query; else it begins', () => {
  expect(asked('/x?lastEventId=e%2F1:7')).toEqual({ epoch: 'e/1', number: 7 })
  expect(asked('/x?a=?&lastEventId=e%3F:7')).toEqual({ epoch: 'e?', number: 7 })
  expect(asked('/x?lastEventId=e:7', 'e:8')).toEqual({ epoch: 'e', number: 8 })
  expect(asked('/x?lastEventId=e:7', '')).toEqual({ epoch: 'e', number: 7 })
  expect(asked('/x?lastEventId=nonsense')).toEqual({ epoch: '', number: 0 })
  for (const url of ['/x', '/x?', '/x?lastEventId=', '/&lastEventId=e:7', '//', '']) {
    expect(asked(url)).toBeUndefined()
  }
})

test('an EventSource sends its header as UTF-8', () => {
  expect(asked('/x', Buffer.from('knöt/1:3').toString('latin1'))).toEqual({ epoch: 'knöt/1', number: 3 })
})
