/**
 * Looks once whether something is well. Passes when it returns or resolves to anything but `false`; fails when that
 * is `false`, or when it throws or rejects.
 *
 * `signal` aborts at the deadline and when probing ends: what the check answers later is discarded. Never called
 * again before it has settled, so one that never settles reads as failing from then on: heed the signal.
 *
 * One that keeps something open between two calls may offer to dispose of it: that is asked when probing ends, and a
 * later call opens it anew.
 */
export interface Check {
  (signal: AbortSignal): unknown
  [Symbol.dispose]?(): void
}

/** When a check is called, and what its answers amount to. */
export interface ProbeOptions {
  readonly check: Check
  /** Time between the starts of two runs, ms. Lower notices sooner, at one run each. */
  readonly periodMs?: number | undefined
  /**
   * How long a run may take, ms; one that takes as long has failed. Above the slowest healthy answer, or a busy
   * instance fails. Above `periodMs` it delays the next run.
   */
  readonly timeoutMs?: number | undefined
  /** Passes in a row that count as well. Higher trusts later. */
  readonly rise?: number | undefined
  /** Failures in a row that count as not well. Higher forgives more, and notices later. */
  readonly fall?: number | undefined
  /** Time before the first run, ms: from `start`, for all but `startup` from when the instance has started. */
  readonly initialDelayMs?: number | undefined
  /** Share of the period by which it is randomly longer or shorter. 0: replicas started together probe together. */
  readonly jitter?: number | undefined
}

/** What is looked at. A probe may be given as its check alone; one that is absent counts as passed. */
export interface HealthOptions {
  /** Has it started? Until it passes nothing else is probed. Failing, it ends the instance; so its `fall` is generous. */
  readonly startup?: ProbeOptions | Check | undefined
  /** Is it beyond help? Failing, it ends the instance: to start it again is the supervisor's business. */
  readonly liveness?: ProbeOptions | Check | undefined
  /** Can it serve now? Moves the instance between ready and unready. */
  readonly readiness?: ProbeOptions | Check | undefined
  /** Name → can it do this now? For instances that can do one thing and not another. */
  readonly capabilities?: Readonly<Record<string, ProbeOptions | Check>> | undefined
  /**
   * Upper bound of the random delay before an unready instance is ready again, ms. Higher spreads replicas that
   * recover together over more time, and leaves each unused for longer.
   */
  readonly reentryMs?: number | undefined
}

export type HealthState = 'starting' | 'ready' | 'unready' | 'draining' | 'gone'

/** Why a run failed: the check said so (or threw), or it gave no answer in time. */
export type FailureReason = 'probe-failed' | 'probe-timeout'

/**
 * Why an instance is in its state. Says nothing of the application, so it may travel.
 * - `starting`: the startup probe, or the first readiness, has not passed yet
 * - `passing`: every probe that it depends on has passed
 * - `probe-failed`, `probe-timeout`: how the last of the failures in a row failed
 * - `recovering`: the readiness probe passes again, the re-entry delay is not over
 * - `by-hand`: someone holds it in this state
 * - `draining`, `ended`: by whoever owns it
 */
export type HealthReason =
  'starting' | 'passing' | FailureReason | 'recovering' | 'by-hand' | 'draining' | 'ended'

export type CapabilityState = 'ready' | 'unready'

/** How an instance is. Deep-frozen plain data; a change makes a new one. */
export interface HealthReport {
  readonly state: HealthState
  readonly reason: HealthReason
  /** `unready` until its probe has passed. */
  readonly capabilities: Readonly<Record<string, CapabilityState>>
}

/** The states that an instance can be held in by hand. */
export const HELD_STATES = ['ready', 'unready'] as const

/** A state set by hand. */
export interface Hold {
  readonly state: (typeof HELD_STATES)[number]
  /** In the words of whoever set it. Stays local. */
  readonly reason: string
}

/** One run of a probe, in the detail that stays local. */
export interface ProbeRun {
  /** `startup`, `liveness`, `readiness`, or `capabilities.` and the name of the capability. */
  readonly probe: string
  readonly result: 'passed' | FailureReason
  /** What the check threw or rejected with; a `TimeoutError` for `probe-timeout`; else undefined. */
  readonly error: unknown
  /** From when the run was due to its end, ms. */
  readonly tookMs: number
}
