import { describe, expect, test } from 'vitest'
import { Reports } from '../../src/transports/libp2p/reports.ts'

describe('reports', () => {
  test('C42: what is wrong with a seed by turns is said once each, until the seed was well', () => {
    const said: string[] = []
    const reports = new Reports((where, { code }) => said.push(`${where} ${code}`))
    const seed = '10.0.0.1:7400'
    const byTurns = (): void => {
      for (let turn = 0; turn < 5; turn++) {
        reports.unwell(seed, 'refused', `in words ${turn}`)
        reports.unwell(seed, 'unreachable', `no answer within ${1_000 + turn} ms`)
      }
    }
    const each = [`${seed} ROLLCALL_PEER_REFUSED`, `${seed} ROLLCALL_PEER_UNREACHABLE`]
    byTurns()
    expect(said).toEqual(each)
    reports.unwell('10.0.0.2:7400', 'refused', 'another seed')
    expect(said).toHaveLength(3)
    reports.clear(seed)
    byTurns()
    expect(said.slice(3)).toEqual(each)
  })
})
