import { expect, test } from 'vitest'
import { namesAt } from '../../src/http/hosts.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

test.each([
  ['127.0.0.1', LOOPBACK],
  ['localhost', LOOPBACK],
  ['::1', LOOPBACK],
  ['127.0.0.2', [...LOOPBACK, '127.0.0.2']],
  ['0.0.0.0', undefined],
  ['::', undefined],
  ['10.0.0.7', undefined],
  ['127.example', undefined],
])('a server that listens on %s is called %o', (host, names) => {
  expect(namesAt(host)).toEqual(names)
})
