/**
 * How much of what goes wrong may be this node's own fault, as a score from 0 (none) to 8. Lifeguard's local health
 * multiplier (Dadgar, Phillips, Currey 2017): memberlist, too, goes up to 8.
 */
export const MAX_AWARENESS = 8

/**
 * What a node sees of its own health: a timer of its own came late, most of its neighbours left it without an answer, or
 * an answer came in time.
 */
export type Symptom = 'late' | 'alone' | 'answered'

/** The score after a symptom. */
export const feelWell = (score: number, symptom: Symptom): number =>
  symptom === 'answered' ? Math.max(0, score - 1) : Math.min(MAX_AWARENESS, score + 1)

/** How many probes in a row must stay without an answer before that is held against another node. */
export const patience = (failures: number, score: number): number => failures * (1 + score)
