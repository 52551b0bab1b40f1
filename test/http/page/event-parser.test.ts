import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventParser } from '../../../src/http/page/client/event-parser.ts'

const parse = (...pieces: string[]) => {
  const parser = new EventParser()
  return pieces.flatMap((piece) => parser.push(piece))
}

describe('an event', () => {
  test('has a name, data and an id', () => {
    expect(parse('id: e:7\nevent: service_up\ndata: {"a":1}\n\n')).toEqual([
      { name: 'service_up', data: '{"a":1}', id: 'e:7' },
    ])
  })

  test('is called message when nothing else is said, of it and not of the one before', () => {
    expect(parse('event: a\ndata: 1\n\ndata: 2\n\n').map(({ name }) => name)).toEqual(['a', 'message'])
  })

  test('keeps the last id that was said', () => {
    expect(parse('data: 1\n\nid: x\ndata: 2\n\ndata: 3\n\n').map(({ id }) => id)).toEqual(['', 'x', 'x'])
  })

  test('has the lines of its data in one text', () => {
    expect(parse('data: 1\ndata:  2\ndata\n\n')).toEqual([{ name: 'message', data: '1\n 2\n', id: '' }])
  })

  test('may have any character in its data, those that end a line for others too', () => {
    expect(parse('data: a\u2028b\u2029c\n\n')).toEqual([{ name: 'message', data: 'a\u2028b\u2029c', id: '' }])
  })

  test('without data is none', () => {
    expect(parse('event: a\n\n')).toEqual([])
  })

  test('comes when it is complete, and not before', () => {
    const parser = new EventParser()
    expect(parser.push('data: 1\n')).toEqual([])
    expect(parser.push('\n')).toHaveLength(1)
  })
})

test('comments and other fields say nothing', () => {
  expect(parse(': heartbeat\nretry: 1000\nid: a\0b\ndata: 1\n: more\n\n')).toEqual([
    { name: 'message', data: '1', id: '' },
  ])
})

test('lines end as they like, and the network cuts where it likes', () => {
  const line = fc.constantFrom('id: 1', 'event: up', 'data: {"a: b"}', 'data:', ': beat', '', '')
  const lines = fc.array(line, { maxLength: 30 })
  const ends = fc.constantFrom('\n', '\r\n', '\r')
  const cuts = fc.array(fc.nat(200))
  fc.assert(
    fc.property(lines, ends, cuts, (written, end, at) => {
      // A CR at the very end would wait for what comes next.
      const text = `${written.join(end)}${end}x`
      const places = [0, ...at.sort((a, b) => a - b), text.length]
      const pieces = places.slice(1).map((place, i) => text.slice(places[i], place))
      expect(parse(...pieces)).toEqual(parse(written.join('\n'), '\n'))
    }),
  )
})
