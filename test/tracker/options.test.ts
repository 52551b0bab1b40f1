import { describe, expect, test } from 'vitest'
import { createTracker as createDefaultTracker, type CreateTrackerOptions } from '../../src/create.ts'
import { RollcallError } from '../../src/errors.ts'
import {
  heartbeatPeriods,
  resolveTrackerOptions,
  TRACKER_DEFAULTS,
  type TrackerOptions,
} from '../../src/tracker/options.ts'
import { createTracker } from '../../src/tracker/tracker.ts'
import { StubTransport } from './stub-transport.ts'

/** What one option must not be, each value with the rule that it breaks, and what it may just be. */
interface Rules {
  readonly bad: readonly (readonly [value: unknown, rule: string])[]
  /** Values at the edge of what is legal, with what else must be set for them. */
  readonly good: readonly (readonly [value: unknown, others?: Partial<TrackerOptions>])[]
}

type Given = Partial<Record<keyof TrackerOptions, unknown>>

const MAX_PERIOD_MS = 2 ** 31 - 1
const WRONG_TYPES: readonly unknown[] = [null, true, '5', 5n, {}, [], [5], () => 5, Symbol('5')]

const breaking = (rule: string, values: readonly unknown[]) =>
  values.map((value): readonly [unknown, string] => [value, rule])

const PERIOD = 'must be a number above 0 and at most 2147483647'
const DAY_MS = 86_400_000
const badPeriods = breaking(PERIOD, [...WRONG_TYPES, NaN, 0, -0, -1, Infinity, MAX_PERIOD_MS + 1])
const badCountsBelow = (least: number) =>
  breaking(`must be a whole number of at least ${least}`, [
    ...WRONG_TYPES,
    NaN,
    0,
    -0,
    -1,
    least - 1,
    least + 0.5,
    Infinity,
    2 ** 53,
  ])
const badCounts = badCountsBelow(1)
const badNames: Rules['bad'] = [
  ...breaking('must be a string', [null, true, 5, 5n, {}, [], () => 5]),
  ['', 'must not be empty'],
  ['a\nb', 'must be well-formed Unicode without control characters'],
  ['\ud800', 'must be well-formed Unicode without control characters'],
  ['ä'.repeat(129), 'must be at most 256 bytes long'],
]

/** A legal thing without one of its methods. */
const without = (whole: object, ...methods: readonly string[]): readonly unknown[] =>
  methods.map((method) =>
    Object.assign(Object.create(whole) as Record<string, unknown>, { [method]: undefined }),
  )

const CLOCK = { now: () => 0, wallNow: () => 0, setTimer: () => ({ cancel: () => undefined }) }
const RANDOM = { next: () => 0.5 }
const TRANSPORT_METHODS = [
  'start',
  'publish',
  'open',
  'neighbours',
  'addresses',
  'learn',
  'forget',
  'examine',
  'hangUp',
  'stop',
]

const RULES: Readonly<Record<keyof TrackerOptions, Rules>> = {
  transport: {
    bad: breaking('must be a Transport', [
      undefined,
      null,
      5,
      'tcp',
      {},
      { id: 5 },
      { id: '' },
      ...without(new StubTransport(), ...TRANSPORT_METHODS),
    ]),
    good: [[new StubTransport()]],
  },
  name: { bad: badNames, good: [['a'], ['__proto__'], ['ä'.repeat(128)]] },
  zone: { bad: badNames, good: [['a'], ['ä'.repeat(128)]] },
  broadcastPeriodMs: {
    // A day is the longest promise of a next beat that peers believe.
    bad: breaking(`must be a number above 0 and at most ${DAY_MS}`, [
      ...WRONG_TYPES,
      NaN,
      0,
      -1,
      Infinity,
      DAY_MS + 1,
    ]),
    good: [[0.5], [15_000], [DAY_MS, { downPeriodMs: 2 * DAY_MS, permdownPeriodMs: MAX_PERIOD_MS }]],
  },
  flush: {
    bad: breaking("must be 'period' or 'eager'", [...WRONG_TYPES, 5, '', 'Eager', 'eager ', ['eager']]),
    good: [['period'], ['eager']],
  },
  flushIntervalMs: { bad: badPeriods, good: [[0.5], [MAX_PERIOD_MS]] },
  maxSilentPeriods: { bad: badCounts, good: [[1], [Number.MAX_SAFE_INTEGER]] },
  downPeriodMs: {
    // O1: at least two periods, or one lost beat would hide a live node.
    bad: [...badPeriods, [2_999, 'must be at least 2 broadcastPeriodMs']],
    good: [[3_000], [MAX_PERIOD_MS - 1, { permdownPeriodMs: MAX_PERIOD_MS }]],
  },
  permdownPeriodMs: {
    // O2
    bad: [...badPeriods, [30_000, 'must be above downPeriodMs'], [29_999, 'must be above downPeriodMs']],
    good: [[30_001], [MAX_PERIOD_MS]],
  },
  probePeriodMs: { bad: badPeriods, good: [[0.5], [MAX_PERIOD_MS]] },
  probeTimeoutMs: { bad: badPeriods, good: [[0.5], [MAX_PERIOD_MS]] },
  flapLimit: { bad: badCounts, good: [[1], [1_000]] },
  flapWindowMs: { bad: badPeriods, good: [[0.5], [MAX_PERIOD_MS]] },
  syncPeriodMs: { bad: badPeriods, good: [[0.5], [MAX_PERIOD_MS]] },
  syncTimeoutMs: { bad: badPeriods, good: [[0.5], [MAX_PERIOD_MS]] },
  maxConcurrentSyncs: { bad: badCounts, good: [[1], [1_000]] },
  leaveTimeoutMs: { bad: badPeriods, good: [[0.5], [MAX_PERIOD_MS]] },
  maxEntriesPerNode: { bad: badCounts, good: [[1], [Number.MAX_SAFE_INTEGER]] },
  maxNodes: { bad: badCounts, good: [[1], [Number.MAX_SAFE_INTEGER]] },
  maxMetaBytes: { bad: badCounts, good: [[1], [1_000_000]] },
  // The topic `$node` and a default name must be legal, and a heartbeat must fit into a message of gossip.
  maxKeyBytes: { bad: badCountsBelow(8), good: [[8], [100_000]] },
  maxFrameBytes: { bad: badCountsBelow(128), good: [[128], [10_000_000]] },
  maxSyncChunkBytes: {
    bad: [
      ...badCounts,
      [17_407, 'must be at least 17408, to hold a write of maxMetaBytes and 2 maxKeyBytes'],
    ],
    good: [[17_408], [10_000_000]],
  },
  maxLogWrites: { bad: badCounts, good: [[1], [1_000_000]] },
  clock: {
    bad: breaking('must be a Clock', [
      null,
      5,
      Date.now,
      {},
      { setTimer: 5 },
      ...without(CLOCK, 'now', 'wallNow', 'setTimer'),
    ]),
    good: [[CLOCK]],
  },
  random: {
    bad: breaking('must be a Random', [null, 5, Math.random, {}, { next: 0.5 }]),
    good: [[RANDOM]],
  },
}

const resolve = (given: Given) =>
  resolveTrackerOptions({ transport: new StubTransport(), ...given } as unknown as TrackerOptions)

function faultOf(given: Given): { readonly code: string; readonly message: string } {
  try {
    resolve(given)
  } catch (error) {
    if (error instanceof RollcallError) return { code: error.code, message: error.message }
    throw error
  }
  return { code: 'nothing', message: '' }
}

/** As the message of an error shows it: a value is named, but never poured out. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 64 ? '..."' : JSON.stringify(value)
  if (typeof value === 'bigint') return `${value.toString()}n`
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

test('every option of TRACKER_DEFAULTS is under test here', () => {
  const others = ['transport', 'name', 'zone', 'clock', 'random']
  expect(Object.keys(RULES).sort()).toEqual([...Object.keys(TRACKER_DEFAULTS), ...others].sort())
})

describe.each(Object.entries(RULES))('%s', (option, { bad, good }) => {
  test.each(bad.map(([value, rule], index) => [`${index}: ${shown(value)}`, value, rule] as const))(
    'must not be, %s',
    (_, value, rule) => {
      const { code, message } = faultOf({ [option]: value })
      expect(code).toBe('ROLLCALL_INVALID_OPTION')
      expect(message.startsWith(`${option} ${rule}, not `)).toBe(true)
      expect(message.endsWith(shown(value))).toBe(true)
      expect(message.length).toBeLessThan(200)
    },
  )

  test.each(good.map(([value, others]) => [shown(value), value, others] as const))(
    'may be %s',
    (_, value, others) => {
      const given: Given = { ...others, [option]: value }
      expect(resolve(given)[option as keyof TrackerOptions]).toBe(value)
    },
  )
})

describe('relations', () => {
  test('O1: downPeriodMs below two broadcasts', () => {
    expect(faultOf({ broadcastPeriodMs: 100, downPeriodMs: 199 })).toEqual({
      code: 'ROLLCALL_INVALID_OPTION',
      message: 'downPeriodMs must be at least 2 broadcastPeriodMs, not 199',
    })
    expect(faultOf({ broadcastPeriodMs: 15_001 }).message).toMatch(
      /^downPeriodMs must be at least 2 broadcast/,
    )
    expect(faultOf({ broadcastPeriodMs: 100, downPeriodMs: 200 }).code).toBe('nothing')
  })

  test('O2: permdownPeriodMs not above downPeriodMs', () => {
    for (const permdownPeriodMs of [400, 399]) {
      expect(faultOf({ broadcastPeriodMs: 100, downPeriodMs: 400, permdownPeriodMs })).toEqual({
        code: 'ROLLCALL_INVALID_OPTION',
        message: `permdownPeriodMs must be above downPeriodMs, not ${permdownPeriodMs}`,
      })
    }
    expect(faultOf({ broadcastPeriodMs: 100, downPeriodMs: 400, permdownPeriodMs: 400.1 }).code).toBe(
      'nothing',
    )
  })

  test('the largest write fits into one message of a sync', () => {
    const { message } = faultOf({ maxMetaBytes: 2_000_000 })
    expect(message).toMatch(/^maxSyncChunkBytes must be at least 2001024, to hold a write/)
    expect(faultOf({ maxMetaBytes: 2_000_000, maxSyncChunkBytes: 2_001_024 }).code).toBe('nothing')
    expect(faultOf({ maxKeyBytes: 600_000 }).message).toContain('maxSyncChunkBytes')
  })
})

describe('defaults', () => {
  test('are legal, and what is undefined counts as not given', () => {
    const transport = new StubTransport('12D3KooWabcdefgh')
    const nothing = Object.fromEntries(Object.keys(RULES).map((option) => [option, undefined]))
    const bare = resolve({ transport })
    expect(bare).toMatchObject(TRACKER_DEFAULTS)
    expect(bare).toMatchObject({ name: 'abcdefgh', zone: undefined })
    expect(resolve({ ...nothing, transport })).toEqual(bare)
  })

  test('R: down after 2 × 10 periods, as the system that we follow', () => {
    const { broadcastPeriodMs, maxSilentPeriods, downPeriodMs } = TRACKER_DEFAULTS
    expect(downPeriodMs).toBe(2 * maxSilentPeriods * broadcastPeriodMs)
  })
})

describe('O1 (ours): a legal but short downPeriodMs makes a node beat sooner', () => {
  test.each([
    [10, 30_000, 1_500, 10],
    [10, 29_999, 1_500, 9],
    [10, 3_000, 1_500, 1],
    [1, 30_000, 1_500, 1],
    // A period that hardly fits twice: every period.
    [10, 3_001, 1_500.5, 1],
    // A day of silence is the longest promise that peers believe.
    [10, 2_000_000_000, 10_000_000, 8],
    [10, 2_000_000_000, DAY_MS, 1],
  ])(
    '%d silent periods, down after %d, periods of %d: every %d',
    (maxSilentPeriods, downPeriodMs, period, n) => {
      expect(heartbeatPeriods({ maxSilentPeriods, downPeriodMs, broadcastPeriodMs: period })).toBe(n)
    },
  )
})

describe('createTracker', () => {
  test.each([undefined, null, 5, 'options', () => 5])('rejects %s as options', async (options) => {
    await expect(createTracker(options as unknown as TrackerOptions)).rejects.toMatchObject({
      code: 'ROLLCALL_INVALID_OPTION',
      message: expect.stringMatching(/^options must be an object, not /) as string,
    })
  })

  test('rejects, and has not touched the transport', async () => {
    const transport = new StubTransport()
    await expect(createTracker({ transport, downPeriodMs: 1 })).rejects.toMatchObject({
      code: 'ROLLCALL_INVALID_OPTION',
      message: 'downPeriodMs must be at least 2 broadcastPeriodMs, not 1',
    })
    expect(transport.calls).toEqual([])
  })

  test('rejects with what the transport’s start rejects with, after it has stopped it', async () => {
    const transport = new StubTransport()
    const failure = new RollcallError('ROLLCALL_START_FAILED', 'the address is in use')
    transport.start = () => Promise.reject(failure)
    await expect(createTracker({ transport })).rejects.toBe(failure)
    expect(transport.calls).toEqual(['stop'])
  })
})

describe('createTracker of the package', () => {
  const refusal = async (given: Record<string, unknown> | readonly unknown[] | null) => {
    try {
      await (await createDefaultTracker(given as CreateTrackerOptions)).close()
    } catch (error) {
      if (error instanceof RollcallError) return `${error.code}: ${error.message}`
      throw error
    }
    return 'nothing'
  }

  test.each<[string, Record<string, unknown> | readonly unknown[] | null, string]>([
    ['no options', null, 'options must be an object, not null'],
    ['a list', [], 'options must be an object, not an array'],
    ['a misspelt option', { broadcastPeriod: 5 }, 'there is no option "broadcastPeriod"'],
    [
      '__proto__ as an own key',
      JSON.parse('{"__proto__":1}') as Record<string, unknown>,
      'there is no option "__proto__"',
    ],
    [
      'an option of the default network beside a transport',
      { transport: new StubTransport(), listen: ['/ip4/127.0.0.1/tcp/0'] },
      'listen must not be given together with transport, not an array',
    ],
    [
      'what is no frame size, under its own name',
      { maxFrameBytes: NaN },
      'maxFrameBytes must be a whole number of at least 128, not NaN',
    ],
    [
      'what is far below one, too',
      { maxFrameBytes: -10_000 },
      'maxFrameBytes must be a whole number of at least 128, not -10000',
    ],
    [
      'a network that does not carry what the node sends',
      { maxGossipBytes: 10_000 },
      'maxGossipBytes must be at least 266240, to carry maxFrameBytes (262144), not 10000',
    ],
    [
      'a network that does not carry what the node is told to send',
      { maxSyncChunkBytes: 100_000, maxMessageBytes: 100_000 },
      'maxMessageBytes must be at least 104096, to carry maxSyncChunkBytes (100000), not 100000',
    ],
  ])('refuses %s', async (_, given, message) => {
    expect(await refusal(given)).toBe(`ROLLCALL_INVALID_OPTION: ${message}`)
  })

  test('takes every option of a tracker, and what is undefined as not given', async () => {
    const transport = new StubTransport()
    const given = { ...TRACKER_DEFAULTS, transport, name: 'n', zone: 'z', clock: CLOCK, random: RANDOM }
    const tracker = await createDefaultTracker({
      ...given,
      listen: undefined,
    })
    expect(tracker.name).toBe('n')
    await tracker.close()
    expect(transport.calls).toEqual(['start', 'stop'])
  })
})
