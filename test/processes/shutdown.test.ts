import { expect, test } from 'vitest'
import { cluster, LINES, PERIOD_MS, SLACK_MS, useProcesses } from './cluster.ts'
import { monotonicNow } from './served.ts'

useProcesses()

const [{ lines }] = LINES
const GRACE_MS = 10_000
const CALL_MS = 1_000

/** Two, of which the first has been asked to end by its SIGTERM handler of ours. */
async function ending(callMs: number, { alsoListens = false } = {}) {
  const [leaving, observer] = await cluster(2, lines)
  const { child } = leaving!
  await child.ask('shutDownOnTerm', { graceMs: GRACE_MS, callMs })
  if (alsoListens) await child.ask('listenForTerm')
  const isOf = ({ node }: { node?: string | undefined }): boolean => node === leaving!.id
  const at = child.signal('SIGTERM')
  const draining = await observer!.child.seen('service_changed', isOf)
  expect(draining.at - at).toBeLessThan(PERIOD_MS + SLACK_MS)
  return { child, observer: observer!.child, at, isOf }
}

test('C50 C51: at SIGTERM all is told to be draining, the last call ends, then it is gone and so is the process', async () => {
  const { child, observer, at, isOf } = await ending(CALL_MS)
  const down = await observer.seen('service_down', isOf)
  expect(down.reason).toBe('drained')
  expect(down.at - at).toBeGreaterThan(CALL_MS)
  expect((await observer.seen('node_down', isOf)).reason).toBe('left')
  const end = await child.ended
  expect(end).toMatchObject({ code: null, signal: 'SIGTERM' })
  expect(end.at - at).toBeLessThan(GRACE_MS)
})

test('where the host listens for the signal as well, the end of the process is its own', async () => {
  const { child, observer, isOf } = await ending(0, { alsoListens: true })
  await child.seen('terminated')
  expect((await observer.seen('node_down', isOf)).reason).toBe('left')
  expect(await child.ended).toMatchObject({ code: 0, signal: null })
})

test('a second SIGTERM is not waited out', async () => {
  const { child, observer, isOf } = await ending(GRACE_MS)
  const at = monotonicNow()
  child.signal('SIGTERM')
  expect(await child.ended).toMatchObject({ code: null, signal: 'SIGTERM' })
  expect(monotonicNow() - at).toBeLessThan(CALL_MS)
  expect((await observer.seen('service_down', isOf)).reason).toBe('refused')
})
