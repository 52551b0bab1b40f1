import type { FailureReason, HealthReason, HealthState, Hold } from './types.ts'

/**
 * Where an instance stands by its probes and its owner:
 * - `starting`: the startup probe has not passed
 * - `started`: it has, and readiness has yet to pass for the first time
 * - `ready`, `unready`: what readiness says
 * - `returning`: readiness passes again, and the re-entry delay runs
 * - `draining`: on its way out, whatever the probes say
 * - `gone`: for good
 */
export type Phase = 'starting' | 'started' | 'ready' | 'unready' | 'returning' | 'draining' | 'gone'

/** What can happen to an instance. Events of probes are changes of their verdict, not single results. */
export type LifeEvent =
  | {
      readonly kind: 'startup-passed' | 'readiness-passed' | 'reentry-over' | 'released' | 'drain' | 'end'
    }
  | {
      readonly kind: 'startup-failed' | 'liveness-failed' | 'readiness-failed'
      readonly reason: FailureReason
    }
  | { readonly kind: 'held'; readonly hold: Hold }

export interface Life {
  readonly phase: Phase
  /** Why it is in this phase. */
  readonly reason: HealthReason
  /** Shown instead of the phase. None holds who is `draining` or `gone`. */
  readonly hold: Hold | undefined
}

export const BIRTH: Life = { phase: 'starting', reason: 'starting', hold: undefined }

/** The phase that follows; or the phase stays, and the hold becomes that of the event, or none; or nothing happens. */
type Cell = Phase | 'hold' | 'ignore'

/** Startup gates what probes say; holds lie over it; only `end` leaves `draining`, and nothing leaves `gone`. */
const TABLE = {
  starting: {
    'startup-passed': 'started',
    'startup-failed': 'gone',
    'liveness-failed': 'ignore',
    'readiness-passed': 'ignore',
    'readiness-failed': 'ignore',
    'reentry-over': 'ignore',
    held: 'hold',
    released: 'hold',
    drain: 'draining',
    end: 'gone',
  },
  started: {
    'startup-passed': 'ignore',
    'startup-failed': 'ignore',
    'liveness-failed': 'gone',
    'readiness-passed': 'ready',
    'readiness-failed': 'ignore',
    'reentry-over': 'ignore',
    held: 'hold',
    released: 'hold',
    drain: 'draining',
    end: 'gone',
  },
  ready: {
    'startup-passed': 'ignore',
    'startup-failed': 'ignore',
    'liveness-failed': 'gone',
    'readiness-passed': 'ignore',
    'readiness-failed': 'unready',
    'reentry-over': 'ignore',
    held: 'hold',
    released: 'hold',
    drain: 'draining',
    end: 'gone',
  },
  unready: {
    'startup-passed': 'ignore',
    'startup-failed': 'ignore',
    'liveness-failed': 'gone',
    'readiness-passed': 'returning',
    'readiness-failed': 'ignore',
    'reentry-over': 'ignore',
    held: 'hold',
    released: 'hold',
    drain: 'draining',
    end: 'gone',
  },
  returning: {
    'startup-passed': 'ignore',
    'startup-failed': 'ignore',
    'liveness-failed': 'gone',
    'readiness-passed': 'ignore',
    'readiness-failed': 'unready',
    'reentry-over': 'ready',
    held: 'hold',
    released: 'hold',
    drain: 'draining',
    end: 'gone',
  },
  draining: {
    'startup-passed': 'ignore',
    'startup-failed': 'ignore',
    'liveness-failed': 'ignore',
    'readiness-passed': 'ignore',
    'readiness-failed': 'ignore',
    'reentry-over': 'ignore',
    held: 'ignore',
    released: 'ignore',
    drain: 'ignore',
    end: 'gone',
  },
  gone: {
    'startup-passed': 'ignore',
    'startup-failed': 'ignore',
    'liveness-failed': 'ignore',
    'readiness-passed': 'ignore',
    'readiness-failed': 'ignore',
    'reentry-over': 'ignore',
    held: 'ignore',
    released: 'ignore',
    drain: 'ignore',
    end: 'ignore',
  },
} as const satisfies Record<Phase, Record<LifeEvent['kind'], Cell>>

/** Why an instance is in a phase, unless the event that led there says so. */
const REASONS = {
  starting: 'starting',
  started: 'starting',
  ready: 'passing',
  unready: 'probe-failed',
  returning: 'recovering',
  draining: 'draining',
  gone: 'ended',
} as const satisfies Record<Phase, HealthReason>

/** What an event makes of a life. Pure: the caller starts and stops what belongs to a phase. */
export function live(life: Life, event: LifeEvent): Life {
  const cell: Cell = TABLE[life.phase][event.kind]
  if (cell === 'ignore') return life
  if (cell === 'hold') return { ...life, hold: 'hold' in event ? event.hold : undefined }
  const reason = 'reason' in event ? event.reason : REASONS[cell]
  return { phase: cell, reason, hold: cell === 'draining' || cell === 'gone' ? undefined : life.hold }
}

const STATES = {
  starting: 'starting',
  started: 'starting',
  ready: 'ready',
  unready: 'unready',
  returning: 'unready',
  draining: 'draining',
  gone: 'gone',
} as const satisfies Record<Phase, HealthState>

/** What others are shown of a life. Pure. */
export function show({ phase, reason, hold }: Life): {
  readonly state: HealthState
  readonly reason: HealthReason
} {
  return hold === undefined ? { state: STATES[phase], reason } : { state: hold.state, reason: 'by-hand' }
}
