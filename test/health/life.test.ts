import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BIRTH, live, show, type Life, type LifeEvent, type Phase } from '../../src/health/life.ts'

/** What follows in each phase: another phase, `hold` (what is shown changes, not the phase), or `.`: nothing at all. */
const TABLE = `
                  starting  started   ready     unready    returning  draining  gone
startup-passed    started   .         .         .          .          .         .
startup-failed    gone      .         .         .          .          .         .
liveness-failed   .         gone      gone      gone       gone       .         .
readiness-passed  .         ready     .         returning  .          .         .
readiness-failed  .         .         unready   .          unready    .         .
reentry-over      .         .         .         .          ready      .         .
held              hold      hold      hold      hold       hold       .         .
released          hold      hold      hold      hold       hold       .         .
drain             draining  draining  draining  draining   draining   .         .
end               gone      gone      gone      gone       gone       gone      .
`

const EVENTS: { readonly [Kind in LifeEvent['kind']]: Extract<LifeEvent, { kind: Kind }> | LifeEvent } = {
  'startup-passed': { kind: 'startup-passed' },
  'startup-failed': { kind: 'startup-failed', reason: 'probe-timeout' },
  'liveness-failed': { kind: 'liveness-failed', reason: 'probe-failed' },
  'readiness-passed': { kind: 'readiness-passed' },
  'readiness-failed': { kind: 'readiness-failed', reason: 'probe-timeout' },
  'reentry-over': { kind: 'reentry-over' },
  held: { kind: 'held', hold: { state: 'unready', reason: 'maintenance' } },
  released: { kind: 'released' },
  drain: { kind: 'drain' },
  end: { kind: 'end' },
}

const [heads = [], ...rows] = TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/))
const cells = rows.flatMap(([kind, ...nexts]) => heads.map((phase, index) => [phase, kind, nexts[index]]))

/** How each phase is reached. */
const PATHS: Readonly<Record<Phase, readonly LifeEvent['kind'][]>> = {
  starting: [],
  started: ['startup-passed'],
  ready: ['startup-passed', 'readiness-passed'],
  unready: ['startup-passed', 'readiness-passed', 'readiness-failed'],
  returning: ['startup-passed', 'readiness-passed', 'readiness-failed', 'readiness-passed'],
  draining: ['drain'],
  gone: ['end'],
}

const after = (kinds: readonly LifeEvent['kind'][]): Life =>
  kinds.reduce((life, kind) => live(life, EVENTS[kind]), BIRTH)

test('the table has every phase and every event', () => {
  expect([...heads].sort()).toEqual(Object.keys(PATHS).sort())
  expect(rows.map(([kind]) => kind).sort()).toEqual(Object.keys(EVENTS).sort())
  for (const [phase, path] of Object.entries(PATHS)) expect(after(path).phase).toBe(phase)
})

test.each(cells)('%s, %s: %s', (phase, kind, next) => {
  const before = after(PATHS[phase as Phase])
  const life = live(before, EVENTS[kind as LifeEvent['kind']])
  if (next === '.') expect(life).toBe(before)
  else if (next === 'hold') expect([life.phase, life.reason]).toEqual([before.phase, before.reason])
  else expect(life.phase).toBe(next)
})

test.each([
  [[], 'starting', 'starting'],
  [['startup-passed'], 'starting', 'starting'],
  [['startup-failed'], 'gone', 'probe-timeout'],
  [PATHS.ready, 'ready', 'passing'],
  [PATHS.unready, 'unready', 'probe-timeout'],
  [PATHS.returning, 'unready', 'recovering'],
  [[...PATHS.returning, 'reentry-over'], 'ready', 'passing'],
  [[...PATHS.ready, 'liveness-failed'], 'gone', 'probe-failed'],
  [[...PATHS.ready, 'drain'], 'draining', 'draining'],
  [[...PATHS.ready, 'drain', 'end'], 'gone', 'ended'],
  [[...PATHS.ready, 'held'], 'unready', 'by-hand'],
  [[...PATHS.ready, 'held', 'released'], 'ready', 'passing'],
  [['held', 'startup-passed', 'readiness-passed'], 'unready', 'by-hand'],
  [['held', 'startup-passed', 'readiness-passed', 'released'], 'ready', 'passing'],
  [[...PATHS.ready, 'held', 'drain'], 'draining', 'draining'],
  [[...PATHS.ready, 'held', 'liveness-failed'], 'gone', 'probe-failed'],
] as const)('%j is shown as %s, because %s', (path, state, reason) => {
  expect(show(after(path))).toEqual({ state, reason })
})

test('a later hold replaces an earlier one', () => {
  const held = after([...PATHS.unready, 'held'])
  const again = live(held, { kind: 'held', hold: { state: 'ready', reason: 'let it' } })
  expect(show(again)).toEqual({ state: 'ready', reason: 'by-hand' })
  expect(again.hold?.reason).toBe('let it')
})

test('whatever happens: a way is one way, a hold lies over the living only, and shows what was held last', () => {
  const event = fc.constantFrom(...Object.values(EVENTS))
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      let life = BIRTH
      let held = false
      for (const each of events) {
        const before = show(life)
        life = live(life, each)
        const { state, reason } = show(life)
        if (before.state === 'gone') expect(state).toBe('gone')
        if (before.state === 'draining') expect(['draining', 'gone']).toContain(state)
        const over = state === 'draining' || state === 'gone'
        if (each.kind === 'held') held = true
        if (each.kind === 'released' || over) held = false
        expect(reason === 'by-hand').toBe(held)
        if (state === 'starting') expect(['starting', 'started']).toContain(life.phase)
      }
    }),
  )
})
