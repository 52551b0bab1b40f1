import { expect, test } from 'vitest'
import { describeEvent } from '../../../src/http/page/client/describe-event.ts'
import { instance, node } from './made.ts'

const before = instance({ weight: 1, metadata: { a: 1 } })
const after = instance({ state: 'draining', zone: 'eu', weight: 2, metadata: { a: 2 } })

test.each([
  ['service_up', { instance: instance() }, 'good', 'Mail 1.2.0', 'on post-1, ready'],
  ['service_down', { instance: instance(), reason: 'left' }, 'bad', 'Mail 1.2.0', 'on post-1, left'],
  [
    'service_changed',
    { instance: after, previous: before },
    'mild',
    'Mail 1.2.0',
    'on post-1: state ready → draining, weight 1 → 2, metadata, zone none → eu',
  ],
  ['service_stale', { name: 'Mail' }, 'bad', 'Mail', 'is answered by what was'],
  ['degraded', { reason: 'frozen' }, 'warn', '', 'frozen'],
  ['node_up', { node: node() }, 'good', 'post-1', ''],
  ['node_down', { node: node(), reason: 'silent' }, 'bad', 'post-1', 'silent'],
  ['node_suspected', { node: node(), why: 'unanswered' }, 'warn', 'post-1', 'unanswered'],
  ['node_up', { node: node({ id: 'a long id of 12345678', name: '' }) }, 'good', '…12345678', ''],
  ['isolated', { silent: 3, known: 4 }, 'warn', '', '3 of 4 nodes are silent'],
  ['reset', {}, 'mild', '', 'some events may be missing before this one'],
  ['of_a_later_version', { more: true }, 'mild', '', ''],
])('%s in words', (name, payload, tone, who, what) => {
  expect(describeEvent(name, JSON.stringify(payload))).toEqual({ name, tone, who, what })
})

test('C44: a field called __proto__ is a field', () => {
  const now = JSON.parse(
    '{"__proto__": "x", "name": "Mail", "version": "1.0.0", "node": "n", "nodeName": "p"}',
  ) as object
  const was = JSON.parse('{"name": "Mail", "version": "1.0.0", "node": "n", "nodeName": "p"}') as object
  const { who } = describeEvent('service_changed', JSON.stringify({ instance: now, previous: was }))
  expect(who).toBe('Mail 1.0.0')
  expect(({} as Record<string, unknown>)['x']).toBeUndefined()
})
