import { expect, test } from 'vitest'
import { createTracker, type CreateTrackerOptions } from '../../src/create.ts'
import { StubTransport } from '../tracker/stub-transport.ts'

test.each<[string, CreateTrackerOptions]>([
  ['downPeriodMs must be at least 2 broadcastPeriodMs, not 150', { profile: 'local', downPeriodMs: 150 }],
  [
    'downPeriodMs must be at least 2 broadcastPeriodMs, not 40000',
    { profile: 'wan', broadcastPeriodMs: 30_000 },
  ],
  ['permdownPeriodMs must be above downPeriodMs, not 60000', { profile: 'local', downPeriodMs: 60_000 }],
])('relations are checked on what an option and the profile give together: %s', async (message, options) => {
  await expect(createTracker({ transport: new StubTransport(), ...options })).rejects.toMatchObject({
    code: 'ROLLCALL_INVALID_OPTION',
    message,
  })
  const tracker = await createTracker({ transport: new StubTransport(), profile: options.profile })
  await tracker.close()
})
