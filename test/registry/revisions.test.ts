import { expect, test } from 'vitest'
import { place, Revisions } from '../../src/registry/revisions.ts'
import { entry, Fed } from './replica.ts'

test('C60: where a watcher left off is found, or not known', () => {
  const present = { epoch: 'a/2', revision: 9, oldest: 4 }
  const at = (revision: number, epoch = 'a/2'): string => place({ epoch, revision }, present)
  expect([3, 4, 8, 9, 10].map((revision) => at(revision))).toEqual([
    'unknown',
    'past',
    'past',
    'present',
    'unknown',
  ])
  expect(at(9, 'a/1')).toBe('unknown')
  // What has not changed for longer than is remembered is still where it was.
  expect(place({ epoch: 'a/2', revision: 3 }, { ...present, revision: 3 })).toBe('present')
})

test('C8: names used once are forgotten, the oldest first, and no revision goes back for it', () => {
  const revisions = new Revisions()
  const kept = (name: string): number => {
    const revision = revisions.next()
    revisions.keep(name, revision)
    return revision
  }
  const [first, second, third] = [kept('first'), kept('second'), kept('third')]
  const again = kept('first')
  for (let n = 3; n < 1_024; n++) kept(`n${n}`)
  expect(revisions.oldest).toBe(0)
  expect(revisions.lastOf('never')).toBe(0)
  expect(['first', 'second', 'third'].map((name) => revisions.lastOf(name))).toEqual([again, second, third])
  kept('one')
  kept('two more')
  expect(revisions.oldest).toBe(third)
  expect(revisions.lastOf('first')).toBe(again)
  expect(revisions.lastOf('second')).toBeGreaterThan(second)
  expect(revisions.lastOf('never')).toBe(third)
  expect(first).toBeLessThan(second)
})

test('the revision of a service rises with its changes only, also while it has no instance', () => {
  const fed = new Fed()
  const seen: number[] = [fed.index.revisionOf('s')]
  const note = (): void => void seen.push(fed.index.revisionOf('s'))
  const one = entry('s', { version: '1.0.0' })
  fed.apply({ joins: [one] })
  note()
  const next = { ...one, meta: { version: '1.0.0', weight: 2 } }
  fed.apply({ updates: [{ previous: one, entry: next }] })
  note()
  fed.apply({ leaves: [next] })
  note()
  fed.apply({ joins: [next] })
  note()
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
  const before = fed.index.revisionOf('s')
  fed.apply({ joins: [entry('other', { version: '1.0.0' }, { ref: 2 })] })
  expect(fed.index.revisionOf('s')).toBe(before)
  expect(fed.index.revisionOf('other')).toBeGreaterThan(before)
})

test('a snapshot that was prepared gives its services the revision at which they are shown', () => {
  const fed = new Fed()
  fed.apply({ joins: [entry('known', { version: '1.0.0' })] })
  const parts = ['known', 'new'].map((name, at) =>
    entry(name, { version: '2.0.0' }, { node: 'n2', ref: at + 1 }),
  )
  fed.index.prepare(parts, parts[0]!)
  const before = fed.index.revisionOf('known')
  fed.apply({ node: 'n2', joins: parts })
  expect(fed.index.revisionOf('known')).toBeGreaterThan(before)
  expect(fed.index.revisionOf('new')).toBe(fed.index.revisionOf('known'))
})
