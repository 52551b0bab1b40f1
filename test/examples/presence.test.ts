import { expect, test } from 'vitest'
import { LINGER_MS, Run } from './run.ts'

test('presence: one server sees who comes and goes on all of them', { timeout: 30_000 }, async () => {
  const presence = new Run('presence.ts')
  const { code, lingeredMs } = await presence.end()
  expect(code, presence.lines.join('\n')).toBe(0)
  const { lines } = presence
  // Of two servers, or of one that says two things at once, what comes first is chance; so each part is sorted.
  const parts = [lines.slice(0, 4), [lines[4]], lines.slice(5, 7), lines.slice(7, 9), lines.slice(9)]
  expect(parts.map((part) => part.toSorted())).toEqual([
    [
      'kitchen  + ada, {"status":"here"}',
      'lobby    + ada, {"status":"here"}',
      'lobby    + grace, {"status":"here"}',
      'lobby    + linus, {"status":"here"}',
    ],
    ['In the lobby: ada, grace, linus. In the kitchen: ada.'],
    ['lobby    - grace', 'lobby    ~ ada, {"status":"away"}'],
    ['kitchen  - ada', 'lobby    - ada'],
    ['lobby    - linus, the server left'],
  ])
  // C65: nothing keeps a process alive that has closed its nodes.
  expect(lingeredMs).toBeLessThan(LINGER_MS)
})
