import fc from 'fast-check'
import { expect, test } from 'vitest'
import { count, NO_RESULTS, type Verdict } from '../../src/health/hysteresis.ts'

/** The verdict after each of some results: `p` a pass, `f` a failure. */
function verdicts(results: string, rise: number, fall: number): string {
  let streak = NO_RESULTS
  return Array.from(results)
    .map((result) => {
      streak = count(streak, result === 'p', { rise, fall })
      return { passing: 'P', failing: 'F', unknown: '-' }[streak.verdict ?? 'unknown']
    })
    .join('')
}

test.each([
  // results, rise, fall, verdict after each
  ['p', 1, 3, 'P'],
  ['ppp', 3, 1, '--P'],
  ['f', 1, 1, 'F'],
  ['fff', 1, 3, '--F'],
  ['pfff', 1, 3, 'PPPF'],
  ['pffpff', 1, 3, 'PPPPPP'],
  ['pfpfpf', 1, 2, 'PPPPPP'],
  ['pfpfpf', 2, 2, '------'],
  ['fpfpfpp', 2, 1, 'FFFFFFP'],
  ['ffpppff', 3, 2, '-FFFPPF'],
])('C53: %s with rise %i and fall %i says %s', (results, rise, fall, expected) => {
  expect(verdicts(results, rise, fall)).toBe(expected)
})

test('C53: the verdict is always that of the last results in a row that were enough', () => {
  const limit = fc.integer({ min: 1, max: 4 })
  const given = fc.record({ results: fc.array(fc.boolean(), { maxLength: 40 }), rise: limit, fall: limit })
  fc.assert(
    fc.property(given, ({ results, rise, fall }) => {
      let streak = NO_RESULTS
      let expected: Verdict | undefined
      results.forEach((result, index) => {
        streak = count(streak, result, { rise, fall })
        const last = (n: number): boolean[] => results.slice(0, index + 1).slice(-n)
        if (last(rise).length === rise && last(rise).every(Boolean)) expected = 'passing'
        if (last(fall).length === fall && !last(fall).some(Boolean)) expected = 'failing'
        expect(streak.verdict).toBe(expected)
      })
    }),
  )
})
