import { expect, test } from 'vitest'
import { rollingRestarts } from './rolling.ts'

const ROUNDS = 10

test(
  'C51: three servers are restarted in turn, ten times, under load: not one request fails',
  { timeout: 180_000 },
  async () => {
    const { requests, failures, answered, restarts } = await rollingRestarts(ROUNDS)
    expect(failures).toEqual([])
    expect(restarts).toBe(3 * ROUNDS)
    expect(answered).toBe(3 + restarts)
    expect(requests).toBeGreaterThan(10 * restarts)
  },
)
