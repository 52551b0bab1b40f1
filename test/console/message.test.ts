import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CLIENT_KINDS,
  CONSOLE_KINDS,
  encodeMessage,
  MAX_LINE_LENGTH,
  MessageReader,
} from '../../src/console/message.ts'
import type { ClientMessage, ConsoleMessage } from '../../src/console/message.ts'

const reader = () => new MessageReader<ClientMessage>(CLIENT_KINDS)
const size = { columns: fc.integer({ min: 1, max: 500 }), rows: fc.integer({ min: 1, max: 500 }) }
const messages = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('input' as const), text: fc.string({ unit: 'grapheme' }) }),
    fc.record({ kind: fc.constant('resize' as const), ...size }),
    fc.constant({ kind: 'end' as const }),
    fc.record({
      kind: fc.constant('call' as const),
      command: fc.string(),
      args: fc
        .dictionary(fc.string(), fc.jsonValue())
        .map((args) => JSON.parse(JSON.stringify(args)) as Record<string, unknown>),
    }),
  ),
)

test('messages arrive as they were sent, wherever the bytes are cut', () => {
  fc.assert(
    fc.property(messages, fc.array(fc.nat(20)), (sent, cuts) => {
      let bytes = Buffer.from(sent.map(encodeMessage).join(''))
      const from = reader()
      const got: ClientMessage[] = []
      for (const cut of cuts) {
        got.push(...from.read(bytes.subarray(0, cut))!)
        bytes = bytes.subarray(cut)
      }
      got.push(...from.read(bytes)!)
      expect(got).toEqual(sent)
    }),
  )
})

describe('what is no message', () => {
  test.each([
    'GET / HTTP/1.1',
    '',
    'null',
    '[]',
    '{}',
    '{"kind":"toString"}',
    '{"kind":"output","text":""}',
    '{"kind":"input"}',
    '{"kind":"input","text":1}',
    '{"kind":"resize","columns":0,"rows":1}',
    '{"kind":"resize","columns":1.5,"rows":1}',
    '{"kind":"resize","columns":80,"rows":null}',
    '{"kind":"call","command":"nodes"}',
    '{"kind":"call","command":1,"args":{}}',
    '{"kind":"call","command":"nodes","args":[]}',
    '{"kind":"hello","terminal":1,"colours":true,"columns":80,"rows":24}',
  ])('%s', (line) => {
    expect(reader().read(Buffer.from(`${line}\n`))).toBeUndefined()
  })

  test.each([
    '{"kind":"item"}',
    '{"kind":"failure","code":"C"}',
    '{"kind":"call","command":"nodes","args":{}}',
  ])('from a console: %s', (line) => {
    const from = new MessageReader<ConsoleMessage>(CONSOLE_KINDS)
    expect(from.read(Buffer.from('{"kind":"item","value":null}\n'))).toEqual([{ kind: 'item', value: null }])
    expect(from.read(Buffer.from(`${line}\n`))).toBeUndefined()
  })

  test('a line without an end', () => {
    const from = reader()
    expect(from.read(Buffer.alloc(MAX_LINE_LENGTH, 'x'))).toEqual([])
    expect(from.read(Buffer.from('x'))).toBeUndefined()
  })
})
