import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { explainHidden, explainInstances } from '../../src/registry/explain.ts'
import type { ServiceEntry } from '../../src/registry/instance.ts'
import { readQuery } from '../../src/registry/query.ts'
import { Requirements } from '../../src/registry/requirement.ts'
import { REGISTRY_DEFAULTS } from '../../src/registry/options.ts'
import { standInIds } from '../../src/registry/stand-ins.ts'
import type { LookupOptions, ServiceSelector } from '../../src/registry/types.ts'
import type { DownReason } from '../../src/tracker/types.ts'
import { codeOf } from '../wire/codes.ts'
import { entry, Fed } from './replica.ts'
import type { Meta } from './replica.ts'

const MAX_MS = 1_000
const KEEP: LookupOptions = { stale: 'keep-last', maxStaleMs: MAX_MS }

const v = (version: string, more: Meta = {}): Meta => ({ version, ...more })

/** What a selector says, and of how many instances: `fresh n1 n2`, `stale n1`, or why not. */
function told(selector: ServiceSelector): string {
  const answers = Array.from({ length: 12 }, () => selector.next())
  const words = answers.map((answer) =>
    answer.ok ? `${answer.stale ? 'stale' : 'fresh'} ${answer.service.node}` : answer.error,
  )
  const [first = ''] = words
  if (!first.includes(' ')) return first
  const kinds = new Set(words.map((word) => word.split(' ')[0]))
  return `${[...kinds].join('/')} ${[...new Set(words.map((word) => word.split(' ')[1]))].sort().join(' ')}`
}

const select = (fed: Fed, options: LookupOptions = KEEP): ServiceSelector =>
  fed.pool.select('s', undefined, options)

const end = (fed: Fed, gone: Entry<Json>, reason: DownReason | undefined): void => {
  fed.apply({ node: gone.node, leaves: [gone], reason })
}

const hide = (fed: Fed, gone: Entry<Json>): void => end(fed, gone, 'silent')

/** Changes some of what an instance says. Returns the entry it has then. */
function change(fed: Fed, previous: Entry<Json>, fields: Meta): Entry<Json> {
  const next = { ...previous, version: previous.version + 1, meta: { ...(previous.meta as Meta), ...fields } }
  fed.apply({ node: next.node, updates: [{ entry: next, previous }] })
  return next
}

describe('C56: keep-last', () => {
  test('what fell silent is returned, flagged, for maxStaleMs, to the ms; fail-closed is empty at once', async () => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [v('1.0.0'), v('1.0.0')])
    const [kept, closed] = [select(fed), select(fed, {})]
    expect([told(kept), told(closed)]).toEqual(['fresh n1 n2', 'fresh n1 n2'])
    hide(fed, a!)
    // Fewer is not none.
    expect([told(kept), told(closed)]).toEqual(['fresh n2', 'fresh n2'])
    hide(fed, b!)
    expect([told(kept), told(closed)]).toEqual(['stale n1 n2', 'noservice'])
    await fed.clock.advance(MAX_MS - 1)
    expect([told(kept), told(select(fed))]).toEqual(['stale n1 n2', 'stale n1 n2'])
    await fed.clock.advance(1)
    expect([told(kept), told(select(fed))]).toEqual(['noservice', 'noservice'])
  })

  test('mass unreadiness is not mass death: all that turned unready are returned, and fresh again when one is ready', async () => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [v('1.0.0'), v('1.0.0')])
    const kept = select(fed)
    const unready = change(fed, a!, { state: 'unready' })
    expect(told(kept)).toBe('fresh n2')
    change(fed, b!, { state: 'unready' })
    expect([told(kept), told(select(fed, {}))]).toEqual(['stale n1 n2', 'noinstance'])
    const answer = kept.next()
    // What is known of it now, not what was.
    expect(answer.ok && answer.service.state).toBe('unready')
    change(fed, unready, { state: 'ready' })
    expect(told(kept)).toBe('fresh n1')
    await fed.clock.advance(MAX_MS - 1)
    expect(told(kept)).toBe('fresh n1')
  })

  test('each instance has its own time, from when it was last found, however it was lost', async () => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [v('1.0.0'), v('1.0.0')])
    const kept = select(fed)
    const unready = change(fed, a!, { state: 'unready' })
    await fed.clock.advance(400)
    hide(fed, unready)
    hide(fed, b!)
    expect(told(kept)).toBe('stale n1 n2')
    await fed.clock.advance(599)
    expect(told(kept)).toBe('stale n1 n2')
    await fed.clock.advance(1)
    expect(told(kept)).toBe('stale n2')
    await fed.clock.advance(399)
    expect(told(kept)).toBe('stale n2')
    await fed.clock.advance(1)
    expect(told(kept)).toBe('noservice')
  })

  test.each<[string, DownReason | undefined]>([
    ['unregistered', undefined],
    ['left', 'left'],
    ['refused', 'refused'],
    ['replaced', 'replaced'],
  ])('an end is never masked: %s', (_, reason) => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [v('1.0.0'), v('1.0.0')])
    const kept = select(fed)
    const unready = change(fed, a!, { state: 'unready' })
    end(fed, b!, reason)
    expect(told(kept)).toBe('stale n1')
    end(fed, unready, reason)
    expect(told(kept)).toBe('noservice')
  })

  test('who drains is not called back, nor who was never found', () => {
    const fed = new Fed()
    const [a] = fed.add('s', [
      v('1.0.0'),
      v('1.0.0', { state: 'unready' }),
      v('1.0.0', { state: 'starting' }),
    ])
    const kept = select(fed)
    const draining = change(fed, a!, { state: 'draining' })
    expect(told(kept)).toBe('noinstance')
    hide(fed, draining)
    expect(told(kept)).toBe('noinstance')
    expect(told(select(fed, { ...KEEP, state: 'any' }))).toBe('fresh n2 n3')
    const [leaving] = fed.add('other', [v('1.0.0', { state: 'draining' })])
    hide(fed, leaving!)
    for (const state of ['any', 'draining'] as const) {
      expect(fed.pool.lookup('other', undefined, { ...KEEP, state })).toMatchObject({ error: 'noservice' })
    }
  })

  test('evidence of death ends it at once, and so does a return as something else', () => {
    const fed = new Fed()
    const [a, b, c] = fed.add('s', [v('1.0.0'), v('1.0.0'), v('1.0.0')])
    const kept = select(fed)
    for (const each of [a, b, c]) hide(fed, each!)
    expect(told(kept)).toBe('stale n1 n2 n3')
    expect(fed.index.lapses.forget('n1').map(({ entry: { key } }) => key)).toEqual(['s'])
    expect(told(kept)).toBe('stale n2 n3')
    // It is back without the service.
    fed.apply({ node: 'n2', joins: [entry('other', v('1.0.0'), { node: 'n2', ref: 9 })] })
    expect(told(kept)).toBe('stale n3')
    fed.apply({ node: 'n3', joins: [{ ...c!, meta: v('1.0.0', { state: 'unready' }) }] })
    expect(told(kept)).toBe('noinstance')
    expect(fed.index.lapses.nodes()).toEqual([])
  })

  test('a return is fresh, and is kept anew when it ends', () => {
    const fed = new Fed()
    const [a] = fed.add('s', [v('1.0.0')])
    const kept = select(fed)
    hide(fed, a!)
    expect(told(kept)).toBe('stale n1')
    fed.apply({ node: 'n1', joins: [a!] })
    expect(told(kept)).toBe('fresh n1')
    hide(fed, a!)
    expect(told(kept)).toBe('stale n1')
  })

  test('a capability that turned unready, and one that was taken back', async () => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [
      v('1.0.0', { capabilities: { write: 'ready' } }),
      v('1.0.0', { capabilities: { write: 'ready' } }),
    ])
    const kept = select(fed, { ...KEEP, capability: 'write' })
    const lost = change(fed, a!, { capabilities: { write: 'unready' } })
    change(fed, b!, { capabilities: { read: 'ready' } })
    expect(told(kept)).toBe('stale n1')
    expect(told(select(fed))).toBe('fresh n1 n2')
    await fed.clock.advance(500)
    const both = change(fed, lost, { state: 'unready' })
    expect(told(kept)).toBe('stale n1')
    // It counts from the first loss.
    await fed.clock.advance(500)
    expect(told(kept)).toBe('noinstance')
    change(fed, both, { state: 'ready', capabilities: { write: 'ready' } })
    expect(told(kept)).toBe('fresh n1')
  })

  test('the query is the same: version, node, function, and of the highest version zone and weight', () => {
    const fed = new Fed()
    const entries = fed.add('s', [
      v('1.0.0', { zone: 'z' }),
      v('2.0.0', { zone: 'z', functions: { 'f/0': {} } }),
      v('2.0.0', { weight: 0 }),
      v('3.0.0-rc.1'),
    ])
    for (const each of entries) hide(fed, each)
    const found = (requirement: string | undefined, options: LookupOptions): string =>
      told(fed.pool.select('s', requirement, { ...KEEP, ...options }))
    expect(found('~> 2.0', {})).toBe('stale n2 n3')
    expect(found('~> 2.0', { zone: 'z' })).toBe('stale n2')
    expect(found('~> 2.0', { balance: 'weighted' })).toBe('stale n2')
    expect(found(undefined, {})).toBe('stale n4')
    expect(found(undefined, { prerelease: 'exclude', function: 'f/0' })).toBe('stale n2')
    expect(found(undefined, { node: 'n1' })).toBe('stale n1')
    expect(found('~> 4.0', {})).toBe('noservice')
  })

  test('a stale answer is made once, for as long as nothing changes', async () => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [v('1.0.0'), v('1.0.0')])
    const kept = select(fed, { ...KEEP, balance: 'first' })
    change(fed, a!, { state: 'unready' })
    hide(fed, b!)
    const answer = kept.next()
    expect(answer).toMatchObject({ ok: true, stale: true, degraded: false })
    expect(Object.isFrozen(answer)).toBe(true)
    await fed.clock.advance(10)
    for (let n = 0; n < 10; n++) expect(kept.next()).toBe(answer)
    expect(fed.pool.lookup('s', undefined, KEEP)).toMatchObject({ ok: true, stale: true })
    expect(fed.pool.lookup('s', undefined, undefined)).toMatchObject({ ok: false })
  })

  test('is told once, until a service is better off', () => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [v('1.0.0'), v('1.0.0')])
    hide(fed, a!)
    hide(fed, b!)
    expect(fed.servedStale).toEqual([])
    told(select(fed))
    told(select(fed))
    expect(fed.servedStale).toEqual(['s'])
    fed.apply({ node: 'n1', joins: [a!] })
    told(select(fed))
    hide(fed, a!)
    expect(fed.servedStale).toEqual(['s'])
    told(select(fed))
    expect(fed.servedStale).toEqual(['s', 's'])
  })

  test('is told anew only after one of those that turned unready was ready', () => {
    const fed = new Fed()
    const kept = select(fed)
    let [a] = fed.add('s', [v('1.0.0')])
    for (const [state, told] of [
      ['unready', 1],
      ['unready', 1],
      ['ready', 1],
      ['unready', 2],
    ] as const) {
      a = change(fed, a!, { state })
      kept.next()
      expect(fed.servedStale).toHaveLength(told)
    }
  })

  test('its options are checked, every time, and are those of the registry unless given', () => {
    const fed = new Fed()
    fed.add('s', [v('1.0.0')])
    for (const options of [
      { stale: 'keep' as 'keep-last' },
      { maxStaleMs: REGISTRY_DEFAULTS.maxStaleMs },
      { maxStaleMs: 0 },
      { stale: 'fail-closed' as const, maxStaleMs: 1 },
      { stale: 'keep-last' as const, maxStaleMs: 0 },
      { stale: 'keep-last' as const, maxStaleMs: Infinity },
    ]) {
      for (let time = 0; time < 2; time++) {
        fed.pool.lookup('s', undefined, { stale: 'keep-last' })
        fed.pool.lookup('s', undefined, undefined)
        expect(codeOf(() => fed.pool.lookup('s', undefined, options))).toBe('ROLLCALL_INVALID_ARGUMENT')
      }
    }
    const queries = {
      requirements: new Requirements('semver'),
      prerelease: 'include',
      stale: 'keep-last',
    } as const
    const { stale, maxStaleMs } = readQuery({ ...queries, maxStaleMs: 7 }, 's', undefined)
    expect([stale, maxStaleMs]).toEqual(['keep-last', 7])
    expect(readQuery({ ...queries, maxStaleMs: 7 }, 's', undefined, { maxStaleMs: 8 }).maxStaleMs).toBe(8)
  })

  test('explain says who is returned only because nobody else is', () => {
    const fed = new Fed()
    const [a, b] = fed.add('s', [v('1.0.0'), v('1.0.0'), v('1.0.0', { state: 'starting' })])
    change(fed, a!, { state: 'unready' })
    hide(fed, b!)
    const queries = { ...REGISTRY_DEFAULTS, requirements: new Requirements('semver') }
    const query = readQuery(queries, 's', undefined, KEEP)
    const ids = standInIds(query, fed.index, fed.calls)
    const known = explainInstances(query, fed.index.get('s')!, fed.index.nodes, fed.calls, ids)
    const hidden = explainHidden([fed.index.instanceOf(b as ServiceEntry)], ids)
    const told = [...known, ...hidden].map(({ node, returned, reason }) => `${node} ${returned} ${reason}`)
    expect(told.sort()).toEqual(['n1 true stale', 'n2 true stale', 'n3 false state'])
    for (const { returned, text } of [...known, ...hidden]) {
      expect(text.includes('returned all the same, as stale')).toBe(returned)
    }
  })
})

describe('against a model', () => {
  /** One instance, and when it was last found, as plainly as can be. */
  interface Model {
    entry: Entry<Json>
    state: string
    shown: boolean
    gone: boolean
    lastFound: number | undefined
  }

  const act = fc.oneof(
    fc.record({
      do: fc.constant('state' as const),
      pick: fc.nat(3),
      state: fc.constantFrom('ready', 'unready', 'draining'),
    }),
    fc.record({ do: fc.constant('silent' as const), pick: fc.nat(3) }),
    fc.record({ do: fc.constant('back' as const), pick: fc.nat(3) }),
    fc.record({
      do: fc.constant('gone' as const),
      pick: fc.nat(3),
      reason: fc.constantFrom('left' as const, 'refused' as const, undefined),
    }),
    fc.record({ do: fc.constant('proof' as const), pick: fc.nat(3) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 300, 999) }),
  )

  test('C56: whatever happens, a lookup returns those found now, or else those found lately that are not known to be gone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 40, size: 'max' }), async (acts) => {
        const fed = new Fed()
        const kept = select(fed)
        const models: Model[] = fed
          .add(
            's',
            Array.from({ length: 4 }, () => v('1.0.0', { state: 'ready' })),
          )
          .map((made) => ({ entry: made, state: 'ready', shown: true, gone: false, lastFound: undefined }))
        const isFound = (model: Model): boolean => !model.gone && model.shown && model.state === 'ready'
        for (const each of acts) {
          const now = fed.clock.now()
          for (const model of models) if (isFound(model)) model.lastFound = now
          const model = each.do === 'wait' ? undefined : models[each.pick]
          if (each.do === 'wait') await fed.clock.advance(each.ms)
          else if (model === undefined || model.gone) continue
          else if (each.do === 'state' && model.shown) {
            model.entry = change(fed, model.entry, { state: each.state })
            // Whoever drains has said goodbye.
            if (each.state === 'draining') model.lastFound = undefined
            model.state = each.state
          } else if (each.do === 'silent' && model.shown) {
            hide(fed, model.entry)
            model.shown = false
          } else if (each.do === 'back' && !model.shown) {
            fed.apply({ node: model.entry.node, joins: [model.entry] })
            model.shown = true
            model.lastFound = undefined
          } else if (each.do === 'gone' && model.shown) {
            end(fed, model.entry, each.reason)
            model.gone = true
          } else if (each.do === 'proof' && !model.shown) {
            fed.index.lapses.forget(model.entry.node)
            model.gone = true
          }
          const fresh = models.filter(isFound)
          const at = fed.clock.now()
          for (const found of fresh) found.lastFound = at
          const late = models.filter(
            ({ gone, lastFound }) => !gone && lastFound !== undefined && at < lastFound + MAX_MS,
          )
          const names = (some: readonly Model[]): string => some.map(({ entry: { node } }) => node).join(' ')
          const expected =
            fresh.length > 0 ? `fresh ${names(fresh)}` : late.length > 0 ? `stale ${names(late)}` : 'no'
          const answer = told(kept)
          expect(answer.startsWith('no') ? 'no' : answer).toBe(expected)
          expect(told(select(fed))).toBe(answer)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})
