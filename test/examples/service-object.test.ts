import { expect, test } from 'vitest'
import { Run } from './run.ts'

test(
  'service-object: a name outlives its replicas, and who caches the list calls the dead',
  { timeout: 30_000 },
  async () => {
    const example = new Run('service-object.ts')
    const { code } = await example.end()
    const { lines } = example
    expect(code, lines.join('\n')).toBe(0)
    const rows = lines.map((line) => line.trim().split(/ {2,}/))
    const of = (what: string): string[] => rows.find(([first]) => first === what)?.slice(1) ?? []
    // Requests, failed, endpoints, most of one in a round, list changes, replicas replaced.
    expect(of('all instances')).toEqual(['288', '44', '6–6', '2', '10', '11'])
    expect(of('the ready ones')).toEqual(['288', '0', '4–6', '3', '13', '11'])
    const cached = [0, 2, 4, 8, 24].map((rounds) => of(`${rounds} rounds`).map(Number))
    // Resolves, and requests to instances that were gone.
    expect(cached).toEqual([
      [288, 0],
      [12, 12],
      [6, 35],
      [3, 72],
      [1, 216],
    ])
  },
)
