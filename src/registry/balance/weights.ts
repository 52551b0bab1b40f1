import type { LookupHit } from '../types.ts'

/** Weights of at most six decimals are counted in millionths. */
const UNITS = 1_000_000

/** Sums of a few times this many units are still exact. */
const MAX_UNITS = 2 ** 50

/** The weights of instances. If all are 0, they are alike: an answer comes before a weight. */
export function weightsOf(hits: readonly LookupHit[]): Float64Array {
  const weights = Float64Array.from(hits, ({ service }) => service.weight)
  return weights.some((weight) => weight > 0) ? weights : weights.fill(1)
}

/**
 * The same shares in whole numbers, so that adding them for ever makes no error: exactly, where the weights have at most
 * six decimals, and else to the fifteenth digit of the whole.
 */
export function inUnits(weights: Float64Array): Float64Array {
  const units = weights.map((weight) => Math.round(weight * UNITS))
  const isExact = units.every((unit, at) => unit / UNITS === weights[at])
  if (isExact && sum(units) <= MAX_UNITS) return units
  const total = sum(weights)
  return weights.map((weight) => Math.round((weight / total) * MAX_UNITS))
}

export function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
