import type { Clock, Random, Timer } from '../../tracker/ports.ts'

/** One thing that passes one direction of one link. */
export interface LinkMessage {
  /** Address of the sender. Addresses, not ids: they stay when a process restarts with another identity. */
  readonly from: string
  /** Address of the receiver. */
  readonly to: string
  /** Gossip; a message of a sync or a probe channel; or what keeps connections: dials, credit, resets, signs of life. */
  readonly kind: 'gossip' | 'sync' | 'probe' | 'control'
  /** The message as the node gave it. Absent for `control`. Not to be changed. */
  readonly payload: Uint8Array | undefined
}

/**
 * Decides what a link does to a message: the delay in ms of every copy that arrives. Empty: lost.
 *
 * Gossip takes it as it is: later messages overtake, further copies are delivered again, as after the memory
 * of duplicates of real gossip has run out. All else is ordered and reliable like TCP: only the first
 * delay counts, and what is lost is sent again until the connection is given up.
 */
export type LinkPolicy = (message: LinkMessage) => readonly number[]

export interface MemoryNetworkOptions {
  /** Carries what is under way. Default: the system's clock. */
  readonly clock?: Clock
  /** Chance for jitter between dials. Default: `Math.random`. */
  readonly random?: Random
  /** What links do. Default: everything arrives, at once, in order. */
  readonly policy?: LinkPolicy
  /** Silence after which an end gives a connection up. Only with a `policy`: without one nothing is ever silent. */
  readonly partitionNoticeMs?: number
  /** How long a dial waits for an answer. */
  readonly dialTimeoutMs?: number
  /** First pause between two dials to one target; doubles, with jitter. */
  readonly redialMs?: number
  /** Longest pause between two dials. Shorter meets again sooner after a partition, at one dial each. */
  readonly redialMaxMs?: number
  /** Nodes that a node keeps connections with of its own choice; others choose it as well. Default: all it has learnt of. */
  readonly degree?: number
  /** Bytes of one channel and direction that may wait for a reader that stands still. */
  readonly windowBytes?: number
}

/**
 * Notice: libp2p's connection monitor pings every 10 s and was measured to give up a frozen peer after 7 to 12 s.
 * Dials: 3 s is what a libp2p node is commonly set to; a dial here costs nothing, so pauses are short.
 * Window: 256 KiB is the initial window of a yamux stream.
 */
export const MEMORY_NETWORK_DEFAULTS = {
  partitionNoticeMs: 10_000,
  dialTimeoutMs: 3_000,
  redialMs: 100,
  redialMaxMs: 1_000,
  degree: Infinity,
  windowBytes: 256 * 1024,
} as const

/** What every part of one network shares. */
export interface NetworkSettings extends Required<Omit<MemoryNetworkOptions, 'policy'>> {
  /** Absent for a network without faults: connections are then not watched, which costs timers. */
  readonly policy: LinkPolicy | undefined
}

/** Time of this process. A delay of 0 comes at the next turn of the event loop, not after Node's least 1 ms. */
const systemClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimer(callback: () => void, ms: number): Timer {
    if (ms > 0) {
      const timeout = setTimeout(callback, ms)
      return { cancel: () => clearTimeout(timeout) }
    }
    const immediate = setImmediate(callback)
    return { cancel: () => clearImmediate(immediate) }
  },
}

const systemRandom: Random = { next: () => Math.random() }

export function resolveSettings(options: MemoryNetworkOptions): NetworkSettings {
  return {
    ...MEMORY_NETWORK_DEFAULTS,
    clock: systemClock,
    random: systemRandom,
    policy: undefined,
    ...options,
  }
}

const AT_ONCE: readonly number[] = [0]

/** What the policy says, or that all arrives at once when there is none. */
export const fate = (settings: NetworkSettings, message: LinkMessage): readonly number[] =>
  settings.policy === undefined ? AT_ONCE : settings.policy(message)
