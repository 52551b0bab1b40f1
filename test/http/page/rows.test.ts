import { describe, expect, test } from 'vitest'
import { countsOf } from '../../../src/http/page/client/counts.ts'
import { nodeKey } from '../../../src/http/page/client/node-name.ts'
import { isDoubted, nodeCells } from '../../../src/http/page/client/node-row.ts'
import { dayAndTime, span } from '../../../src/http/page/client/moment.ts'
import { serviceCells, serviceMatches, serviceRows } from '../../../src/http/page/client/service-row.ts'
import { instance, node } from './made.ts'

describe('services', () => {
  test('stand in their order by name, those that only stand in among them', () => {
    const here = [instance({ id: 'b', name: 'B' }), instance({ id: 'c', name: 'C' })]
    const standIns = [instance({ id: 'a', name: 'A', node: 'gone' })]
    const rows = serviceRows(here, standIns, [node(), node({ id: 'gone', status: 'down' })])
    expect(rows.map(({ instance: { name }, stale, doubt }) => [name, stale, doubt])).toEqual([
      ['A', true, 'down'],
      ['B', false, undefined],
      ['C', false, undefined],
    ])
  })

  test('one that is here and stands in is there once', () => {
    const unready = instance({ state: 'unready' })
    expect(serviceRows([unready], [unready], [])).toEqual([
      { instance: unready, stale: true, doubt: undefined },
    ])
  })

  test('say what speaks against their node', () => {
    const doubts = [{ suspect: 'unanswered' as const }, { flapping: true }, {}]
    const rows = doubts.map((doubt) => serviceRows([instance()], [], [node(doubt)])[0]!)
    expect(rows.map(({ doubt }) => doubt)).toEqual(['unanswered', 'flapping', undefined])
    expect(serviceCells(rows[0]!)[3]).toEqual({
      text: 'post-1',
      tags: [{ text: 'unanswered', tone: 'warn' }],
    })
  })

  test('show a state with its reason, one of a later version too', () => {
    const [row] = serviceRows([instance({ state: 'dreaming', reason: 'night' })], [instance()], [])
    expect(serviceCells(row!)[2]).toEqual({
      tags: [
        { text: 'dreaming', tone: 'warn' },
        { text: 'stale', tone: 'bad' },
      ],
      note: 'night',
    })
  })

  test.each([
    ['', true],
    ['  ', true],
    ['mail', true],
    ['MAIL ready', true],
    ['post-1 1.2', true],
    ['n1', true],
    ['mail draining', false],
    ['mail\tready', true],
    ['stale', false],
    ['5000', false],
  ])('are kept by the filter %j: %j', (filter, kept) => {
    expect(serviceMatches(filter, serviceRows([instance()], [], [])[0]!)).toBe(kept)
  })

  test('are kept by what speaks against them', () => {
    const [row] = serviceRows([instance()], [instance()], [node({ flapping: true })])
    expect(serviceMatches('stale flapping', row!)).toBe(true)
  })
})

test('what is here is counted, and not what only stands in', () => {
  const states = ['ready', 'ready', 'draining'].map((state, n) => instance({ id: `${n}`, state }))
  const gone = instance({ id: 'gone', name: 'Gone', node: 'n2' })
  const nodes = [node(), node({ id: 'n2', status: 'down' }), node({ id: 'n3', flapping: true })]
  expect(countsOf(serviceRows(states, [gone], nodes), nodes)).toEqual({
    services: 1,
    ready: 2,
    notReady: 1,
    up: 2,
    doubted: 1,
    down: 1,
  })
})

describe('nodes', () => {
  test('say how they are, and who they are in full', () => {
    const tags = (fields: Parameters<typeof node>[0]) => nodeCells(node(fields))[1]
    expect(tags({})).toEqual({ tags: [{ text: 'up', tone: 'good' }] })
    expect(tags({ suspect: 'unreachable', flapping: true })?.tags?.map(({ text }) => text)).toEqual([
      'up',
      'unreachable',
      'flapping',
    ])
    expect(tags({ status: 'down', reason: 'refused', flapping: true })).toEqual({
      tags: [{ text: 'down', tone: 'bad' }],
      note: 'refused',
    })
    expect(nodeCells(node({ name: '', id: '12D3KooWabcdefgh' }))[0]).toEqual({
      text: '…abcdefgh',
      note: '12D3KooWabcdefgh',
    })
  })

  test('say when they were last heard', () => {
    expect(nodeCells(node({ silentMs: 4_200 }))[2]?.text).toBe('4.2 s ago')
    expect(nodeCells(node({ self: true }))[2]?.text).toBe('this node')
  })

  test('show each address on a line, without their id', () => {
    const addresses = ['/ip4/1.2.3.4/tcp/1/p2p/n1', '/memory/a']
    expect(nodeCells(node({ addresses }))[5]?.text).toBe('/ip4/1.2.3.4/tcp/1\n/memory/a')
  })

  test('are doubted while they are up', () => {
    expect(isDoubted(node({ suspect: 'unanswered' }))).toBe(true)
    expect(isDoubted(node({ flapping: true }))).toBe(true)
    expect(isDoubted(node({ flapping: true, status: 'down' }))).toBe(false)
    expect(isDoubted(node())).toBe(false)
  })

  test('are found by their name when nobody shares it, else by their id', () => {
    const [a, b, c] = [
      node({ id: '1', name: 'x' }),
      node({ id: '2', name: 'x' }),
      node({ id: '3', name: 'y' }),
    ]
    expect(nodeKey(a, [a, b, c])).toBe('1')
    expect(nodeKey(c, [a, b, c])).toBe('y')
    expect(nodeKey(node({ id: '4', name: '' }), [])).toBe('4')
  })
})

describe('time', () => {
  test('a moment is written for the eye, and no moment not at all', () => {
    expect(dayAndTime(new Date(2026, 2, 1, 4, 5, 9).getTime())).toBe('2026-03-01 04:05:09')
    expect([0, -1, NaN, Number.MAX_SAFE_INTEGER].map(dayAndTime)).toEqual(['', '', '', ''])
  })

  test.each([
    [400, '0.4 s'],
    [12_400, '12 s'],
    [180_000, '3 min'],
    [7_200_000, '2 h'],
    [432_000_000, '5 d'],
  ])('%d ms are %s', (ms, said) => {
    expect(span(ms)).toBe(said)
  })
})
