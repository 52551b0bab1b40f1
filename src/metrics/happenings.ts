import type { ProbeRun } from '../health/types.ts'
import type { RollcallErrorCode } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import type { RegistryEvents, ServiceDownReason } from '../registry/types.ts'
import type { DownReason, TrackerEvents } from '../tracker/types.ts'
import { listen } from './listen.ts'

/** `capability` stands for the capabilities of every name. */
type ProbeKind = 'startup' | 'liveness' | 'readiness' | 'capability'

type ProbeCounts = Record<ProbeRun['result'], number>

const noRuns = (): ProbeCounts => ({ passed: 0, 'probe-failed': 0, 'probe-timeout': 0 })

/** Counts what a registry tells of, from its construction until `stop`. */
export class Happenings {
  instanceUps = 0
  instanceChanges = 0
  staleServices = 0
  nodeUps = 0
  nodePurges = 0
  nameConflicts = 0
  readonly instanceDowns: Record<ServiceDownReason, number> = {
    unregistered: 0,
    expired: 0,
    drained: 0,
    unhealthy: 0,
    invalid: 0,
    silent: 0,
    refused: 0,
    left: 0,
    replaced: 0,
  }
  readonly nodeDowns: Record<DownReason, number> = { silent: 0, refused: 0, left: 0, replaced: 0 }
  readonly problems: Partial<Record<RollcallErrorCode, number>> = {}
  readonly probeRuns: Readonly<Record<ProbeKind, ProbeCounts>> = {
    startup: noRuns(),
    liveness: noRuns(),
    readiness: noRuns(),
    capability: noRuns(),
  }
  readonly #stops: readonly (() => void)[]

  constructor(registry: Registry) {
    this.#stops = [
      listen<RegistryEvents>(registry, {
        service_up: () => {
          this.instanceUps++
        },
        service_down: ({ reason }) => {
          this.instanceDowns[reason]++
        },
        service_changed: () => {
          this.instanceChanges++
        },
        service_stale: () => {
          this.staleServices++
        },
        service_probed: ({ run }) => {
          this.probeRuns[kindOf(run)][run.result]++
        },
      }),
      listen<TrackerEvents>(registry.tracker, {
        node_up: () => {
          this.nodeUps++
        },
        node_down: (_node, reason) => {
          this.nodeDowns[reason]++
        },
        node_purged: () => {
          this.nodePurges++
        },
        name_conflict: () => {
          this.nameConflicts++
        },
        problem: (_where, { code }) => {
          this.problems[code] = (this.problems[code] ?? 0) + 1
        },
      }),
    ]
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }
}

function kindOf({ probe }: ProbeRun): ProbeKind {
  return probe === 'startup' || probe === 'liveness' || probe === 'readiness' ? probe : 'capability'
}
