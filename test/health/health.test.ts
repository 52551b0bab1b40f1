import { describe, expect, test } from 'vitest'
import type { Check, HealthReport, ProbeRun } from '../../src/health/types.ts'
import { codeOf } from '../wire/codes.ts'
import { nextUncaught } from '../tracker/uncaught.ts'
import { chance, scripted, ward } from './ward.ts'

const PERIOD = { periodMs: 1_000, jitter: 0 } as const

/** Checks that a test sets well or unwell, with periods of a second from 100 ms on. */
function clinic(fields: ('startup' | 'liveness' | 'readiness')[], reentryMs = 0, draws = [0.5]) {
  const well = { startup: true as unknown, liveness: true as unknown, readiness: true as unknown }
  const calls: string[] = []
  const checkOf =
    (name: keyof typeof well): Check =>
    () => {
      calls.push(`${at.clock.now()} ${name}`)
      return well[name]
    }
  const options = fields.map((name) => [
    name,
    { ...PERIOD, initialDelayMs: 100, fall: 3, check: checkOf(name) },
  ])
  const at = ward({ ...(Object.fromEntries(options) as object), reentryMs }, { random: chance(...draws) })
  return { ...at, well, calls }
}

describe('at the beginning', () => {
  test('without a startup and a readiness probe it is ready, and nobody is told', async () => {
    const { clock, health, told } = clinic(['liveness'])
    expect(health.report).toEqual({ state: 'ready', reason: 'passing', capabilities: {} })
    health.start()
    await clock.advance(10_000)
    expect(told).toEqual([])
  })

  test('with either it is starting, and nothing runs before start', async () => {
    for (const probe of ['startup', 'readiness'] as const) {
      const { clock, health, calls } = clinic([probe])
      expect(health.report).toEqual({ state: 'starting', reason: 'starting', capabilities: {} })
      await clock.advance(60_000)
      expect(calls).toEqual([])
      health.start()
      health.start()
      await clock.advance(100)
      expect(calls).toEqual([`60100 ${probe}`])
    }
  })

  test('once startup has passed, without a readiness probe, it is ready', async () => {
    const { clock, health, told, well } = clinic(['startup'])
    well.startup = false
    health.start()
    await clock.advance(2_000)
    expect(told).toEqual([])
    well.startup = true
    await clock.advance(60_000)
    expect(told).toEqual(['2100 ready passing'])
  })

  test('nothing else is probed before startup has passed, and startup is not probed after', async () => {
    const { clock, health, calls, well } = clinic(['startup', 'liveness', 'readiness'])
    well.startup = false
    health.start()
    await clock.advance(1_200)
    well.startup = true
    await clock.advance(2_000)
    expect(calls).toEqual([
      '100 startup',
      '1100 startup',
      '2100 startup',
      '2200 liveness',
      '2200 readiness',
      '3200 liveness',
      '3200 readiness',
    ])
  })

  test('startup that fails often enough ends it', async () => {
    const { clock, health, told, well, calls } = clinic(['startup', 'liveness'])
    well.startup = false
    health.start()
    await clock.advance(2_099)
    expect(told).toEqual([])
    await clock.advance(1)
    expect(told).toEqual(['2100 gone by startup probe-failed'])
    expect(health.report).toMatchObject({ state: 'gone', reason: 'probe-failed' })
    expect(clock.pending).toBe(0)
    await clock.advance(60_000)
    expect(calls).toHaveLength(3)
  })

  test('by default startup may fail for five minutes', async () => {
    const { clock, health, told } = ward({ startup: () => false })
    health.start()
    await clock.advance(29 * 10_000 - 1)
    expect(told).toEqual([])
    await clock.advance(1)
    expect(told).toEqual(['290000 gone by startup probe-failed'])
  })
})

describe('readiness', () => {
  test('C54: it is starting until readiness has passed often enough, however often it fails before', async () => {
    const { clock, health, told } = ward((clock) => {
      const answers = 'ffffffpfpp'
      return {
        readiness: { ...PERIOD, rise: 2, fall: 3, check: () => answers[clock.now() / 1_000] === 'p' },
      }
    })
    health.start()
    await clock.advance(8_999)
    expect(health.report.state).toBe('starting')
    expect(told).toEqual([])
    await clock.advance(1)
    expect(told).toEqual(['9000 ready passing'])
  })

  test('C55: the state follows the probe, with its reason', async () => {
    const { clock, health, told, well } = clinic(['readiness'])
    health.start()
    await clock.advance(500)
    well.readiness = false
    await clock.advance(3_000)
    well.readiness = true
    await clock.advance(1_000)
    well.readiness = new Promise(() => undefined)
    await clock.advance(10_000)
    expect(told).toEqual([
      '100 ready passing',
      '3100 unready probe-failed',
      '4100 ready passing',
      // A run started at 5,100; it and the two that waited for its check each had a second.
      '8100 unready probe-timeout',
    ])
  })

  test('C53: failures that do not come in a row change nothing', async () => {
    const { clock, health, told, well } = clinic(['readiness'])
    health.start()
    await clock.advance(500)
    for (let n = 0; n < 50; n++) {
      well.readiness = n % 3 === 2
      await clock.advance(1_000)
    }
    expect(told).toEqual(['100 ready passing'])
  })
})

describe('re-entry', () => {
  /** Unready since 3,100 ms; passes again at 4,100. */
  async function recovering(reentryMs: number, draw: number) {
    const at = clinic(['readiness'], reentryMs, [0.5, 0.5, 0.5, 0.5, 0.5, draw, 0.5])
    at.health.start()
    await at.clock.advance(500)
    at.well.readiness = false
    await at.clock.advance(3_000)
    at.well.readiness = true
    await at.clock.advance(600)
    at.told.length = 0
    return at
  }

  test('an unready instance is ready a random part of the bound after its probe passes', async () => {
    const { clock, health, told } = await recovering(800, 0.75)
    expect(health.report).toMatchObject({ state: 'unready', reason: 'recovering' })
    await clock.advance(599)
    expect(health.report.state).toBe('unready')
    await clock.advance(1)
    expect(told).toEqual(['4700 ready passing'])
  })

  test('the first time it is ready without delay', async () => {
    const { clock, health, told } = clinic(['readiness'], 800, [0.75])
    health.start()
    await clock.advance(100)
    expect(told).toEqual(['100 ready passing'])
  })

  test('a bound of 0 is no delay', async () => {
    const { clock, told } = await recovering(0, 0.75)
    expect(told).toEqual([])
    expect(clock.pending).toBe(1)
  })

  test('a failure during the delay cancels it', async () => {
    const { clock, health, told, well } = await recovering(10_000, 0.9)
    well.readiness = false
    await clock.advance(3_000)
    expect(told).toEqual(['7100 unready probe-failed'])
    expect(clock.pending).toBe(1)
    await clock.advance(60_000)
    expect(told).toHaveLength(1)
    expect(health.report.state).toBe('unready')
  })

  test.each([
    ['drain', 'draining'],
    ['stop', 'gone'],
  ] as const)('%s during the delay cancels it', async (end, state) => {
    const { clock, health } = await recovering(10_000, 0.9)
    health[end]()
    expect(clock.pending).toBe(0)
    await clock.advance(60_000)
    expect(health.report.state).toBe(state)
  })
})

describe('liveness', () => {
  test('failing often enough it ends the instance, once, with the run that was the last straw', async () => {
    const ends: ProbeRun[] = []
    const error = new Error('deadlock')
    const { clock, health, told } = ward(
      {
        liveness: {
          ...PERIOD,
          check: () => {
            throw error
          },
        },
        readiness: { ...PERIOD, check: () => true },
      },
      { gone: (run) => ends.push(run) },
    )
    health.start()
    await clock.advance(1_999)
    expect(ends).toEqual([])
    await clock.advance(60_000)
    expect(ends).toEqual([{ probe: 'liveness', result: 'probe-failed', error, tookMs: 0 }])
    expect(health.report).toMatchObject({ state: 'gone', reason: 'probe-failed' })
    expect(told).toEqual(['0 ready passing'])
    expect(clock.pending).toBe(0)
  })

  test('a timeout is told as one', async () => {
    const { clock, health, told } = ward({
      liveness: { ...PERIOD, timeoutMs: 300, check: () => new Promise(() => undefined) },
    })
    health.start()
    await clock.advance(2_300)
    expect(told).toEqual(['2300 gone by liveness probe-timeout'])
  })
})

describe('capabilities', () => {
  test('each has a state by its own probe, and the instance another', async () => {
    const reports: HealthReport[] = []
    const { clock, health } = ward(
      (clock) => ({
        readiness: { ...PERIOD, check: () => true },
        capabilities: {
          read: { ...PERIOD, initialDelayMs: 100, check: () => true },
          write: { ...PERIOD, initialDelayMs: 200, fall: 2, check: () => clock.now() < 1_000 },
        },
      }),
      { changed: (report) => reports.push(report) },
    )
    expect(health.report.capabilities).toEqual({ read: 'unready', write: 'unready' })
    health.start()
    await clock.advance(2_199)
    const ready = { state: 'ready', reason: 'passing' }
    expect(reports).toEqual([
      { ...ready, capabilities: { read: 'unready', write: 'unready' } },
      { ...ready, capabilities: { read: 'ready', write: 'unready' } },
      { ...ready, capabilities: { read: 'ready', write: 'ready' } },
    ])
    await clock.advance(60_000)
    expect(reports.slice(3)).toEqual([{ ...ready, capabilities: { read: 'ready', write: 'unready' } }])
    expect(reports.every(Object.isFrozen)).toBe(true)
    expect(reports.every(({ capabilities }) => Object.isFrozen(capabilities))).toBe(true)
  })

  test('they wait for startup', async () => {
    const { clock, health, runs } = ward((clock) => ({
      startup: { ...PERIOD, check: () => clock.now() >= 2_000 },
      capabilities: { write: { ...PERIOD, check: () => true } },
    }))
    health.start()
    await clock.advance(2_999)
    expect(runs).toEqual([
      '0 startup probe-failed 0',
      '1000 startup probe-failed 0',
      '2000 startup passed 0',
      '2000 capabilities.write passed 0',
    ])
  })
})

describe('by hand', () => {
  test('a hold stays over the probes until it is released; then what they said meanwhile holds', async () => {
    const { clock, health, told, well } = clinic(['readiness'])
    health.start()
    await clock.advance(500)
    health.hold('unready', 'disk is swapped')
    expect(health.held).toEqual({ state: 'unready', reason: 'disk is swapped' })
    well.readiness = false
    await clock.advance(5_000)
    well.readiness = true
    await clock.advance(5_000)
    expect(told).toEqual(['100 ready passing', '500 unready by-hand'])
    health.release()
    expect(told.slice(2)).toEqual(['10500 ready passing'])
    expect(health.held).toBeUndefined()

    health.hold('ready')
    well.readiness = false
    await clock.advance(5_000)
    health.release()
    expect(told.slice(3)).toEqual(['10500 ready by-hand', '15500 unready probe-failed'])
  })

  test('it can be held before it has started', async () => {
    const { clock, health, told } = clinic(['startup'])
    health.hold('unready')
    health.start()
    await clock.advance(5_000)
    expect(told).toEqual(['0 unready by-hand'])
    health.release()
    expect(told.slice(1)).toEqual(['5000 ready passing'])
  })

  test('a hold keeps nobody alive', async () => {
    const { clock, health, told, well } = clinic(['liveness'])
    health.start()
    health.hold('ready')
    well.liveness = false
    await clock.advance(5_000)
    expect(told).toEqual(['0 ready by-hand', '2100 gone by liveness probe-failed'])
    expect(health.held).toBeUndefined()
  })

  test('released without a hold, or held again as it is, nobody is told', () => {
    const { health, told } = clinic([])
    health.release()
    health.hold('unready', 'one')
    health.hold('unready', 'two')
    expect(told).toEqual(['0 unready by-hand'])
    expect(health.held?.reason).toBe('two')
  })

  test('held in the other state, that is told', () => {
    const { health, told } = clinic([])
    health.hold('ready')
    health.hold('unready')
    expect(told).toEqual(['0 ready by-hand', '0 unready by-hand'])
  })

  test('only ready and unready can be held, for a reason in words', () => {
    const { health } = clinic([])
    for (const state of ['starting', 'draining', 'gone', 'x', undefined]) {
      expect(codeOf(() => health.hold(state as 'ready'))).toBe('ROLLCALL_INVALID_ARGUMENT')
    }
    expect(codeOf(() => health.hold('ready', 5 as unknown as string))).toBe('ROLLCALL_INVALID_ARGUMENT')
    expect(health.held).toBeUndefined()
  })
})

describe('the end', () => {
  test('draining is one way, ends all probing, and goes over a hold', async () => {
    const { clock, health, told, calls } = clinic(['liveness', 'readiness'])
    health.start()
    await clock.advance(500)
    health.hold('unready')
    health.drain()
    expect(clock.pending).toBe(0)
    health.hold('ready')
    health.release()
    health.drain()
    await clock.advance(60_000)
    expect(told).toEqual(['100 ready passing', '500 unready by-hand', '500 draining draining'])
    expect(calls).toHaveLength(2)
    health.stop()
    expect(health.report).toMatchObject({ state: 'gone', reason: 'ended' })
  })

  test.each(['drain', 'stop'] as const)('after %s, start does nothing', async (end) => {
    const { clock, health, calls } = clinic(['startup', 'liveness', 'readiness'])
    health[end]()
    health.start()
    await clock.advance(60_000)
    expect(calls).toEqual([])
  })

  test('stopped, it aborts what runs, leaves no timer, and tells nobody', async () => {
    const signals: AbortSignal[] = []
    const hang: Check = (signal) => {
      signals.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    }
    const probe = { ...PERIOD, timeoutMs: 900, check: hang }
    const { clock, health, told, runs } = ward({
      liveness: probe,
      readiness: probe,
      capabilities: { read: probe },
    })
    health.start()
    await clock.advance(500)
    health.stop()
    health.stop()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
    expect(clock.pending).toBe(0)
    await clock.advance(60_000)
    expect([told, runs]).toEqual([[], []])
    expect(health.report).toMatchObject({ state: 'gone', reason: 'ended' })
    health.hold('ready')
    health.release()
    health.drain()
    expect(health.report.state).toBe('gone')
  })
})

describe('what it tells', () => {
  test('every run, with its time and its error, before what follows; and the report agrees already', async () => {
    const log: unknown[] = []
    const error = new Error('no disk')
    const made = ward(
      (clock) => ({
        readiness: {
          ...PERIOD,
          check: () =>
            new Promise((resolve, reject) => {
              clock.time.setTimer(() => (clock.now() < 1_000 ? resolve(true) : reject(error)), 40)
            }),
          fall: 1,
        },
      }),
      {
        probed: (run) => log.push([run, made.health.report.state]),
        changed: ({ state }) => log.push(state),
      },
    )
    made.health.start()
    await made.clock.advance(1_500)
    const run = { probe: 'readiness', tookMs: 40 }
    expect(log).toEqual([
      [{ ...run, result: 'passed', error: undefined }, 'ready'],
      'ready',
      [{ ...run, result: 'probe-failed', error }, 'unready'],
      'unready',
    ])
  })

  test('stopped by what it tells, it tells no more', async () => {
    const told: string[] = []
    const made = ward(
      { liveness: { ...PERIOD, fall: 1, check: () => false } },
      {
        probed: ({ probe }) => {
          told.push(probe)
          made.health.stop()
        },
        gone: () => told.push('gone'),
      },
    )
    made.health.start()
    await made.clock.advance(60_000)
    expect(told).toEqual(['liveness'])
    expect(made.clock.pending).toBe(0)
  })

  test('held by what it tells, each report is told once, the latest last', async () => {
    const told: string[] = []
    const made = ward(
      { readiness: { ...PERIOD, check: () => true } },
      {
        probed: () => made.health.hold('unready'),
        changed: ({ state, reason }) => told.push(`${state} ${reason}`),
      },
    )
    made.health.start()
    await made.clock.advance(0)
    expect(told).toEqual(['unready by-hand'])
  })

  test('an end is told, whatever is done when its run is told', async () => {
    const made = ward(
      { liveness: { ...PERIOD, fall: 1, check: () => false } },
      {
        probed: () => {
          made.health.hold('unready')
          made.health.release()
          made.health.drain()
        },
      },
    )
    made.health.start()
    await made.clock.advance(0)
    expect(made.told).toEqual(['0 gone by liveness probe-failed'])
  })

  test('a listener that throws surfaces, and the probes go on', async () => {
    const error = new Error('listener')
    const script = { calls: 0 }
    const { clock, health, told } = ward(
      {
        readiness: {
          ...PERIOD,
          check: () => {
            script.calls++
          },
        },
      },
      {
        probed: () => {
          if (script.calls === 1) throw error
        },
      },
    )
    const uncaught = nextUncaught()
    health.start()
    await clock.advance(1_000)
    expect(await uncaught).toBe(error)
    expect(told).toEqual(['0 ready passing'])
    expect(script.calls).toBe(2)
  })

  test('the same check may serve two probes', async () => {
    const { clock, health, told } = ward((clock) => {
      const { check } = scripted(clock)
      return { startup: check, readiness: check, liveness: check }
    })
    health.start()
    await clock.advance(60_000)
    expect(told).toEqual(['0 ready passing'])
  })
})
