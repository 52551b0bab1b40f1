import { argumentError } from '../tracker/check.ts'
import type { Clock, Random, Timer } from '../tracker/ports.ts'
import { surfaceError } from '../tracker/surface.ts'
import { BIRTH, live } from './life.ts'
import type { Life, LifeEvent, Phase } from './life.ts'
import { resolveHealthOptions } from './options.ts'
import type { ResolvedHealthOptions, ResolvedProbe } from './options.ts'
import { Probe } from './probe.ts'
import { describe } from './report.ts'
import { HELD_STATES } from './types.ts'
import type { CapabilityState, FailureReason, HealthOptions, HealthReport, Hold, ProbeRun } from './types.ts'

/** What a health lives by, and whom it tells. What these throw surfaces as `uncaughtException`. */
export interface HealthPorts {
  readonly clock: Clock
  readonly random: Random
  /** The report is another one, and the instance is not gone. Not told of what the constructor decided. */
  readonly changed: (report: HealthReport) => void
  /** The startup or the liveness probe has failed often enough; this run was the last straw. */
  readonly gone: (run: ProbeRun) => void
  /** A probe has run. Told before what follows from it. */
  readonly probed?: ((run: ProbeRun) => void) | undefined
}

/** What follows when the verdict of a probe changes: how it fails now, or undefined when it passes. */
type Judge = (failure: FailureReason | undefined) => void

/**
 * The health of one instance: drives its probes, and tells how it is.
 *
 * Startup comes first: the other probes run from when it has passed. Liveness failing, or startup, ends the
 * instance. Readiness moves it between ready and unready, back to ready after a random delay. A hold lies over
 * what the probes say, but keeps nobody alive; draining lies over both, and ends all probing.
 */
export class Health {
  readonly #options: ResolvedHealthOptions
  readonly #ports: HealthPorts
  readonly #probes = new Set<Probe>()
  readonly #capabilities: Map<string, CapabilityState>
  #life: Life = BIRTH
  #report: HealthReport
  #told: HealthReport
  #started = false
  #stopped = false
  #reentry: Timer | undefined

  /** Throws `ROLLCALL_INVALID_ARGUMENT`. Nothing runs before `start`. */
  constructor(options: HealthOptions, ports: HealthPorts) {
    this.#options = resolveHealthOptions(options)
    this.#ports = ports
    this.#capabilities = new Map([...this.#options.capabilities.keys()].map((name) => [name, 'unready']))
    if (this.#options.startup === undefined) this.#step({ kind: 'startup-passed' })
    this.#report = this.#told = describe(this.#life, this.#capabilities)
  }

  /** How the instance is. Without a startup and a readiness probe it is ready from the beginning. */
  get report(): HealthReport {
    return this.#report
  }

  /** The state it is held in by hand, and why. */
  get held(): Hold | undefined {
    return this.#life.hold
  }

  /** Begins to probe. A second time, after `drain` or after `stop` it does nothing. */
  start(): void {
    if (this.#started) return
    this.#started = true
    if (this.#life.phase === 'starting') this.#probeStartup()
    else this.#probeTheRest()
  }

  /** Ends it: the report says `gone`, what runs is aborted, no timer is left, and nobody is told anything more. */
  stop(): void {
    this.#stopped = true
    this.#act({ kind: 'end' })
  }

  /**
   * Shows this state, whatever the probes say, until `release`; a second hold replaces the first. Probing goes on, and
   * liveness failing still ends the instance. Does nothing once it is draining or gone.
   *
   * Throws `ROLLCALL_INVALID_ARGUMENT` unless the state is `ready` or `unready` and the reason a string.
   */
  hold(state: Hold['state'], reason = ''): void {
    if (!HELD_STATES.includes(state)) {
      throw argumentError('The state to hold', state, `must be one of ${HELD_STATES.join(', ')}`)
    }
    if (typeof reason !== 'string') throw argumentError('The reason to hold', reason, 'must be a string')
    this.#act({ kind: 'held', hold: Object.freeze({ state, reason }) })
  }

  /** Shows again what the probes have said meanwhile, at once: by hand, so without the re-entry delay. */
  release(): void {
    this.#act({ kind: 'released' })
  }

  /** Shows `draining` from now on, and ends all probing. Only `stop` leads on from here. */
  drain(): void {
    this.#act({ kind: 'drain' })
  }

  #act(event: LifeEvent): void {
    const before = this.#life
    this.#step(event)
    if (this.#life !== before) this.#publish()
  }

  #step(event: LifeEvent): void {
    const { phase } = this.#life
    this.#life = live(this.#life, event)
    if (this.#life.phase !== phase) this.#enter(this.#life.phase)
  }

  /** Starts and stops what belongs to a phase. */
  #enter(phase: Phase): void {
    this.#reentry?.cancel()
    switch (phase) {
      case 'started':
        this.#stopProbes()
        if (this.#started) this.#probeTheRest()
        if (this.#options.readiness === undefined) this.#step({ kind: 'readiness-passed' })
        break
      case 'returning':
        this.#reenter()
        break
      case 'draining':
      case 'gone':
        this.#started = true
        this.#stopProbes()
        break
      case 'starting':
      case 'ready':
      case 'unready':
        break
    }
  }

  #reenter(): void {
    const { clock, random } = this.#ports
    const delayMs = random.next() * this.#options.reentryMs
    if (delayMs === 0) this.#step({ kind: 'reentry-over' })
    else this.#reentry = clock.setTimer(() => this.#act({ kind: 'reentry-over' }), delayMs)
  }

  #probeStartup(): void {
    this.#probe('startup', this.#options.startup, (failure) =>
      this.#step(failure ? { kind: 'startup-failed', reason: failure } : { kind: 'startup-passed' }),
    )
  }

  #probeTheRest(): void {
    const { liveness, readiness, capabilities } = this.#options
    this.#probe('liveness', liveness, (failure) => {
      if (failure !== undefined) this.#step({ kind: 'liveness-failed', reason: failure })
    })
    this.#probe('readiness', readiness, (failure) =>
      this.#step(failure ? { kind: 'readiness-failed', reason: failure } : { kind: 'readiness-passed' }),
    )
    for (const [name, options] of capabilities) {
      this.#probe(`capabilities.${name}`, options, (failure) =>
        this.#capabilities.set(name, failure === undefined ? 'ready' : 'unready'),
      )
    }
  }

  #probe(name: string, options: ResolvedProbe | undefined, judge: Judge): void {
    if (options === undefined) return
    const { clock, random } = this.#ports
    const probe = new Probe(name, options, {
      clock,
      random,
      ran: (run, turned) => {
        if (turned) judge(run.result === 'passed' ? undefined : run.result)
        this.#refresh()
        this.#tell(this.#ports.probed, run)
        this.#publish(run)
      },
    })
    this.#probes.add(probe)
    probe.start()
  }

  #stopProbes(): void {
    for (const probe of this.#probes) probe.stop()
    this.#probes.clear()
  }

  #refresh(): void {
    this.#report = describe(this.#life, this.#capabilities, this.#report)
  }

  /** Tells what is new, if anything is. `run`: the one that it follows from. */
  #publish(run?: ProbeRun): void {
    this.#refresh()
    if (this.#report === this.#told) return
    this.#told = this.#report
    if (this.#report.state !== 'gone') this.#tell(this.#ports.changed, this.#report)
    else if (run !== undefined) this.#tell(this.#ports.gone, run)
  }

  #tell<T>(listener: ((what: T) => void) | undefined, what: T): void {
    if (this.#stopped) return
    try {
      listener?.(what)
    } catch (error) {
      surfaceError(error)
    }
  }
}
