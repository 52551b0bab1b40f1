import { describe, expect, test } from 'vitest'
import { compareHeads, type Head } from '../../src/core/frame.ts'
import { join } from '../../src/core/join.ts'

const put = (version: number) => ({
  kind: 'put' as const,
  version,
  ref: version,
  topic: 't',
  key: 'k',
  meta: version,
})
const frame = (incarnation: number, from: number, to: number) => ({
  incarnation,
  from,
  to,
  writes: Array.from({ length: to - from }, (_, i) => put(from + i + 1)),
})
const versions = (joined: ReturnType<typeof join<number>>) =>
  'writes' in joined ? joined.writes.map((write) => write.version) : undefined

describe('join, case by case', () => {
  test.each<[string, Head | undefined, [number, number, number], string, number[] | undefined]>([
    ['J3 a delta of an unknown owner', undefined, [5, 2, 3], 'gap', undefined],
    ['a snapshot of an unknown owner', undefined, [5, 0, 2], 'replace', [1, 2]],
    ['the first heartbeat of an owner without writes', undefined, [5, 0, 0], 'replace', []],
    ['J3 a heartbeat of an unknown owner with writes', undefined, [5, 3, 3], 'gap', undefined],
    ['the next delta', { incarnation: 5, version: 2 }, [5, 2, 4], 'extend', [3, 4]],
    ['a delta that overlaps', { incarnation: 5, version: 3 }, [5, 1, 5], 'extend', [4, 5]],
    ['J2 a delta that is known', { incarnation: 5, version: 4 }, [5, 2, 4], 'stale', undefined],
    ['J2 an older snapshot', { incarnation: 5, version: 4 }, [5, 0, 3], 'stale', undefined],
    ['J3 a delta across a gap', { incarnation: 5, version: 2 }, [5, 3, 4], 'gap', undefined],
    ['J3 a heartbeat ahead', { incarnation: 5, version: 2 }, [5, 3, 3], 'gap', undefined],
    ['a heartbeat at the head', { incarnation: 5, version: 2 }, [5, 2, 2], 'stale', undefined],
    ['J5 a newer snapshot', { incarnation: 5, version: 2 }, [5, 0, 3], 'replace', [1, 2, 3]],
    ['J4 a snapshot of a higher incarnation', { incarnation: 5, version: 9 }, [6, 0, 1], 'replace', [1]],
    ['J4 a delta of a higher incarnation', { incarnation: 5, version: 9 }, [6, 9, 10], 'gap', undefined],
    ['J4 a snapshot of a lower incarnation', { incarnation: 5, version: 1 }, [4, 0, 99], 'stale', undefined],
  ])('%s', (_, held, [incarnation, from, to], kind, writes) => {
    const joined = join(held, frame(incarnation, from, to))
    expect(joined.kind).toBe(kind)
    expect(versions(joined)).toEqual(writes)
  })

  test('a gap says from where to ask', () => {
    expect(join({ incarnation: 5, version: 2 }, frame(5, 7, 8))).toEqual({ kind: 'gap', have: 2 })
    expect(join({ incarnation: 5, version: 2 }, frame(6, 7, 8))).toEqual({ kind: 'gap', have: 0 })
  })
})

test('heads are ordered by incarnation first', () => {
  const heads = [
    { incarnation: 1, version: 9 },
    { incarnation: 2, version: 0 },
    { incarnation: 2, version: 1 },
  ]
  expect([...heads].reverse().sort(compareHeads)).toEqual(heads)
})
