import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createRegistry, createTracker } from '../../src/create.ts'
import { PROFILES, type Profile } from '../../src/profiles.ts'
import { heartbeatPeriods, resolveTrackerOptions, TRACKER_DEFAULTS } from '../../src/tracker/options.ts'
import { MESH_DEFAULTS, resolveMeshOptions } from '../../src/transports/libp2p/options.ts'
import { StubTransport } from '../tracker/stub-transport.ts'

/** What the parts of a node are made with. */
const made = vi.hoisted(() => ({ tracker: {}, network: undefined as object | undefined }))
vi.mock('../../src/tracker/tracker.ts', () => ({
  createTracker: (options: object) => (made.tracker = options),
}))
vi.mock('../../src/registry/registry.ts', () => ({
  createRegistry: (options: object) => (made.tracker = options),
}))
vi.mock('../../src/transports/libp2p/create.ts', () => ({
  libp2pTransport: (options: object) => {
    made.network = options
    return new StubTransport()
  },
}))
beforeEach(() => {
  made.network = undefined
})

const NAMES = Object.keys(PROFILES) as Profile[]

test.each(NAMES)('%s: resolves, and its values fit together', (name) => {
  const profile = PROFILES[name]
  const options = resolveTrackerOptions({ transport: new StubTransport(), ...profile })
  const mesh = resolveMeshOptions(profile)
  expect({ ...options, ...mesh }).toMatchObject(profile)
  const { broadcastPeriodMs, maxSilentPeriods, downPeriodMs, permdownPeriodMs } = profile
  // Two beats fit, one of them may be lost; and the idle pace is the one that is asked for.
  expect(broadcastPeriodMs * maxSilentPeriods * 2).toBe(downPeriodMs)
  expect(heartbeatPeriods(options)).toBe(maxSilentPeriods)
  expect(permdownPeriodMs).toBeGreaterThanOrEqual(15 * downPeriodMs)
  // Three questions may be lost with their answers.
  expect(profile.probePeriodMs + 2 * profile.probeTimeoutMs).toBeLessThan(downPeriodMs)
  expect(profile.leaveTimeoutMs).toBeLessThan(downPeriodMs)
  expect(profile.syncPeriodMs).toBeGreaterThan(profile.syncTimeoutMs)
  expect(profile.channelStallMs).toBeGreaterThan(profile.syncTimeoutMs)
  expect(profile.memberGraceMs).toBeGreaterThan(profile.watchdogMs)
  expect(profile.maxBackoffMs).toBeLessThanOrEqual(downPeriodMs + profile.syncPeriodMs)
})

test('each is more patient than the one before, and how soon they see a node that hangs', () => {
  const withinMs = ({ downPeriodMs, broadcastPeriodMs }: (typeof PROFILES)[Profile]): number =>
    downPeriodMs + broadcastPeriodMs
  expect(withinMs(PROFILES.local)).toBeLessThanOrEqual(900)
  expect(withinMs(PROFILES.lan)).toBeLessThanOrEqual(4_500)
  expect(withinMs(PROFILES.wan)).toBeLessThanOrEqual(45_000)
  const { local, lan, wan } = PROFILES
  for (const option of Object.keys(local) as (keyof typeof local)[]) {
    if (option === 'flush') continue
    expect(lan[option], option).toBeGreaterThanOrEqual(local[option])
    expect(wan[option], option).toBeGreaterThanOrEqual(lan[option])
  }
})

test('default is what no options are', () => {
  const all: Record<string, unknown> = { ...TRACKER_DEFAULTS, ...MESH_DEFAULTS }
  for (const [option, value] of Object.entries(PROFILES.default)) expect(all[option], option).toBe(value)
  expect(PROFILES.default).toMatchObject({
    broadcastPeriodMs: 1_500,
    downPeriodMs: 30_000,
    permdownPeriodMs: 1_200_000,
  })
})

describe.each([
  ['createTracker', createTracker],
  ['createRegistry', createRegistry],
])('%s', (_, create) => {
  const make = (options: object): Promise<unknown> => create(options)

  test.each(NAMES)('%s sets the options of the tracker and of the network', async (profile) => {
    await make({ profile })
    expect({ ...made.tracker, ...made.network }).toMatchObject(PROFILES[profile])
    for (const option of Object.keys(PROFILES[profile])) {
      expect(option in made.tracker, option).toBe(option in TRACKER_DEFAULTS)
      expect(option in (made.network ?? {}), option).toBe(option in MESH_DEFAULTS)
    }
    expect(made.tracker).not.toHaveProperty('profile')
    expect(made.network).not.toHaveProperty('profile')
  })

  test('an option that is given wins, in whatever order, one given as undefined is none', async () => {
    await make({
      downPeriodMs: 5_000,
      dialTimeoutMs: 300,
      flush: undefined,
      profile: 'local',
      watchdogMs: undefined,
    })
    const expected = { ...PROFILES.local, downPeriodMs: 5_000, dialTimeoutMs: 300 }
    expect({ ...made.tracker, ...made.network }).toMatchObject(expected)
    await make({ profile: undefined, downPeriodMs: 5_000 })
    expect(made.tracker).toMatchObject({ ...TRACKER_DEFAULTS_OF_TIME, downPeriodMs: 5_000 })
  })

  test('with a transport that is brought, those of the tracker are set', async () => {
    await make({ profile: 'wan', transport: new StubTransport() })
    expect(made.tracker).toMatchObject({ downPeriodMs: PROFILES.wan.downPeriodMs })
    expect(made.tracker).not.toHaveProperty('dialTimeoutMs')
    expect(made.network).toBeUndefined()
  })

  test.each([['fast'], [''], ['Local'], ['toString'], ['__proto__'], [null], [5], [['local']], [{}]])(
    'there is no profile %j',
    async (profile) => {
      await expect(make({ profile })).rejects.toMatchObject({
        code: 'ROLLCALL_INVALID_OPTION',
        message: expect.stringMatching(/^profile must be "default", "local", "lan" or "wan", not /) as string,
      })
    },
  )
})

const TRACKER_DEFAULTS_OF_TIME = Object.fromEntries(
  Object.entries(PROFILES.default).filter(([option]) => option in TRACKER_DEFAULTS),
)
