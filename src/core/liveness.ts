/** Silences at which a verdict changes, ms. */
export interface LivenessLimits {
  readonly downPeriodMs: number
  readonly permdownPeriodMs: number
}

export type Verdict = 'up' | 'down' | 'purge'

/**
 * What a silence means. A node that promised its next beat later than we would wait gets twice its promise,
 * so nodes configured differently do not misjudge each other; no promise reaches past the purge.
 */
export function judge(silentMs: number, promiseMs: number, limits: LivenessLimits): Verdict {
  if (silentMs > limits.permdownPeriodMs) return 'purge'
  const allowance = Math.max(limits.downPeriodMs, Math.min(2 * promiseMs, limits.permdownPeriodMs))
  return silentMs > allowance ? 'down' : 'up'
}

/** What is known of one owner's signs of life. Times are ms on the observer's monotonic clock. */
export interface Pulse {
  readonly incarnation: number
  /** Number of the newest beat of this incarnation that was heard of. */
  readonly beat: number
  readonly promiseMs: number
  readonly heardAt: number
}

/** A sign of life: a beat by gossip (`at` = now), or what a peer in a sync says it heard (`at` = then). */
export interface Sign extends Pulse {
  /** It came from the owner itself over a connection of ours, so it cannot have been under way when the owner died. */
  readonly direct: boolean
}

/**
 * The pulse after a sign of life. Only a newer beat counts, so an old frame delivered again refreshes nothing
 * (from the owner itself the newest one counts again: it is there to say it); and "last heard" only ever goes
 * later, never past now.
 */
export function feel(pulse: Pulse | undefined, sign: Sign, now: number): Pulse {
  const { incarnation, beat, promiseMs } = sign
  const heardAt = Math.min(sign.heardAt, now)
  if (pulse === undefined || incarnation > pulse.incarnation) return { incarnation, beat, promiseMs, heardAt }
  const newer = sign.direct ? beat >= pulse.beat : beat > pulse.beat
  if (incarnation < pulse.incarnation || !newer) return pulse
  return { incarnation, beat, promiseMs, heardAt: Math.max(pulse.heardAt, heardAt) }
}
