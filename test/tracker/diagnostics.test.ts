import { expect, test } from 'vitest'
import { createTracker } from '../../src/tracker/tracker.ts'
import { lone, StubTransport } from './stub-transport.ts'

test('dials: as the transport tells them, in what JSON can say; none when it does not tell', async () => {
  const dial = (nextInMs: number, lastFailure?: string) => ({
    where: 'x',
    failures: 3,
    nextInMs,
    lastFailure,
  })
  const transport = Object.assign(new StubTransport(), {
    dials: () => [dial(12.345, 'refused'), dial(-3), dial(Infinity), dial(NaN)],
  })
  const tracker = await createTracker({ transport })
  expect(tracker.diagnostics().dials).toEqual([
    { where: 'x', failures: 3, nextInMs: 12.3, lastFailure: 'refused' },
    { where: 'x', failures: 3, nextInMs: 0, lastFailure: null },
    { where: 'x', failures: 3, nextInMs: null, lastFailure: null },
    { where: 'x', failures: 3, nextInMs: null, lastFailure: null },
  ])
  await tracker.close()
  expect((await lone()).tracker.diagnostics().dials).toEqual([])
})
