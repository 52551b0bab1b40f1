import { expect, test } from 'vitest'
import { printEvent } from '../../src/cli/event-line.ts'

const AT = Date.UTC(2026, 0, 31, 13, 5, 0)
const instance = { name: 'Orders', version: '1.2.0', node: 'n1', nodeName: 'billing-1', state: 'ready' }
const node = { id: 'n1', name: 'billing-1', status: 'up' }

const print = (event: string, data: Record<string, unknown>, colours = false): string =>
  printEvent({ event, at: AT, data }, colours)

test.each([
  ['service_up', { instance }, 'Orders 1.2.0 on billing-1, ready'],
  ['service_up', { instance: { ...instance, nodeName: '' } }, 'Orders 1.2.0 on n1, ready'],
  ['service_down', { instance, reason: 'refused' }, 'Orders 1.2.0 on billing-1, ready, refused'],
  [
    'service_changed',
    { instance: { ...instance, state: 'draining' }, previous: instance },
    'Orders 1.2.0 on billing-1, draining, was ready',
  ],
  ['service_stale', { name: 'Orders' }, 'Orders'],
  ['degraded', { reason: 'isolated' }, 'isolated'],
  ['node_down', { node, reason: 'silent' }, 'billing-1 (n1), silent'],
  ['name_conflict', { older: node, newer: { ...node, id: 'n2' } }, 'billing-1 (n1), billing-1 (n2)'],
  ['isolated', { silent: 3, known: 4 }, 'silent 3, known 4'],
  ['problem', { where: '10.0.0.7:80', error: { code: 'C', message: 'm' } }, '10.0.0.7:80, m (C)'],
  ['of_later', { thing: { a: 1 }, list: [2] }, 'thing {"a":1}, list [2]'],
])('%s', (event, data, text) => {
  expect(print(event, data)).toBe(`2026-01-31 13:05:00Z  ${event.padEnd(16)}  ${text}`)
})

test('C44: hostile names are shown escaped', () => {
  const hostile = { ...instance, name: '\x1b[2J', nodeName: 'a\u202eb' }
  expect(print('service_up', { instance: hostile })).toMatch(
    / {2}\\u\{1b\}\[2J 1\.2\.0 on a\\u\{202e\}b, ready$/,
  )
  expect(print('__proto__', {}, true)).toContain('\x1b[33m__proto__')
})

test('in colours, good news is green, bad news red, and the rest yellow', () => {
  const colourOf = (event: string): string | undefined => /\[(\d+)m/.exec(print(event, {}, true))?.[1]
  expect([colourOf('service_up'), colourOf('node_down'), colourOf('service_changed')]).toEqual([
    '32',
    '31',
    '33',
  ])
  expect(print('service_up', {})).not.toContain('\x1b')
})
