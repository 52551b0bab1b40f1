import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { printSnapshot, viewAnswer, viewNodes, viewServices } from '../../src/console/views.ts'
import type { Registry } from '../../src/registry/registry.ts'
import type { Instance } from '../../src/registry/types.ts'

const instance = (fields: Partial<Instance>): Instance =>
  ({
    name: 'Orders',
    version: '1.2.0',
    node: 'n1',
    nodeName: 'billing-1',
    state: 'ready',
    since: 0,
    ...fields,
  }) as Instance

const lines = (value: unknown): string[] => inspect(value).split('\n')

test('services: name, version, node, address, state, since, within the width, and as data', () => {
  const long = instance({
    node: '12D3KooW'.padEnd(52, 'x'),
    nodeName: '',
    address: `http://${'h'.repeat(80)}`,
    since: 1e12,
  })
  const [head, first, second] = lines(viewServices([instance({}), long], 100))
  expect(head).toMatch(/^name +version +node +address +state +since$/)
  expect(first).toMatch(/^Orders +1\.2\.0 +billing-1 +ready$/)
  expect(second).toMatch(/^Orders +1\.2\.0 +12D3KooWx+… +http:\/\/h+… +ready +2001-09-09 01:46:40Z$/)
  expect(second).toHaveLength(100)
  expect(viewServices([long], 100)[0]).toBe(long)
})

test.each([Number.NaN, Infinity, 8.65e15, -1, 0])('a time that is none is left out: %d', (since) => {
  expect(lines(viewServices([instance({ since })], 100))).toEqual([
    'name    version  node       state',
    'Orders  1.2.0    billing-1  ready',
  ])
})

test('C44: hostile names and addresses are shown escaped', () => {
  const hostile = instance({ name: '__proto__', nodeName: '\x1b]0;owned\x07', address: 'a\u202eb' })
  expect(lines(viewServices([hostile], 100))[1]).toBe(
    '__proto__  1.2.0    \\u{1b}]0;owned\\u{7}  a\\u{202e}b  ready',
  )
  const snapshot = {
    service: 'X\x1b',
    epoch: 'e',
    revision: 3,
    instances: [hostile],
    stale: false,
    degraded: false,
    reset: false,
  }
  expect(printSnapshot(snapshot)).toBe('X\\u{1b} at revision 3: 1.2.0 on \\u{1b}]0;owned\\u{7}')
})

test('an answer that may be old says so', () => {
  const answer = { ok: true, service: instance({}), stale: true, degraded: true } as const
  expect(lines(viewAnswer(answer, 100))[1]).toBe('Orders  1.2.0    billing-1  ready (stale) (degraded)')
  expect(viewAnswer(answer, 100)).toEqual(answer)
  expect(inspect(viewAnswer({ ok: false, error: 'noversion', degraded: true }, 100))).toBe(
    '(noversion) (degraded)',
  )
  const snapshot = {
    service: 'X',
    epoch: 'e',
    revision: 3,
    instances: [],
    stale: true,
    degraded: false,
    reset: false,
  }
  expect(printSnapshot(snapshot)).toBe('X at revision 3: nobody (stale)')
})

test('nodes: whether they are up, and why not', () => {
  const node = { id: 'n1', name: 'a', self: false, status: 'up', addresses: [], entries: 2, silentMs: 1_240 }
  const nodes = [
    { ...node, self: true },
    { ...node, flapping: true },
    { ...node, suspect: 'unanswered' },
    { ...node, status: 'down', reason: 'refused' },
  ] as unknown as ReturnType<Registry['nodes']>
  expect(lines(viewNodes(nodes, 100))).toEqual([
    'name  node  status          doubt       entries  silent',
    'a     n1    here                        2        1.2 s',
    'a     n1    up              flapping    2        1.2 s',
    'a     n1    up              unanswered  2        1.2 s',
    'a     n1    down (refused)              2        1.2 s',
  ])
})
