import { EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { Monitor, monitorState } from '../../src/tracker/monitor.ts'
import type { MonitorState } from '../../src/tracker/monitor-state.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Collects garbage until a condition holds, or for 5 s. */
async function collectUntil(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000
  while (!condition() && performance.now() < deadline) {
    gc()
    await setImmediate()
  }
}

/** Collects garbage for as long as it takes to finalize what was made before the call. */
async function collectAll(): Promise<void> {
  let finalized = false
  const registry = new FinalizationRegistry(() => {
    finalized = true
  })
  const register = (): void => registry.register({}, undefined)
  register()
  await collectUntil(() => finalized)
  for (let round = 0; round < 3; round++) {
    gc()
    await setImmediate()
  }
}

function warnings(): Error[] {
  const seen: Error[] = []
  const listener = (warning: Error): void => {
    if ((warning as NodeJS.ErrnoException).code === 'ROLLCALL_MONITOR_FORGOTTEN') seen.push(warning)
  }
  process.on('warning', listener)
  onTestFinished(() => void process.off('warning', listener))
  return seen
}

/** Makes a monitor with something tied to it, as a tracker ties entries, and drops the handle. */
function dropped(make: () => Monitor): { readonly state: MonitorState; readonly off: () => void } {
  const state = monitorState(make())
  return { state, off: state.onClose(() => {}) }
}

test('one that is collected while open closes itself and warns once', async () => {
  const seen = warnings()
  const { state } = dropped(() => new Monitor())
  await collectUntil(() => state.closed)
  expect([state.closed, state.reason]).toEqual([true, 'garbage collected'])
  await collectAll()
  expect(seen).toHaveLength(1)
  expect(seen[0]).toMatchObject({ name: 'RollcallWarning' })
})

test('one that is closed, or that nothing is tied to, goes in silence', async () => {
  const seen = warnings()
  dropped(() => new Monitor()).state.close('in time')
  const { state, off } = dropped(() => new Monitor())
  off()
  await collectAll()
  expect(state.closed).toBe(false)
  expect(seen).toEqual([])
})

test('a thing keeps the monitors that follow it', async () => {
  const seen = warnings()
  const emitter = new EventEmitter()
  const controller = new AbortController()
  const source = new Monitor()
  const { state: ofEmitter } = dropped(() => Monitor.of(emitter))
  const { state: bySignal } = dropped(() => new Monitor({ signal: controller.signal }))
  const { state: ofMonitor } = dropped(() => Monitor.of(source))
  const { state: lease } = dropped(() => Monitor.lease(60_000))
  await collectAll()
  expect([ofEmitter, bySignal, ofMonitor, lease].map(({ closed }) => closed)).toEqual([
    false,
    false,
    false,
    false,
  ])
  emitter.emit('close')
  controller.abort('signal')
  source.close('source')
  expect([ofEmitter, bySignal, ofMonitor].map(({ reason }) => reason)).toEqual(['close', 'signal', 'source'])
  lease.close(undefined)
  expect(seen).toEqual([])
})

test('a thing that is collected itself takes the monitors that follow it along', async () => {
  const seen = warnings()
  const states = [
    dropped(() => Monitor.of(new EventEmitter())),
    dropped(() => new Monitor({ signal: new AbortController().signal })),
    dropped(() => Monitor.of(new Monitor())),
  ].map(({ state }) => state)
  await collectUntil(() => states.every(({ closed }) => closed))
  expect(states.map(({ reason }) => reason)).toEqual(Array(3).fill('garbage collected'))
  expect(seen.length).toBeGreaterThan(0)
})
