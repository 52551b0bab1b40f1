import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/**
 * The next error of a kind that surfaces in this process, taken from whoever listens (the test runner would
 * fail the run). Rejects after 5 s.
 */
export async function nextUncaught(
  event: 'uncaughtException' | 'unhandledRejection' = 'uncaughtException',
): Promise<unknown> {
  const others = process.listeners(event as 'uncaughtException')
  process.removeAllListeners(event)
  onTestFinished(() => {
    process.removeAllListeners(event)
    for (const listener of others) process.on(event as 'uncaughtException', listener)
  })
  const [error] = (await once(process, event, { signal: AbortSignal.timeout(5_000) })) as unknown[]
  return error
}
