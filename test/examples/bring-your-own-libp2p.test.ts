import { expect, test } from 'vitest'
import { LINGER_MS, Run } from './run.ts'

test('a registry runs on a libp2p node that the caller builds', { timeout: 30_000 }, async () => {
  const example = new Run('bring-your-own-libp2p.ts')
  const { code, lingeredMs } = await example.end()
  expect(example.lines).toEqual(['Billing 1.0.0 is on provider, at http://127.0.0.1:8080'])
  expect(code).toBe(0)
  // C65: nothing keeps a process alive that has closed its nodes.
  expect(lingeredMs).toBeLessThan(LINGER_MS)
})
