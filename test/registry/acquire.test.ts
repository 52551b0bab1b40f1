import { describe, expect, test } from 'vitest'
import { explainInstances } from '../../src/registry/explain.ts'
import { LeastPending } from '../../src/registry/balance/least-pending.ts'
import { readQuery } from '../../src/registry/query.ts'
import { REGISTRY_DEFAULTS } from '../../src/registry/options.ts'
import { Requirements } from '../../src/registry/requirement.ts'
import type { Balance, CallOutcome, LookupOptions, ServicePick } from '../../src/registry/types.ts'
import { SeededRandom } from '../../src/testing/random.ts'
import { entry, Fed } from './replica.ts'

const idOf = (node: number, ref = 1): string => `n${node}/1/${ref}`

function fed(count: number, seed?: number): Fed {
  const made = new Fed(seed === undefined ? {} : { random: new SeededRandom(seed) })
  made.add(
    's',
    Array.from({ length: count }, () => ({ version: '1.0.0' })),
  )
  return made
}

const acquire = (of: Fed, options: LookupOptions = {}): ServicePick =>
  of.pool.select('s', undefined, options).acquire(options.key)

describe('acquire', () => {
  test.each<Balance>(['round-robin', 'random', 'weighted', 'least-pending', 'hash', 'first'])(
    'counts a call in flight with the balance %s, until the end of the block',
    (balance) => {
      const one = fed(1)
      const options = balance === 'hash' ? { balance, key: 'k' } : { balance }
      {
        using pick = acquire(one, options)
        expect(pick.answer).toBe(one.pool.lookup('s', undefined, options))
        expect(pick.service).toMatchObject({ node: 'n1' })
        expect(one.calls.pendingOf(idOf(1))).toBe(1)
        using another = acquire(one, options)
        expect(another.answer).toBe(pick.answer)
        expect(one.calls.pendingOf(idOf(1))).toBe(2)
      }
      expect(one.calls.pendingOf(idOf(1))).toBe(0)
      expect(one.calls.size).toBe(0)
    },
  )

  test.each<[string, (pick: ServicePick) => void]>([
    ['release', (pick) => pick.release()],
    ['dispose', (pick) => pick[Symbol.dispose]()],
    ['report ok', (pick) => pick.report('ok')],
    ['report error', (pick) => pick.report('error')],
  ])('%s releases once; after it, nothing counts', (_, end) => {
    const one = fed(1)
    const [first, second] = [acquire(one), acquire(one)]
    end(first)
    expect(one.calls.pendingOf(idOf(1))).toBe(1)
    for (let again = 0; again < 10; again++) {
      first.release()
      first.report('error')
      first[Symbol.dispose]()
    }
    expect(one.calls.pendingOf(idOf(1))).toBe(1)
    expect(one.calls.avoided).toBe(0)
    second.report('ok')
    expect(one.calls.size).toBe(0)
  })

  test('of what is not there is a miss, with nothing to release', () => {
    const none = new Fed()
    using pick = none.pool.select('s', undefined, undefined).acquire()
    expect(pick.answer).toEqual({ ok: false, error: 'noservice', degraded: false })
    expect(pick.service).toBeUndefined()
    pick.report('error')
    expect(none.calls.size).toBe(0)
  })

  test('what is no outcome is refused, and the call is still in flight', () => {
    const one = fed(1)
    const pick = acquire(one)
    expect(() => pick.report('failed' as CallOutcome)).toThrow(
      expect.objectContaining({
        code: 'ROLLCALL_INVALID_ARGUMENT',
        message: 'The outcome is "failed": must be one of ok, error',
      }),
    )
    expect(one.calls.pendingOf(idOf(1))).toBe(1)
  })

  test('an instance that is gone leaves nothing, and what it was owed does not come back with it', () => {
    const made = fed(1)
    const old = made.index.get('s')!.entries[0]!
    const before = Array.from({ length: 7 }, () => acquire(made))
    made.apply({ leaves: [old] })
    expect(made.calls.size).toBe(0)
    before.shift()?.release()
    expect(made.calls.size).toBe(0)
    // Hidden for a while, and up again in the same life: the same id.
    made.apply({ joins: [old] })
    const after = acquire(made)
    before.shift()?.release()
    for (const pick of before) pick.report('error')
    expect(made.calls.pendingOf(idOf(1))).toBe(1)
    expect(made.calls.avoided).toBe(0)
    after.release()
    expect(made.calls.size).toBe(0)
  })

  test('an instance that changes is still the one that is called', () => {
    const made = fed(1)
    const old = made.index.get('s')!.entries[0]!
    const pick = acquire(made)
    made.apply({ updates: [{ entry: { ...old, meta: { version: '1.1.0' } }, previous: old }] })
    expect(made.calls.pendingOf(idOf(1))).toBe(1)
    pick.release()
    expect(made.calls.size).toBe(0)
  })

  test('C8: 20,000 instances that came, were called and went leave nothing', () => {
    const made = new Fed()
    const selector = made.pool.select('s', undefined, { balance: 'least-pending' })
    for (let i = 0; i < 200; i++) {
      const joins = Array.from({ length: 100 }, (_, at) =>
        entry('s', { version: '1.0.0' }, { ref: i * 100 + at + 1 }),
      )
      made.apply({ joins })
      // Some are still in flight, and some have failed, when they go.
      for (let call = 0; call < 10; call++) {
        const pick = selector.acquire()
        if (call % 2 === 0) pick.report('error')
      }
      expect(made.calls.size).toBeGreaterThan(0)
      made.apply({ leaves: joins })
    }
    expect(made.calls.size).toBe(0)
    expect(made.calls.avoided).toBe(0)
  })
})

describe('least-pending', () => {
  /** The most calls in flight to one of 100, after 2,000 that do not end. */
  const worst = (balance: Balance): number => {
    const hundred = fed(100, 1)
    const selector = hundred.pool.select('s', undefined, { balance })
    for (let call = 0; call < 2_000; call++) selector.acquire()
    return Math.max(...Array.from({ length: 100 }, (_, at) => hundred.calls.pendingOf(idOf(at + 1))))
  }

  test('keeps the load of the most loaded close to the mean, which chance alone does not', () => {
    // A mean of 20: by chance the worst is some 3 deviations of 4.5 above it; of two choices, ln ln 100 / ln 2 = 2.2 and a little.
    expect(worst('random')).toBeGreaterThan(29)
    expect(worst('least-pending')).toBeLessThanOrEqual(24)
  })

  test('counts the calls of all selectors, whatever their balance', () => {
    const two = fed(2, 1)
    const busy = two.pool.select('s', undefined, { balance: 'first' })
    for (let call = 0; call < 3; call++) busy.acquire()
    const selector = two.pool.select('s', undefined, { balance: 'least-pending' })
    const nodes = Array.from({ length: 20 }, () => selector.next())
    for (const answer of nodes) expect(answer).toMatchObject({ service: { node: 'n2' } })
  })

  test('an instance that is done is used again', () => {
    const two = fed(2, 1)
    const selector = two.pool.select('s', undefined, { balance: 'least-pending' })
    const picks = Array.from({ length: 10 }, () => selector.acquire())
    expect([two.calls.pendingOf(idOf(1)), two.calls.pendingOf(idOf(2))]).toEqual([5, 5])
    for (const pick of picks) if (pick.service?.node === 'n1') pick.release()
    for (let call = 0; call < 5; call++) expect(selector.acquire().service?.node).toBe('n1')
  })

  test('compares two that are not one, each pair as often as any other; of equals, either', () => {
    const chance = [0, 0.34, 0.67].flatMap((one) => [0, 0.5].map((two) => [one, two] as const))
    const seen = ['n1', 'n2', 'n3'].map((node) => {
      const three = fed(3)
      acquire(three, { node })
      const record = three.index.get('s')!
      const hits = [0, 1, 2].map((at) => record.hit(at, false))
      return chance.map((draws) => {
        const left = [...draws]
        return new LeastPending({ next: () => left.shift() ?? 0 }, three.calls).pick(hits) + 1
      })
    })
    expect(seen).toEqual([
      [2, 3, 2, 2, 3, 3],
      [1, 1, 3, 1, 3, 3],
      [1, 1, 2, 2, 1, 2],
    ])
  })
})

describe('outliers', () => {
  const BACKOFF_MS = 1_000
  const MAX_BACKOFF_MS = 120_000

  /** Calls an instance, whatever lookups prefer, and reports how it went. */
  function call(of: Fed, node: string, ...outcomes: CallOutcome[]): void {
    for (const outcome of outcomes) of.pool.select('s', undefined, { node }).acquire().report(outcome)
  }
  const fail = (of: Fed, node: string, times: number): void =>
    call(of, node, ...Array.from({ length: times }, () => 'error' as const))

  /** The nodes that lookups return. */
  function returned(of: Fed, options: LookupOptions = {}): string {
    const selector = of.pool.select('s', undefined, options)
    const nodes = Array.from({ length: 12 }, () => {
      const answer = selector.next()
      return answer.ok ? answer.service.node : answer.error
    })
    return [...new Set(nodes)].sort().join(' ')
  }

  test('five errors in a row make one avoided, in selectors old and new, and in lookups', () => {
    const three = fed(3)
    const held = three.pool.select('s', undefined, { balance: 'first' })
    expect(held.next()).toMatchObject({ service: { node: 'n1' } })
    fail(three, 'n1', 4)
    expect(returned(three)).toBe('n1 n2 n3')
    expect(three.calls.avoided).toBe(0)
    fail(three, 'n1', 1)
    expect(returned(three)).toBe('n2 n3')
    expect(held.next()).toMatchObject({ service: { node: 'n2' } })
    expect(three.pool.lookup('s', undefined, { balance: 'first' })).toMatchObject({ service: { node: 'n2' } })
    expect(three.calls.avoided).toBe(1)
  })

  test('one success is a new start, before it is avoided, and after', () => {
    const three = fed(3)
    fail(three, 'n1', 4)
    call(three, 'n1', 'ok')
    fail(three, 'n1', 4)
    expect(returned(three)).toBe('n1 n2 n3')
    // One that began before its like failed.
    const late = three.pool.select('s', undefined, { node: 'n1' }).acquire()
    fail(three, 'n1', 1)
    expect(returned(three)).toBe('n2 n3')
    late.report('ok')
    expect(returned(three)).toBe('n1 n2 n3')
    expect(three.calls).toMatchObject({ avoided: 0, size: 0 })
    fail(three, 'n1', 4)
    expect(returned(three)).toBe('n1 n2 n3')
  })

  test('a call that is only released says nothing', () => {
    const three = fed(3)
    fail(three, 'n1', 4)
    acquire(three, { node: 'n1' }).release()
    fail(three, 'n1', 1)
    expect(returned(three)).toBe('n2 n3')
  })

  test('errors of one are not those of another', () => {
    const three = fed(3)
    for (let round = 0; round < 4; round++) for (const node of ['n1', 'n2']) fail(three, node, 1)
    expect(returned(three)).toBe('n1 n2 n3')
  })

  test('the back-off ends at its moment; then one error is enough, for twice as long, up to the cap', async () => {
    const three = fed(3)
    const { clock } = three
    const held = three.pool.select('s', undefined, { balance: 'first' })
    fail(three, 'n1', 5)
    for (let ms = BACKOFF_MS; ms < 4 * MAX_BACKOFF_MS; ms *= 2) {
      await clock.advance(Math.min(ms, MAX_BACKOFF_MS) - 0.5)
      expect(returned(three)).toBe('n2 n3')
      expect(held.next()).toMatchObject({ service: { node: 'n2' } })
      await clock.advance(0.5)
      expect(held.next()).toMatchObject({ service: { node: 'n1' } })
      expect(returned(three)).toBe('n1 n2 n3')
      expect(three.calls.avoided).toBe(0)
      fail(three, 'n1', 1)
    }
    // After a success it takes five again, and the back-off is as at first.
    await clock.advance(MAX_BACKOFF_MS)
    call(three, 'n1', 'ok')
    fail(three, 'n1', 4)
    expect(returned(three)).toBe('n1 n2 n3')
    fail(three, 'n1', 1)
    await clock.advance(BACKOFF_MS)
    expect(returned(three)).toBe('n1 n2 n3')
  })

  test('errors of one that is avoided already neither prolong nor double its back-off', async () => {
    const three = fed(3)
    fail(three, 'n1', 5)
    await three.clock.advance(BACKOFF_MS - 1)
    fail(three, 'n1', 10)
    expect(three.calls.avoided).toBe(1)
    await three.clock.advance(1)
    expect(returned(three)).toBe('n1 n2 n3')
    fail(three, 'n1', 1)
    await three.clock.advance(2 * BACKOFF_MS)
    expect(returned(three)).toBe('n1 n2 n3')
  })

  test('are never all: when every one would be avoided, none is', async () => {
    const two = fed(2)
    fail(two, 'n1', 5)
    await two.clock.advance(BACKOFF_MS / 2)
    fail(two, 'n2', 5)
    expect(returned(two)).toBe('n1 n2')
    expect(two.calls.avoided).toBe(2)
    await two.clock.advance(BACKOFF_MS / 2)
    expect(returned(two)).toBe('n1')
    await two.clock.advance(BACKOFF_MS / 2)
    expect(returned(two)).toBe('n1 n2')
  })

  test('one of a newer version gives way to its like, not to an older version', () => {
    const made = new Fed()
    made.add('s', [{ version: '2.0.0' }, { version: '2.0.0' }, { version: '1.0.0' }])
    fail(made, 'n1', 5)
    expect(returned(made)).toBe('n2')
    fail(made, 'n2', 5)
    expect(returned(made)).toBe('n1 n2')
  })

  test('do not count for their zone, and are avoided for others elsewhere', () => {
    const made = new Fed()
    made.add('s', [{ version: '1.0.0', zone: 'eu' }, { version: '1.0.0', zone: 'eu' }, { version: '1.0.0' }])
    fail(made, 'n1', 5)
    expect(returned(made, { zone: 'eu' })).toBe('n2')
    expect(returned(made, { zone: 'eu', minZoneInstances: 2 })).toBe('n2 n3')
    fail(made, 'n2', 5)
    expect(returned(made, { zone: 'eu' })).toBe('n3')
  })

  test('are preferred to one of weight 0, where weights count', () => {
    const made = new Fed()
    made.add('s', [{ version: '1.0.0' }, { version: '1.0.0', weight: 0 }])
    fail(made, 'n1', 5)
    expect(returned(made, { balance: 'weighted' })).toBe('n1')
    expect(returned(made)).toBe('n2')
  })

  test('that are gone leave neither a count nor a timer', async () => {
    const three = fed(3)
    const old = three.index.get('s')!.entries[0]!
    fail(three, 'n1', 5)
    three.apply({ leaves: [old] })
    expect(three.calls).toMatchObject({ avoided: 0, size: 0 })
    three.apply({ joins: [old] })
    expect(returned(three)).toBe('n1 n2 n3')
    fail(three, 'n2', 5)
    three.calls.clear()
    expect(three.calls).toMatchObject({ avoided: 0, size: 0 })
    await three.clock.advance(2 * MAX_BACKOFF_MS)
    expect(three.clock.steps).toBe(0)
  })

  test('explain names them, and weights of 0', () => {
    const made = new Fed()
    made.add('s', [
      { version: '1.0.0', zone: 'eu' },
      { version: '1.0.0', zone: 'eu' },
      { version: '1.0.0' },
      { version: '1.0.0', zone: 'eu', weight: 0 },
      { version: '0.9.0', zone: 'eu' },
    ])
    fail(made, 'n1', 5)
    fail(made, 'n5', 5)
    const queries = { ...REGISTRY_DEFAULTS, requirements: new Requirements('semver') }
    const explain = (options: LookupOptions): string[] => {
      const query = readQuery(queries, 's', undefined, options)
      const explanations = explainInstances(query, made.index.get('s')!, made.index.nodes, made.calls)
      const returnedOnes = explanations.filter((each) => each.returned).map(({ node }) => node)
      expect(returned(made, options)).toBe(returnedOnes.join(' '))
      return explanations.map(({ reason, text }) => `${reason}: ${text}`)
    }
    expect(explain({ zone: 'eu', balance: 'weighted' })).toEqual([
      'outlier: s 1.0.0 on name-of-n1 would do, but calls to it failed, so that this process avoids it for a while',
      'returned: s 1.0.0 on name-of-n2 is returned, in turn with its like, by its weight',
      'zone: s 1.0.0 on name-of-n3 would do, but it is in no zone, and others are in eu',
      'weight: s 1.0.0 on name-of-n4 would do, but its weight is 0, and others have more',
      'older: s 0.9.0 on name-of-n5 would do, but 1.0.0 is newer',
    ])
    expect(explain({}).map((line) => line.split(':')[0])).toEqual([
      'outlier',
      'returned',
      'returned',
      'returned',
      'older',
    ])
  })
})
