import { describe, expect, test } from 'vitest'
import {
  HEALTH_DEFAULTS,
  PROBE_DEFAULTS,
  resolveHealthOptions,
  STARTUP_DEFAULTS,
} from '../../src/health/options.ts'

const check = (): boolean => true
const resolve = (options: object) => resolveHealthOptions(options)
const MAX_TIMER_MS = 2 ** 31 - 1

test('a probe may be its check alone; an option given as undefined is one that was not given', () => {
  const whole = { check, ...PROBE_DEFAULTS }
  expect(resolve({ liveness: check }).liveness).toEqual(whole)
  expect(resolve({ readiness: { check, fall: undefined, rise: 2 } }).readiness).toEqual({ ...whole, rise: 2 })
  expect(resolve({})).toEqual({
    startup: undefined,
    liveness: undefined,
    readiness: undefined,
    capabilities: new Map(),
    ...HEALTH_DEFAULTS,
  })
})

test('the defaults: those of Kubernetes, and five minutes to start', () => {
  expect(PROBE_DEFAULTS).toEqual({
    periodMs: 10_000,
    timeoutMs: 1_000,
    rise: 1,
    fall: 3,
    initialDelayMs: 0,
    jitter: 0.1,
  })
  expect(resolve({ startup: check }).startup).toEqual({ check, ...PROBE_DEFAULTS, fall: 30 })
  expect(STARTUP_DEFAULTS.fall * STARTUP_DEFAULTS.periodMs).toBe(300_000)
})

test('a timeout may be longer than the period', () => {
  expect(resolve({ liveness: { check, periodMs: 10, timeoutMs: 20 } }).liveness?.timeoutMs).toBe(20)
})

test('C44: a capability may be named like a part of every object', () => {
  const capabilities = Object.fromEntries([['__proto__', check]])
  expect([...resolve({ capabilities }).capabilities.keys()]).toEqual(['__proto__'])
})

const PERIOD = `must be a number above 0 and at most ${MAX_TIMER_MS}`
const DELAY = `must be a number from 0 to ${MAX_TIMER_MS}`
const COUNT = 'must be a whole number of at least 1'
const NOT_NUMBERS = [null, '5', true, NaN, {}]

describe.each([
  ['periodMs', PERIOD, [0, -1, Infinity, MAX_TIMER_MS + 1], [0.5, MAX_TIMER_MS]],
  ['timeoutMs', PERIOD, [0, -1, Infinity, MAX_TIMER_MS + 1], [0.5, MAX_TIMER_MS]],
  ['rise', COUNT, [0, -1, 1.5, Infinity], [1, 1_000]],
  ['fall', COUNT, [0, -1, 1.5, Infinity], [1, 1_000]],
  ['initialDelayMs', DELAY, [-1, Infinity, MAX_TIMER_MS + 1], [0, MAX_TIMER_MS]],
  ['jitter', 'must be a number of at least 0 and below 1', [-0.1, 1, Infinity], [0, 0.99]],
] as const)('%s', (option, rule, bad, good) => {
  test.each([...bad, ...NOT_NUMBERS])('must not be %s', (value) => {
    expect(() => resolve({ readiness: { check, [option]: value } })).toThrow(
      expect.objectContaining({
        code: 'ROLLCALL_INVALID_ARGUMENT',
        message: expect.stringMatching(
          new RegExp(`^The option readiness\\.${option} is .*: ${rule}$`),
        ) as string,
      }),
    )
  })
  test.each(good)('may be %s', (value) => {
    expect(resolve({ readiness: { check, [option]: value } }).readiness?.[option]).toBe(value)
  })
})

test.each([
  [null, 'The health is null: must be an object'],
  [{ livenes: check }, 'The health has an unknown field "livenes"'],
  [{ liveness: null }, 'The option liveness is null: must be an object'],
  [{ liveness: {} }, 'The option liveness.check is undefined: must be a function'],
  [{ startup: { check, retries: 3 } }, 'The option startup has an unknown field "retries"'],
  [{ reentryMs: -1 }, `The option reentryMs is -1: ${DELAY}`],
  [{ reentryMs: '1' }, `The option reentryMs is "1": ${DELAY}`],
  [{ capabilities: [] }, 'The option capabilities is an array: must be an object of names and probes'],
  [{ capabilities: null }, 'The option capabilities is null: must be an object of names and probes'],
  [{ capabilities: { write: { check, fall: 0 } } }, `The option capabilities."write".fall is 0: ${COUNT}`],
])('%j is refused: %s', (options, message) => {
  expect(() => resolve(options as object)).toThrow(
    expect.objectContaining({ code: 'ROLLCALL_INVALID_ARGUMENT', message }),
  )
})
