import { expect, test } from 'vitest'
import { LINGER_MS, Run } from './run.ts'

test(
  'discovery-window: what a caller loses by a list, by leases and by monitors',
  { timeout: 60_000 },
  async () => {
    const example = new Run('discovery-window.ts')
    const { code, lingeredMs } = await example.end()
    const { lines } = example
    expect(code, lines.join('\n')).toBe(0)
    const rows = lines.slice(1, -1).map((line) => line.trim().split(/ {2,}/))
    expect(rows.map((row) => row.slice(0, 5))).toEqual([
      ['all alive', '6/6', '6/6', '3', '3'],
      ['one killed, asked at once', '4/6', '4/6', '3', '3'],
      ['lease expired', '4/6', '6/6', '2', '2'],
      ['one broken, but alive', '2/6', '6/6', '2', '1'],
      ['a fourth is added', '2/6', '6/6', '3', '2'],
    ])
    const [alive, atOnce, ...later] = rows.map((row) => row[5])
    expect([alive, ...later]).toEqual(['6/6', '6/6', '6/6', '6/6'])
    const [, byLease, byMonitor] = /: (\d) by lease, (\d) by monitor/.exec(lines.at(-1) ?? '') ?? []
    expect(byLease).toBe('2')
    // None, unless this process is asked within the ms in which the death becomes known.
    expect(Number(byMonitor)).toBeLessThanOrEqual(1)
    expect(atOnce).toBe(`${6 - Number(byMonitor)}/6`)
    expect(lingeredMs).toBeLessThan(LINGER_MS)
  },
)
